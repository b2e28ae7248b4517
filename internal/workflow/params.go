package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// Param is something that the user of a workflow may set.
type Param struct {
	Name    string   `json:"-"`
	Type    string   `json:"type"` // text, integer, boolean, choice, list or items
	Ask     string   `json:"ask"`  // the question, "" if there is none
	Options []string `json:"options"`
	Default any      `json:"default"` // nil if there is none
	Max     int      `json:"max"`     // the largest integer, the longest list; zero: no bound
}

// The types of params.
const (
	typeInteger = "integer"
	typeBoolean = "boolean"
	typeChoice  = "choice"
	typeList    = "list"
	typeItems   = "items" // open tasks of a register
)

// TakesItems reports whether the param's value is tasks of a register; as a text, their JSON.
func (p Param) TakesItems() bool { return p.Type == typeItems }

// itemSchemaText is the form of a task of a register as an item.
const itemSchemaText = `{"type": "object", "required": ["plan", "id", "title", "text", "severity", "criteria", "paths"],
 "additionalProperties": false, "properties": {
  "plan": {"type": "string", "pattern": "^WFS-[A-Za-z0-9._-]+$"}, "id": {"type": "string", "pattern": "^[A-Z0-9.-]+$"},
  "title": {"type": "string"}, "text": {"type": "string"}, "severity": {"type": "string"},
  "criteria": {"type": "array", "items": {"type": "string"}}, "paths": {"type": "array", "items": {"type": "string"}}}}`

var itemForm = sync.OnceValue(func() *schema.Schema {
	s, err := schema.Read([]byte(itemSchemaText))
	if err != nil {
		panic("workflow: the form of an item is no schema: " + err.Error())
	}
	return s
})

// Fact is something that is true or false of a repository: whether its HEAD has any of these paths or patterns.
type Fact struct {
	Name string   `json:"-"`
	Any  []string `json:"any"`
}

// pointRule gives points for words of a sentence, or for a fact of a repository.
type pointRule struct {
	Words []string `json:"words"`
	Fact  string   `json:"fact"`
	Add   int      `json:"add"`
}

// score suggests values of params.
type score struct {
	Rules []pointRule `json:"rules"`
	Sets  map[string][]struct {
		From  *int `json:"from"`
		Value any  `json:"value"`
	} `json:"sets"`
}

// Inputs are all that a rendering depends on besides the files: the content of params.json.
type Inputs struct {
	SchemaVersion int             `json:"schema_version"` // 1 or 2: by which rules it is rendered
	Sentence      string          `json:"sentence"`
	Params        map[string]any  `json:"params"`
	Facts         map[string]bool `json:"facts"`
	Score         int             `json:"score"`
}

// inputsVersion is that of a new plan. By version 1, which older plans were rendered by and stay so, a reference to
// nothing could be left out.
const inputsVersion = 2

// strict reports whether the rules of version 2 hold.
func (in *Inputs) strict() bool { return in.SchemaVersion > 1 }

// ParseInputs reads params.json. It is strict: what it does not know could change what the plan means.
func ParseInputs(data []byte) (*Inputs, error) {
	root, err := document.JSON{Limits: document.Limits{Depth: 10, Values: 100_000, Fields: 1000}}.Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("params.json: %w", err)
	}
	in := &Inputs{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return nil, fmt.Errorf("params.json: %s", plain.Line(err.Error()))
	}
	if in.SchemaVersion < 1 || in.SchemaVersion > inputsVersion {
		return nil, fmt.Errorf("params.json has schema_version %d, this program knows 1 to %d: use a newer git-wf",
			in.SchemaVersion, inputsVersion)
	}
	if n := root.Child("params"); n != nil {
		in.Params, _ = n.Value(document.Exact).(map[string]any) // with whole numbers as int64
	}
	return in, nil
}

// Items are the tasks of registers among the params, as PLAN/TASK.
func (in *Inputs) Items() (all []string) {
	for _, name := range sorted(in.Params) {
		list, _ := in.Params[name].([]any)
		for _, v := range list {
			if item, ok := v.(map[string]any); ok {
				all = append(all, fmt.Sprintf("%v/%v", item["plan"], item["id"]))
			}
		}
	}
	return all
}

func (f *file) readParams() {
	for _, raw := range f.root.Child("params").Items() {
		p := Param{Name: raw.Key}
		_ = decode(&raw, &p) // it fits the schema
		if n := raw.Child("default"); n != nil {
			p.Default = n.Value(document.Exact)
		}
		f.set = append(f.set, p)
	}
}

// Params are the params of the workflow itself, in the order of the file. Those of a workflow that it uses are set
// there, or have their defaults.
func (w *Workflow) Params() []Param { return slices.Clone(w.files[0].set) }

// Facts are the facts to look up, of all files.
func (w *Workflow) Facts() []Fact { return slices.Clone(w.facts) }

// Suggest computes the score of a sentence in a repository with these facts, and the values that it suggests. Flags and
// answers win over them.
func (w *Workflow) Suggest(sentence string, facts map[string]bool) (sum int, values map[string]any) {
	s := w.files[0].head.Score
	sum = Guide{Route: s.Rules}.Candidate("", sentence, facts).Points
	values = map[string]any{}
	for name, steps := range s.Sets {
		for _, step := range steps {
			if step.From == nil || sum >= *step.From {
				values[name] = plainNumbers(step.Value)
				break
			}
		}
	}
	return sum, values
}

