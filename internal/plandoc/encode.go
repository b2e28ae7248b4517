package plandoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

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
			Message:  "is missing",
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
