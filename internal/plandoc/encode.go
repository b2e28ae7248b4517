package plandoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// VersionError is a document of a later format than this program knows.
type VersionError struct {
	Found     int
	Supported int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("plan has schema_version %d, this program knows up to %d: use a newer git-wf", e.Found, e.Supported)
}

// Encode gives the canonical JSON of a plan: keys sorted by their bytes, two spaces of indent, one scalar on a line,
// nothing escaped that need not be, and a newline at the end. Equal plans give equal bytes. It fails on what JSON
// can't hold: text that is not UTF-8, a number that is not finite.
func Encode(p *plan.Plan) ([]byte, error) {
	if p == nil {
		return nil, errors.New("encode plan: no plan")
	}
	e := encoder{infos: structs()}
	e.value(reflect.ValueOf(p).Elem(), 0)
	if e.err != nil {
		return nil, fmt.Errorf("encode plan %s: %w", p.PlanID, e.err)
	}
	return append(e.buf, '\n'), nil
}

// Decode reads a stored plan.json. It is strict: a *VersionError for a later format, Findings for an unknown field,
// a field that stands twice or a value of the wrong type. What Encode made, it reads back unchanged. It checks the
// form only; the rules are Validate's.
func Decode(data []byte) (*plan.Plan, error) {
	const name = "plan.json"
	if err := checkBytes(name, data); err != nil {
		return nil, err
	}
	root, err := strictJSON.Parse(string(data))
	if err != nil {
		return nil, syntaxFindings(name, err)
	}
	if err := checkVersion(root); err != nil {
		return nil, err
	}
	p := &plan.Plan{}
	if err := newFiller().object(root, reflect.ValueOf(p).Elem()); err != nil {
		f := err.finding()
		f.File, f.TaskID = name, taskAt(root, f.Path)
		return nil, plan.Findings{f}
	}
	if p.SchemaVersion == 0 {
		return nil, plan.Findings{{Code: "missing-field", File: name, Line: 1, Path: "schema_version", Message: "is missing",
			Expected: strconv.Itoa(plan.SchemaVersion)}}
	}
	return p, nil
}

func checkVersion(root *document.Node) error {
	v := root.Child("schema_version")
	if v == nil || v.Kind != document.Number {
		return nil
	}
	if i, ok := document.Exact(v.Text).(int64); ok && i > plan.SchemaVersion && i < 1<<31 {
		return &VersionError{int(i), plan.SchemaVersion}
	}
	return nil
}

// encoder writes the canonical form. encoding/json would need a pass through a map to sort the keys.
type encoder struct {
	infos map[reflect.Type]*structInfo
	buf   []byte
	err   error
}

func (e *encoder) newline(depth int) {
	e.buf = append(e.buf, '\n')
	for range depth {
		e.buf = append(e.buf, ' ', ' ')
	}
}

func (e *encoder) value(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		e.string(v.String())
	case reflect.Bool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case reflect.Float64, reflect.Float32:
		e.float(v.Float())
	case reflect.Struct:
		e.object(v, depth)
	case reflect.Slice:
		e.slice(v, depth)
	case reflect.Map:
		e.dict(v, depth)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			e.buf = append(e.buf, "null"...)
			return
		}
		e.value(v.Elem(), depth)
	default:
		e.fail(fmt.Errorf("no JSON for a %s", v.Kind()))
	}
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) object(v reflect.Value, depth int) {
	info := e.infos[v.Type()]
	if info == nil {
		e.fail(fmt.Errorf("no JSON for a %s", v.Type()))
		return
	}
	e.buf = append(e.buf, '{')
	first := true
	for _, f := range info.fields {
		field := v.Field(f.index)
		if f.omitEmpty && isEmpty(field) {
			continue
		}
		e.key(f.name, first, depth+1)
		e.value(field, depth+1)
		first = false
	}
	e.close('}', first, depth)
}

func isEmpty(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (e *encoder) key(name string, first bool, depth int) {
	if !first {
		e.buf = append(e.buf, ',')
	}
	e.newline(depth)
	e.string(name)
	e.buf = append(e.buf, ':', ' ')
}

func (e *encoder) close(end byte, empty bool, depth int) {
	if !empty {
		e.newline(depth)
	}
	e.buf = append(e.buf, end)
}

func (e *encoder) slice(v reflect.Value, depth int) {
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.newline(depth + 1)
		e.value(v.Index(i), depth+1)
	}
	e.close(']', v.Len() == 0, depth)
}

func (e *encoder) dict(v reflect.Value, depth int) {
	m, ok := v.Interface().(map[string]any)
	if !ok || depth > plan.MaxDepth {
		e.fail(fmt.Errorf("no JSON for a %s at depth %d", v.Type(), depth))
		return
	}
	e.buf = append(e.buf, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		e.key(k, i == 0, depth+1)
		e.value(reflect.ValueOf(&m).Elem().MapIndex(reflect.ValueOf(k)), depth+1)
	}
	e.close('}', len(m) == 0, depth)
}

func (e *encoder) float(f float64) {
	if !finite(f) {
		e.fail(fmt.Errorf("%v is not a number that JSON can hold", f))
		return
	}
	data, err := json.Marshal(f)
	if err != nil {
		e.fail(err)
		return
	}
	e.buf = append(e.buf, data...)
}

const hexDigits = "0123456789abcdef"

// string escapes what JSON demands, and U+2028 and U+2029, which end a line in some pagers and in JavaScript.
func (e *encoder) string(s string) {
	if !utf8.ValidString(s) {
		e.fail(fmt.Errorf("%s is not UTF-8", plan.Quote(s)))
		return
	}
	e.buf = append(e.buf, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xe2 {
			continue
		}
		if c == 0xe2 && (s[i+1] != 0x80 || s[i+2]&^1 != 0xa8) {
			continue
		}
		e.buf = append(e.buf, s[start:i]...)
		switch c {
		case '"', '\\':
			e.buf = append(e.buf, '\\', c)
		case '\b':
			e.buf = append(e.buf, '\\', 'b')
		case '\f':
			e.buf = append(e.buf, '\\', 'f')
		case '\n':
			e.buf = append(e.buf, '\\', 'n')
		case '\r':
			e.buf = append(e.buf, '\\', 'r')
		case '\t':
			e.buf = append(e.buf, '\\', 't')
		case 0xe2:
			e.buf = append(e.buf, `\u202`...)
			e.buf = append(e.buf, hexDigits[s[i+2]&0xf])
			i += 2
		default:
			e.buf = append(e.buf, `\u00`...)
			e.buf = append(e.buf, hexDigits[c>>4], hexDigits[c&0xf])
		}
		start = i + 1
	}
	e.buf = append(e.buf, s[start:]...)
	e.buf = append(e.buf, '"')
}
