package plandoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/plain"
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
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	if err := e.value(reflect.ValueOf(p).Elem(), 0); err != nil {
		return nil, fmt.Errorf("encode plan %s: %w", p.PlanID, err)
	}
	e.newline(0)
	return e.buf.Bytes(), nil
}

// Decode reads a stored plan.json. It is strict: a *VersionError for a later format, Findings for an unknown field,
// a field that stands twice or a value of the wrong type. What Encode made, it reads back unchanged. It checks the
// form only; the rules are Validate's.
func Decode(data []byte) (*plan.Plan, error) {
	const name = "plan.json"
	if err := checkBytes(name, data, "plan", MaxFileBytes); err != nil {
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
	if !newFiller().object(root, reflect.ValueOf(p).Elem()) {
		return nil, misfit(name, root)
	}
	if p.SchemaVersion == 0 {
		return nil, plan.Findings{{Code: "missing-field", File: name, Line: 1, Path: "schema_version", Message: "is missing",
			Expected: "1"}}
	}
	return p, nil
}

// misfit says why a document is no plan.
func misfit(name string, root *document.Node) error {
	fs, err := checkSchema(root)
	if err != nil {
		return err
	}
	if len(fs) == 0 {
		fs = plan.Findings{{Code: "bad-value", Line: 1, Message: "has a value that this program can't hold"}}
	}
	for i := range fs {
		fs[i].File = name
	}
	return fs.Capped()
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

// encoder writes the canonical form. It only adds the order of a struct's fields to what encoding/json does.
type encoder struct {
	infos map[reflect.Type]*structInfo
	buf   bytes.Buffer
	json  *json.Encoder // into buf
}

func (e *encoder) newline(depth int) {
	e.buf.WriteByte('\n')
	for range depth {
		e.buf.WriteString(indent)
	}
}

const indent = "  "

func (e *encoder) value(v reflect.Value, depth int) error {
	switch v.Kind() {
	case reflect.Struct:
		return e.object(v, depth)
	case reflect.Slice:
		return e.slice(v, depth)
	case reflect.Pointer:
		if !v.IsNil() {
			return e.value(v.Elem(), depth)
		}
	case reflect.String:
		if s := v.String(); !strings.ContainsFunc(s, special) {
			e.buf.WriteString(`"` + s + `"`)
			return nil
		}
		return e.leaf(v.Interface(), v.String())
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Interface {
			return e.mapping(v, depth)
		}
		e.json.SetIndent(strings.Repeat(indent, depth), indent)
		defer e.json.SetIndent("", "")
		return e.leaf(v.Interface(), fmt.Sprint(v))
	}
	return e.leaf(v.Interface(), "")
}

// special reports what may need more than quotes around it. Most texts have none, and are written twice as fast so.
func special(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }

// leaf writes what has no struct in it. encoding/json would replace the bytes of its text that are not UTF-8.
func (e *encoder) leaf(v any, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not UTF-8", plain.Quote(text))
	}
	if err := e.json.Encode(v); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1) // a newline
	return nil
}

func (e *encoder) object(v reflect.Value, depth int) error {
	info := e.infos[v.Type()]
	e.buf.WriteByte('{')
	first := true
	for _, f := range info.fields {
		field := v.Field(f.index)
		if f.omitEmpty && isEmpty(field) {
			continue
		}
		if !first {
			e.buf.WriteByte(',')
		}
		first = false
		e.newline(depth + 1)
		e.buf.WriteString(`"` + f.name + `": `)
		if err := e.value(field, depth+1); err != nil {
			return err
		}
	}
	e.close('}', first, depth)
	return nil
}

// mapping writes a map whose values are all of one type.
func (e *encoder) mapping(v reflect.Value, depth int) error {
	e.buf.WriteByte('{')
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, name := range names {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		e.newline(depth + 1)
		if err := e.leaf(name.String(), name.String()); err != nil {
			return err
		}
		e.buf.WriteString(": ")
		if err := e.value(v.MapIndex(name), depth+1); err != nil {
			return err
		}
	}
	e.close('}', len(names) == 0, depth)
	return nil
}

func isEmpty(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (e *encoder) slice(v reflect.Value, depth int) error {
	e.buf.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		e.newline(depth + 1)
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	e.close(']', v.Len() == 0, depth)
	return nil
}

func (e *encoder) close(end byte, empty bool, depth int) {
	if !empty {
		e.newline(depth)
	}
	e.buf.WriteByte(end)
}
