package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// The error codes of a Violation. They are stable.
const (
	codeEmpty         = "empty"          // the agent said nothing
	codeTooLarge      = "too-large"      // the text, a list or the files pass a limit
	codeNotUTF8       = "not-utf8"       // the text is not UTF-8
	codeNoReply       = "no-reply"       // no JSON object in the text has a result_type
	codeWrapped       = "wrapped"        // the reply stands inside another object or a list
	codeDoubleEncoded = "double-encoded" // the reply stands inside a string, with its quotes escaped
	codeTwoReplies    = "two-replies"    // two replies in one text that differ
	codeLeftover      = "leftover"       // text goes on after the object as if it belonged to it
	codeCutOff        = "cut-off"        // the text ends before the object does
	codeSyntax        = "syntax"         // the object is no JSON
	codeDuplicateKey  = "duplicate-key"  // a field stands twice in one object
	codeTooDeep       = "too-deep"       // nested too deep
	codeMissingField  = "missing-field"  // a field is missing
	codeUnknownField  = "unknown-field"  // a field that the items of files don't have
	codeWrongType     = "wrong-type"     // a value of the wrong JSON type
	codeBadValue      = "bad-value"      // a value that is out of range, blank, or not among those allowed
	codeWrongVersion  = "wrong-version"  // a schema_version that is not known
	codeWrongResult   = "wrong-result"   // a result_type that the role does not have
	codeBadPath       = "bad-path"       // a path that no file of an artifact can have
	codeDuplicatePath = "duplicate-path" // two paths that are one on some systems, or a path that is file and directory
	codeBadEncoding   = "bad-encoding"   // content that is not the base64 that it claims to be
	codeUnknownID     = "unknown-id"     // a criterion, task or option that does not exist
	codeDuplicateID   = "duplicate-id"   // an id or a name that stands twice
	codeNotJudged     = "not-judged"     // a criterion that the review leaves out
	codeContradiction = "contradiction"  // fields that can't both be meant
	codeNoFiles       = "no-files"       // an artifact without files, here or in the directory for them
)

// maxAlso bounds the violations after the first: an agent wants them all, but not a thousand.
const maxAlso = 9

// Violation is one way in which a reply breaks the contract, so that it is not used. Its texts are fit to be printed.
type Violation struct {
	Code string `json:"error_code"` // one of the Code constants
	// the part of the schema that is broken: reply.schema.json#/$defs/review
	Schema     string       `json:"schema"`
	JSONPath   string       `json:"json_path"` // $.criteria[2].evidence; $ for the reply as a whole
	Expected   string       `json:"expected"`
	Actual     string       `json:"actual"`
	ExampleFix string       `json:"example_fix"`    // JSON that would pass at the place, or what to do
	Also       []*Violation `json:"also,omitempty"` // what else is wrong with the same reply, at most nine
}

// CutOff is the violation of a reply that its source says is not whole: an API that stopped at its limit of tokens, a
// log that kept only so much.
func CutOff(why string) *Violation {
	return (&Violation{Code: codeCutOff, Expected: "the object up to its closing brace", Actual: plain.Line(why),
		ExampleFix: cutOffFix}).withDefaults()
}

// NoFiles is the violation of an ARTIFACT without files, here or in the directory for them. there are files that the
// agent left elsewhere.
func NoFiles(out string, there []string) *Violation {
	v := &Violation{Code: codeNoFiles, Expected: "the deliverable, in " + out + " or in files", Actual: "no file",
		ExampleFix: "write the deliverable to " + out}
	if len(there) > 0 {
		v.Actual = "no file there; the working directory has " + strings.Join(there, ", ")
		v.ExampleFix = "move the deliverable to " + out
	}
	return v.withDefaults()
}

const cutOffFix = "send a shorter reply: write large files to the directory that WF_OUT names, and leave files out"

// withDefaults fills in what a violation of the text as such leaves out.
func (v *Violation) withDefaults() *Violation {
	if v.Schema == "" {
		v.Schema = schemaName
	}
	if v.JSONPath == "" {
		v.JSONPath = "$"
	}
	if v.ExampleFix == "" {
		v.ExampleFix = "send one JSON object and nothing else"
	}
	return v
}

