package plandoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// structs has, of every struct that plan.json is made of, the index of each field by its JSON name. It is computed once
// and never changed.
var structs = sync.OnceValue(func() map[reflect.Type]map[string]int {
	infos := map[reflect.Type]map[string]int{}
	describe(reflect.TypeFor[plan.Plan](), infos)
	return infos
})

func describe(t reflect.Type, infos map[reflect.Type]map[string]int) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		describe(t.Elem(), infos)
		return
	case reflect.Struct:
	default:
		return
	}
	if infos[t] != nil {
		return
	}
	infos[t] = map[string]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			infos[t][name] = i
			describe(field.Type, infos)
		}
	}
}

// fillStruct stores a node in the struct that v is, by the json tags, but for the keys to skip. Field names match
// exactly. It reports whether everything fits; the schema says what does not.
func fillStruct(n *document.Node, v reflect.Value, skip ...string) bool {
	if n.Kind != document.Object {
		return false
	}
	fields := structs()[v.Type()]
	for i := range n.Kids {
		kid := &n.Kids[i]
		if slices.Contains(skip, kid.Key) {
			continue
		}
		index, ok := fields[kid.Key]
		if !ok || !fill(kid, v.Field(index)) {
			return false
		}
	}
	return true
}

func unknownField(key string, known []string) string {
	text := "unknown field " + plain.Quote(key)
	if strings.Contains(key, " ") {
		return text + "; in YAML, text with a comma or a colon needs quotes"
	}
	if guess := Nearest(key, known); guess != "" {
		text += "; did you mean " + guess + "?"
	}
	return text
}

// fill stores a node in v. An empty list or map stays nil, so that it equals one that is absent.
func fill(n *document.Node, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(n, v.Elem())
	case reflect.String:
		v.SetString(n.Text)
		return n.Kind == document.String
	case reflect.Bool:
		v.SetBool(n.Text == "true")
		return n.Kind == document.Bool
	case reflect.Struct:
		return fillStruct(n, v)
	case reflect.Slice:
		return n.Kind == document.Array && (len(n.Kids) == 0 || fillSlice(n, v))
	case reflect.Map:
		return n.Kind == document.Object && (len(n.Kids) == 0 || fillMap(n, v))
	}
	return n.Kind == document.Number && fillNumber(document.Exact(n.Text), v)
}

// fillMap holds any values as they are.
func fillMap(n *document.Node, v reflect.Value) bool {
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(n.Value(document.Exact)))
		return true
	}
	all := reflect.MakeMap(v.Type())
	for i := range n.Kids {
		item := reflect.New(v.Type().Elem()).Elem()
		if !fill(&n.Kids[i], item) {
			return false
		}
		all.SetMapIndex(reflect.ValueOf(n.Kids[i].Key), item)
	}
	v.Set(all)
	return true
}

func fillSlice(n *document.Node, v reflect.Value) bool {
	list := reflect.MakeSlice(v.Type(), len(n.Kids), len(n.Kids))
	for i := range n.Kids {
		if !fill(&n.Kids[i], list.Index(i)) {
			return false
		}
	}
	v.Set(list)
	return true
}

func fillNumber(value any, v reflect.Value) bool {
	whole, isWhole := value.(int64)
	switch {
	case v.Kind() == reflect.Float64 && isWhole:
		v.SetFloat(float64(whole))
	case v.Kind() == reflect.Float64:
		v.SetFloat(value.(float64))
	case isWhole && !v.OverflowInt(whole):
		v.SetInt(whole)
	default:
		return false
	}
	return true
}

// Nearest returns the candidate that a misspelt word most likely means, "" if none is near. Case does not matter.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, bestDistance := "", max(2, len(word)/3)+1
	if len(word) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := editDistance(word, strings.ToLower(c)); d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes: the known words are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// VersionError is a document of a later format than this program knows.
type VersionError struct {
	Found     int
	Supported int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("plan has schema_version %d, this program knows up to %d: use a newer git-wf",
		e.Found, e.Supported)
}

// Encode gives the canonical JSON of a plan: keys sorted by their bytes, two spaces of indent, one scalar on a line,
// nothing escaped that need not be, and a newline at the end. Equal plans give equal bytes. It fails on what JSON
// can't hold: text that is not UTF-8, a number that is not finite.
func Encode(p *plan.Plan) ([]byte, error) {
	if p == nil {
		return nil, errors.New("encode plan: no plan")
	}
	whole := *p
	if whole.Tasks == nil {
		whole.Tasks = []*plan.Task{}
	}
	data, err := json.Marshal(&whole)
	// encoding/json writes bytes that are not UTF-8 so, and a replacement character of the text itself as it is.
	if err == nil && bytes.Contains(bytes.ReplaceAll(data, []byte(`\\`), nil), []byte(`\ufffd`)) {
		err = errors.New("has text that is not UTF-8")
	}
	var sorted any // maps: encoding/json sorts their keys, and keeps the order of a struct's fields
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		err = d.Decode(&sorted)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err == nil {
		err = e.Encode(sorted)
	}
	if err != nil {
		return nil, fmt.Errorf("encode plan %s: %w", p.PlanID, err)
	}
	return b.Bytes(), nil
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
	if !fillStruct(root, reflect.ValueOf(p).Elem()) {
		return nil, misfit(name, root)
	}
	if p.SchemaVersion == 0 {
		return nil, plan.Findings{{Code: "missing-field", File: name, Line: 1, Path: "schema_version",
			Message: "is missing", Expected: "1"}}
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
