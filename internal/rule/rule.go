package rule

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gitwf/internal/document"
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
	Title     string   `json:"title"`
	Dimension string   `json:"dimension"`
	Category  string   `json:"category"` // a stage of work, or General
	Keywords  []string `json:"keywords"`
	ReadMode  string   `json:"readMode"`
	Priority  string   `json:"priority"`
	Scope     string   `json:"scope"`
	Kind      string   `json:"kind,omitempty"` // of one that was learned
	From      []string `json:"from,omitempty"` // where it was learned: plans, with their notes
	Text      string   `json:"text"`
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

// unsaid is what a rule is of which nothing is said.
func unsaid() Rule {
	return Rule{Dimension: "specs", Category: General, Keywords: []string{}, ReadMode: "optional", Priority: "medium",
		Scope: "project"}
}

//go:embed rule.schema.json
var schemaText []byte

var heads = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaText) })

// Parse reads a file: Markdown, whose head may say what the fields are; set overrides them. Errors name file and line.
func Parse(name string, data []byte, set map[string]any) (Rule, error) {
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	head, body, ok := document.Head(text)
	if !ok {
		body = text
	}
	fields, n, line := map[string]any{}, &document.Node{}, 0
	if strings.TrimSpace(head) != "" {
		var err error
		var wrong *document.Fault
		n, err = document.ParseYAML([]byte(head), document.Limits{Depth: 3, Values: 100, Fields: 20})
		if errors.As(err, &wrong) {
			return Rule{}, fmt.Errorf("%s:%d: %s", name, wrong.Line+1, wrong.Text())
		}
		if fields, ok = n.Value(document.Exact).(map[string]any); !ok {
			return Rule{}, fmt.Errorf("%s:2: expected fields of a rule, such as category: general", name)
		}
	}
	maps.Copy(fields, set)
	r, field, err := read(fields, body)
	if kid := n.Child(field); kid != nil && set[field] == nil {
		line = int(kid.Line) + 1
	}
	switch {
	case !utf8.Valid(data):
		return r, fmt.Errorf("%s: it is no text in UTF-8", name)
	case err != nil && line > 0:
		return r, fmt.Errorf("%s:%d: %w", name, line, err)
	case err != nil:
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if r.Title == "" {
		r.Title = tidy(cmp.Or(heading(r.Text), strings.TrimSuffix(path.Base(name), path.Ext(name))))
	}
	return r, nil
}

// OfTask is the rule that a task of a register holds.
func OfTask(t *plan.Task) (Rule, error) {
	r, _, err := read(t.Meta, t.Description)
	r.ID, r.Title = string(t.TaskID), tidy(t.Title)
	return r, err
}

// read reads the fields and the text of a rule, and says which field is wrong.
func read(fields map[string]any, text string) (r Rule, field string, err error) {
	r = unsaid()
	r.Text = strings.TrimSpace(plain.Text(text))
	if len(text) > MaxBytes {
		return r, "", fmt.Errorf("a rule has at most %d bytes", MaxBytes)
	}
	if r.Text == "" {
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
	r := []rune(strings.Join(strings.Fields(plain.Line(title)), " "))
	return strings.TrimSpace(string(r[:min(len(r), most)]))
}

func heading(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			return title
		}
	}
	return ""
}

// Meta is the rule without its title and text, as the meta of a task: only what is to be said.
func (r Rule) Meta() map[string]any {
	asMap := func(r Rule) (m map[string]any) {
		data, _ := json.Marshal(r) // of strings alone
		_ = json.Unmarshal(data, &m)
		return m
	}
	usual := asMap(unsaid())
	meta := asMap(r)
	maps.DeleteFunc(meta, func(name string, v any) bool {
		return slices.Contains([]string{"id", "title", "text"}, name) || reflect.DeepEqual(v, usual[name])
	})
	return meta
}

// Markdown is the rule as a file, in one form.
func (r Rule) Markdown() []byte {
	meta := r.Meta()
	meta["title"] = r.Title
	head, _ := json.Marshal(meta) // of strings alone
	return fmt.Appendf(nil, "---\n%s\n---\n\n%s\n", head, r.Text)
}

// Version names what the rule says: two rules have the same only if all of it is equal.
func (r Rule) Version() string {
	sum := sha256.Sum256(r.Markdown())
	return r.ID + "@" + hex.EncodeToString(sum[:6])
}

// SaysAs reports whether two rules have the same text, whatever their white space.
func (r Rule) SaysAs(other Rule) bool {
	return slices.Equal(strings.Fields(r.Text), strings.Fields(other.Text))
}

// Replaces reports whether a rule stands for the same thing as another: it has its title.
func (r Rule) Replaces(other Rule) bool { return strings.EqualFold(r.Title, other.Title) }