// Error is the violation on one line.
func (v *Violation) Error() string {
	s := fmt.Sprintf("the reply breaks the contract: %s: %s: expected %s, got %s", v.JSONPath, v.Code, v.Expected,
		v.Actual)
	if n := len(v.Also); n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Feedback is what goes back to the agent: the violation as JSON, and what to do. It ends in a newline.
func (v *Violation) Feedback() string {
	return "Your reply breaks the contract. It was refused as a whole, and nothing of it was used:\n\n" +
		string(plan.Document(v)) +
		"\nSend the whole reply again, mended: one JSON object, and nothing before or after it.\n"
}

// some lists names, not all of them if they are many.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(plain.Some(names, 20, func(name string) string { return name }), ", ")
}

//go:embed reply.schema.json
var schemaJSON []byte

const (
	schemaName = "reply.schema.json"
	schemaBase = "https://git-wf.invalid/"
)

// Schema is the JSON Schema of a reply.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// parsedSchema waits for its first use: most commands read no reply.
var parsedSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaJSON) })

// definition is the name of the part of the schema that a reply must fit.
func definition(object map[string]any) string { return strings.ToLower(str(object, keyResult)) }

// checkSchema holds a reply against its part of the schema and translates what does not fit. It is not held against the
// whole, so that an error speaks of the kind that was meant and not of all others as well.
func checkSchema(def string, object map[string]any) ([]*Violation, error) {
	whole, err := parsedSchema()
	if err != nil {
		return nil, err
	}
	t := translator{root: whole.Part("/$defs/" + def)}
	for _, p := range t.root.Check(object) {
		if len(t.found) >= maxFound {
			break
		}
		t.add(p)
	}
	slices.SortStableFunc(t.found, func(a, b *Violation) int { return strings.Compare(a.JSONPath, b.JSONPath) })
	return slices.CompactFunc(t.found, func(a, b *Violation) bool {
		return a.JSONPath == b.JSONPath && a.Code == b.Code
	}), nil
}

// maxFound is where looking for more violations ends.
const maxFound = 1000

// translator turns what does not fit into violations.
type translator struct {
	root  *schema.Schema
	found []*Violation
}

func (t *translator) add(p schema.Problem) {
	at := p.At
	v := &Violation{
		Code: codeBadValue, Schema: strings.TrimPrefix(p.Schema.Location, schemaBase), JSONPath: jsonPath(at),
		Expected: p.Expected(), Actual: p.Found(), ExampleFix: example(at, t.root),
	}
	switch p.Keyword {
	case schema.Required:
		for _, name := range p.Names {
			field := append(slices.Clone(at), name)
			t.found = append(t.found, &Violation{codeMissingField, v.Schema, jsonPath(field), "a value", "nothing",
				example(field, t.root), nil})
		}
		return
	case schema.Additional:
		v.Code, v.Expected = codeUnknownField, "no fields but "+strings.Join(t.root.At(at).Fields(), ", ")
		v.ExampleFix = "leave out " + v.Actual
	case schema.Type:
		v.Code = codeWrongType
	case schema.Const:
		v.Code = codeWrongVersion // no other field has one
	case schema.MaxLength:
		v.Code = codeTooLarge
	case schema.MaxItems:
		v.Code = codeTooLarge
		if *p.Schema.MaxItems == 0 {
			t.foreign(v)
		}
	case schema.Pattern:
		t.foreign(v) // the only pattern is that of a blank
	}
	t.found = append(t.found, v)
}

// foreign says that a field belongs to another kind of reply: whichever was meant, the other would be lost.
func (t *translator) foreign(v *Violation) {
	name := strings.TrimPrefix(v.JSONPath, "$.")
	v.Code, v.Expected, v.Actual = codeContradiction, "no "+name+" in a reply of this result_type", "some"
	v.ExampleFix = "leave " + name + " out, or give the reply the result_type that it belongs to"
}

func jsonPath(location []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range location {
		if strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]") // no field that the schema knows is a number
		} else {
			b.WriteString("." + part)
		}
	}
	return b.String()
}

// example shows a field with the schema's own example for it; of a list, with the examples of an item's fields.
func example(location []string, root *schema.Schema) string {
	if len(location) == 0 {
		return ""
	}
	v := exampleValue(root.At(location))
	data, err := json.Marshal(v)
	if v == nil || err != nil {
		return "leave it out"
	}
	name := location[len(location)-1]
	if strings.Trim(name, "0123456789") == "" {
		return string(data)
	}
	return `"` + name + `": ` + string(data)
}

func exampleValue(s *schema.Schema) any {
	s = s.Deref()
	switch {
	case s == nil:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Items != nil:
		return []any{exampleValue(s.Items)}
	case len(s.Properties) > 0:
		m := map[string]any{}
		for _, name := range s.Required {
			m[name] = exampleValue(s.Properties[name])
		}
		return m
	}
	return nil
}
