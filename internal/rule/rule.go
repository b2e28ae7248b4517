package rule

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// MaxBytes is the size of the largest file of a rule.
const MaxBytes = 32 << 10

// Rule is something that a project, or a person, wants whoever works for them to keep. rule.schema.json says what the
// fields of a head may be.
type Rule struct {
	ID        string   `json:"id,omitempty"` // the task in the register, or the user's own file
	Title     string   `json:"title,omitempty"`
	Dimension string   `json:"dimension"`
	Category  string   `json:"category"` // one of Stages
	Keywords  []string `json:"keywords"`
	ReadMode  string   `json:"readMode"`
	Priority  string   `json:"priority"`
	Scope     string   `json:"scope"`
	Kind      string   `json:"kind,omitempty"` // of one that was learned
	From      []string `json:"from,omitempty"` // where it was learned: plans, with their notes
	Text      string   `json:"text,omitempty"`
}

// What fields say. General is of every stage.
const (
	General     = "general"
	Exploration = "exploration"
	Planning    = "planning"
	Execution   = "execution"

	Required = "required"
	Global   = "global"
)

// Stages are the stages of work, the one that is all of them first.
var Stages = []string{General, Exploration, Planning, Execution}

//go:embed rule.schema.json
var schemaText []byte

var heads = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaText) })

var heading = pattern.Compile(`(?m)^#+ +(.+)$`)

// Parse reads a file: Markdown, whose head may say what the fields are; set overrides them. Errors name file and line.
func Parse(name string, data []byte, set map[string]any) (Rule, error) {
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	head, body, ok := document.Head(text)
	if !ok {
		body = text
	}
	if strings.TrimSpace(head) == "" {
		head = "{}"
	}
	n, err := document.ParseYAML([]byte(head), document.Limits{Depth: 3, Values: 100, Fields: 20})
	if wrong, ok := errors.AsType[*document.Fault](err); ok {
		return Rule{}, fmt.Errorf("%s:%d: %s", name, wrong.Line+1, wrong.Text())
	}
	fields, ok := n.Value(document.Exact).(map[string]any)
	if !ok {
		return Rule{}, fmt.Errorf("%s:2: expected fields of a rule, such as category: general", name)
	}
	maps.Copy(fields, set)
	if words, ok := fields["keywords"].(string); ok { // with commas between them
		fields["keywords"] = each.Of(strings.Split(words, ","), func(w string) any { return strings.TrimSpace(w) })
	}
	r, field, err := read(fields, body)
	if err != nil {
		if kid := n.Child(field); kid != nil && set[field] == nil {
			name = fmt.Sprintf("%s:%d", name, kid.Line+1)
		}
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if m := heading.Get().FindStringSubmatch(r.Text); m != nil && r.Title == "" {
		r.Title = tidy(m[1])
	}
	r.Title = cmp.Or(r.Title, tidy(strings.TrimSuffix(path.Base(name), path.Ext(name))))
	return r, nil
}

// OfTask is the rule that a task of a register holds.
func OfTask(t *plan.Task) (Rule, error) {
	r, _, err := read(t.Meta, t.Description)
	if r.ID, r.Title = string(t.TaskID), tidy(t.Title); err != nil {
		err = fmt.Errorf("%s: %w", cmp.Or(r.ID, r.Title), err)
	}
	return r, err
}

// read reads the fields and the text of a rule, and says which field is wrong.
func read(fields map[string]any, text string) (r Rule, field string, err error) {
	r = Rule{Dimension: "specs", Category: General, Keywords: []string{}, ReadMode: "optional", Priority: "medium",
		Scope: "project", Text: strings.TrimSpace(plain.Text(text))}
	switch {
	case len(text) > MaxBytes:
		return r, "", fmt.Errorf("a rule has at most %d bytes", MaxBytes)
	case !utf8.ValidString(text):
		return r, "", errors.New("it is no text in UTF-8")
	case r.Text == "":
		return r, "", errors.New("the rule says nothing")
	}
	s, err := heads()
	if err != nil || len(fields) == 0 {
		return r, "", err
	}
	if wrong := s.Check(fields); len(wrong) > 0 {
		p := wrong[0]
		if at := append(p.At, p.Names...); len(at) > 0 {
			field = at[0]
		}
		return r, field, fmt.Errorf("%s: expected %s, found %s", plain.Line(field), p.Expected(), p.Found())
	}
	data, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	r.Title = tidy(r.Title)
	return r, "", err
}

func tidy(title string) string {
	const most = 120
	r := []rune(plain.Line(title))
	return strings.TrimSpace(string(r[:min(len(r), most)]))
}

// Meta is the rule without its title and text, as the meta of a task.
func (r Rule) Meta() (meta map[string]any) {
	r.ID, r.Title, r.Text = "", "", ""
	data, _ := json.Marshal(r) // of strings alone
	_ = json.Unmarshal(data, &meta)
	return meta
}

// Markdown is the rule as a file, in one form.
func (r Rule) Markdown() []byte {
	text := r.Text
	r.ID, r.Text = "", ""
	head, _ := json.Marshal(r) // of strings alone
	return fmt.Appendf(nil, "---\n%s\n---\n\n%s\n", head, text)
}

// SaysAs reports whether two rules have the same text, whatever their white space.
func (r Rule) SaysAs(other Rule) bool {
	return slices.Equal(strings.Fields(r.Text), strings.Fields(other.Text))
}

// Replaces reports whether a rule stands for the same thing as another: it has its title.
func (r Rule) Replaces(other Rule) bool { return strings.EqualFold(r.Title, other.Title) }
