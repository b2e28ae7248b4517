package plandoc

import (
	"encoding/json"
	"fmt"
	"gitwf/internal/plan"
	"maps"
	"slices"
	"strings"
)

// Value is what a reference stands for: one text, or a list of them.
type Value struct {
	Text string
	List []string
	Many bool // List counts, Text is its entries, one a line
}

func one(text string) Value { return Value{Text: text} }

func listValue(list []string) Value {
	return Value{Text: strings.Join(list, "\n"), List: list, Many: true}
}

// behind is the value as it follows what stands before its reference: many write WFS-[session-id].
func (v Value) behind(name, before string) Value {
	if strings.HasPrefix(name, "session") && strings.HasSuffix(before, "WFS-") {
		v.Text = strings.TrimPrefix(v.Text, "WFS-")
	}
	return v
}

// IsProperty reports whether the name of a reference is that of a property of tasks, or below one.
func IsProperty(name string) bool {
	head, _, dotted := strings.Cut(name, ".")
	switch head {
	case "inherited", "shared_context":
		return true
	case "depends_on", "focus_paths", "parent", "requirements", "acceptance", "session-id", "session_id":
		return !dotted
	}
	return false
}

// Property is the value of a reference to a property of the task, which is Effective; ok is false where the task has
// nothing there.
func Property(t *plan.Task, plan plan.ID, name string) (v Value, ok bool) {
	inherited, _ := t.Context["inherited"].(map[string]any)
	shared, _ := t.Context["shared_context"].(map[string]any)
	switch name {
	case "session-id", "session_id":
		return one(string(plan)), true
	case "parent":
		if ids, ok := contextIDs(t, "parent"); ok && len(ids) == 1 {
			return one(string(ids[0])), true
		}
		return one(string(t.ParentTaskID)), t.ParentTaskID != ""
	case "depends_on":
		var ids []string
		for _, d := range t.DependsOn {
			ids = append(ids, string(d))
		}
		return listValue(ids), len(ids) > 0
	case "inherited.context":
		list, _ := texts(inherited["context"])
		return listValue(list), len(list) > 0
	case "inherited", "shared_context":
		part, _ := t.Context[name].(map[string]any)
		return one(asText(t.Context[name])), len(part) > 0
	}
	if key, ok := strings.CutPrefix(name, "inherited."); ok {
		v, has := inherited[key]
		return one(asText(v)), has
	}
	if key, ok := strings.CutPrefix(name, "shared_context."); ok {
		return nested(shared, key)
	}
	list := contextTexts(t, name)
	return listValue(list), len(list) > 0
}

// nested finds a.b.c in objects that stand inside each other; a key may have dots itself.
func nested(m map[string]any, key string) (Value, bool) {
	if v, ok := m[key]; ok {
		if list, ok := texts(v); ok && len(list) > 0 {
			return listValue(list), true
		}
		return one(asText(v)), true
	}
	for i := range len(key) {
		if key[i] != '.' {
			continue
		}
		if inner, ok := m[key[:i]].(map[string]any); ok {
			return nested(inner, key[i+1:])
		}
	}
	return Value{}, false
}

// asText is a value as it stands in a command or a text: a text itself, everything else as JSON.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// Expanded is a command line whose references are variables of the environment.
type expanded struct {
	Line string
	Vars map[string]string // by the name of the variable
}

// ReferenceError says why a reference can't be put into a command line.
type ReferenceError struct{ Name, Reason string }

func (e *ReferenceError) Error() string { return fmt.Sprintf("[%s] %s", e.Name, e.Reason) }

// Expand puts variables in the place of the references of a command line: values has what is known, by name. No value
// is in the line it returns, whatever it holds. Brackets that values does not know stay as they are: patterns, tests,
// text. It fails with a *ReferenceError where a value would be taken for a program, an option or a file to write.
func Expand(line string, values map[string]Value) (expanded, error) {
	x := expanded{Vars: map[string]string{}}
	var b strings.Builder
	from := 0
	for _, ref := range shellRefs(line, func(name string) bool { _, ok := values[name]; return ok }) {
		if ref.wrong != "" {
			return expanded{}, &ReferenceError{ref.name, ref.wrong}
		}
		b.WriteString(line[from:ref.start])
		from = ref.end
		v := values[ref.name].behind(ref.name, line[:ref.start])
		parts := []string{v.Text}
		if v.Many {
			parts = []string{strings.Join(v.List, " ")}
			if ref.word {
				parts = v.List
			}
		}
		for i, part := range parts {
			if ref.option && strings.HasPrefix(part, "-") {
				return expanded{}, &ReferenceError{ref.name,
					"begins with a hyphen and would be taken for an option; write -- before it"}
			}
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(quotedVar(x.variable(ref.name, part), ref.quote))
		}
	}
	b.WriteString(line[from:])
	x.Line = b.String()
	return x, nil
}

// Fill puts values in the place of the references of an argument that no shell reads. What a value holds is not looked
// at again.
func Fill(arg string, values map[string]Value) string {
	var b strings.Builder
	for i := 0; i < len(arg); {
		m := refName.Get().FindStringSubmatch(arg[i:])
		if m != nil {
			if v, ok := values[m[1]]; ok {
				b.WriteString(v.behind(m[1], arg[:i]).Text)
				i += len(m[0])
				continue
			}
		}
		b.WriteByte(arg[i])
		i++
	}
	return b.String()
}

// WithApproach is the task, which is Effective, with the values of its references in its implementation_approach. The
// outputs of steps stay references: what they say is none of the task's own words.
func WithApproach(t *plan.Task, id plan.ID) *plan.Task {
	approach, has := t.FlowControl["implementation_approach"]
	if !has {
		return t
	}
	whole := *t
	whole.FlowControl = maps.Clone(t.FlowControl)
	whole.FlowControl["implementation_approach"] = filled(approach, t, id)
	return &whole
}

// filled is a value with the references in all of its texts filled in.
func filled(v any, t *plan.Task, id plan.ID) any {
	switch v := v.(type) {
	case string:
		values := map[string]Value{}
		for _, name := range WholeReferences(v, IsProperty) {
			if value, ok := Property(t, id, name); ok {
				values[name] = one(strings.ReplaceAll(value.Text, "\n", ", "))
			}
		}
		return Fill(v, values)
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = filled(item, t, id)
		}
		return list
	case map[string]any:
		m := maps.Clone(v)
		for key, item := range m {
			m[key] = filled(item, t, id)
		}
		return m
	}
	return v
}

// variable is the name of a variable that holds the value.
func (x expanded) variable(name, value string) string {
	base := VarName(name)
	for n := 1; ; n++ {
		try := base
		if n > 1 {
			try = fmt.Sprintf("%s_%d", base, n)
		}
		if have, taken := x.Vars[try]; !taken || have == value {
			x.Vars[try] = value
			return try
		}
	}
}

// VarName is the variable of the environment that holds the output of an earlier step, by its output_to.
func VarName(name string) string {
	return "WF_VAR_" + strings.Map(func(r rune) rune {
		if r < 0x80 && isWordByte(byte(r)) {
			return r
		}
		return '_'
	}, name)
}

// quotedVar is the expansion of a variable as one word, or as part of the quotes that it stands in.
func quotedVar(name string, quote byte) string {
	switch quote {
	case '"':
		return "${" + name + "}"
	case '\'':
		return `'"${` + name + `}"'`
	}
	return `"${` + name + `}"`
}