// Parse reads a value that a user gave as text; a list's items have commas between them. Its error says what would do.
func (p Param) Parse(text string) (any, error) {
	var v any = text
	switch p.Type {
	case typeInteger:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, p.wrong(text)
		}
		v = n
	case typeBoolean:
		if text != "true" && text != "false" {
			return nil, p.wrong(text)
		}
		v = text == "true"
	case typeList:
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		v = list
	case typeItems:
		root, err := document.JSON{Limits: document.Limits{Depth: 5, Values: 100_000, Fields: 100}}.Parse(text)
		if err != nil {
			return nil, p.wrong(text)
		}
		v = root.Value(document.Exact)
	}
	return v, p.check(v)
}

func (p Param) wrong(v any) error {
	text, ok := asText(v)
	if !ok {
		text = fmt.Sprint(v)
	}
	return plan.Findings{{
		Code: "bad-param", Path: "params." + p.Name, Message: "has a value that it can't have", Expected: p.expected(),
		Found: plain.Quote(text), Example: "--set " + p.Name + "=" + p.example(),
	}}
}

// check holds a value against the param's type, options and bound.
func (p Param) check(v any) error {
	ok := false
	switch v := v.(type) {
	case string:
		ok = p.Type == typeChoice && slices.Contains(p.Options, v) || p.Type == "text"
	case int64:
		ok = p.Type == typeInteger && v >= 1 && (p.Max == 0 || v <= int64(p.Max))
	case bool:
		ok = p.Type == typeBoolean
	case []any:
		ok = (p.Type == typeList || p.Type == typeItems) && (p.Max == 0 || len(v) <= p.Max)
		for i, item := range v {
			if p.Type == typeItems {
				ok = ok && len(itemForm().Check(item)) == 0
				continue
			}
			s, text := item.(string)
			ok = ok && text && (len(p.Options) == 0 || slices.Contains(p.Options, s)) && !slices.Contains(v[:i], item)
		}
	}
	if !ok {
		return p.wrong(v)
	}
	return nil
}

func (p Param) expected() string {
	switch p.Type {
	case typeChoice:
		return "one of " + strings.Join(p.Options, ", ")
	case typeBoolean:
		return "true or false"
	case typeInteger:
		if p.Max > 0 {
			return fmt.Sprintf("a whole number from 1 to %d", p.Max)
		}
		return "a whole number from 1"
	case typeItems:
		return fmt.Sprintf("open tasks of a register, at most %d", p.Max)
	case typeList:
		text := "a list"
		if p.Max > 0 {
			text = fmt.Sprintf("at most %d items", p.Max)
		}
		if len(p.Options) > 0 {
			text += ", each once, of " + strings.Join(p.Options, ", ")
		}
		return text
	}
	return "a text"
}

func (p Param) example() string {
	switch {
	case p.Default != nil:
		text, _ := asText(p.Default)
		return strings.ReplaceAll(text, ", ", ",")
	case p.TakesItems():
		return "WFS-issues:ISSUE-1,ISSUE-2"
	}
	return p.first("TEXT")
}

// first is the first value of a param, as a text, or another text where any would do.
func (p Param) first(text string) string {
	switch {
	case len(p.Options) > 0:
		return p.Options[0]
	case p.Type == typeInteger:
		return strconv.Itoa(max(p.Max, 1))
	case p.Type == typeBoolean:
		return "true"
	}
	return text
}

// Sample is a text that Parse takes, of a param that has no default.
func (p Param) Sample() string {
	if p.TakesItems() {
		text, _ := json.Marshal(p.sampleItems()) // of plain values
		return string(text)
	}
	return p.first("example")
}

// sampleItems are as many tasks of a register as the param takes.
func (p Param) sampleItems() []any {
	all := make([]any, min(max(p.Max, 1), MaxTasks))
	for i := range all {
		item, _ := example(itemForm(), i, 0).(map[string]any)
		item["plan"], item["id"] = "WFS-issues", fmt.Sprintf("ISSUE-%d", i+1)
		all[i] = item
	}
	return all
}

// Inputs settles the params: what the user set, by name, wins over what the score suggests, and that over defaults. It
// fails with plan.Findings, all at once: a value that a param can't have, a name that no param has, a param without a
// value. Names that nothing was given for may be asked for: see Missing.
func (w *Workflow) Inputs(sentence string, facts map[string]bool, set map[string]string) (*Inputs, error) {
	in := &Inputs{SchemaVersion: inputsVersion, Sentence: sentence, Params: map[string]any{}, Facts: map[string]bool{}}
	for _, f := range w.facts {
		in.Facts[f.Name] = facts[f.Name]
	}
	var suggested map[string]any
	in.Score, suggested = w.Suggest(sentence, in.Facts)
	var fs plan.Findings
	params := w.Params()
	for _, p := range params {
		text, given := set[p.Name]
		var err error
		switch {
		case given:
			in.Params[p.Name], err = p.Parse(text)
		case suggested[p.Name] != nil:
			in.Params[p.Name] = suggested[p.Name]
			err = p.check(suggested[p.Name])
		case p.Default != nil:
			in.Params[p.Name] = p.Default
			err = p.check(p.Default)
		default:
			fs = append(fs, plan.Finding{
				Code: CodeMissingParam, Path: "params." + p.Name, Message: "has no value", Expected: p.expected(),
				Example: "--set " + p.Name + "=" + p.example(),
			})
		}
		if bad, ok := err.(plan.Findings); ok {
			fs = append(fs, bad...)
		}
	}
	for _, name := range sorted(set) {
		if !slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			fs = append(fs, plan.Finding{
				Code: "unknown-name", Path: "params." + name, Message: "is no param of this workflow",
				Expected: listed("one of ", paramNames(params)), Found: plain.Quote(name),
			})
		}
	}
	if len(fs) > 0 {
		return nil, fs
	}
	return in, nil
}

// CodeMissingParam is the code of a finding about a param without a value.
const CodeMissingParam = "missing-param"

func paramNames(params []Param) []string {
	return each.Of(params, func(p Param) string { return p.Name })
}
