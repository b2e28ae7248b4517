package plandoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

var outputName = pattern.Compile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// steps checks the preparation: in every plan, for it is run.
func (d documentRules) steps() {
	const at = "flow_control.pre_analysis"
	v, has := d.t.FlowControl["pre_analysis"]
	list, ok := v.([]any)
	if !ok {
		if has && v != nil || d.strict && len(d.t.FlowControl) > 0 {
			d.find("pre-analysis", at, "is no list of steps", "a list, which may be empty", d.shown(v),
				`pre_analysis: [{step: find_patterns, action: Search existing patterns, command: "bash(rg auth src)"}]`)
		}
		return
	}
	if len(list) > maxSteps {
		d.find("pre-analysis", at, "has too many steps", fmt.Sprintf("at most %d", maxSteps), fmt.Sprint(len(list)), "")
		return
	}
	names := map[string]int{}
	outputs := map[string]int{}
	for j, s := range Steps(d.t) {
		here := fmt.Sprintf("%s[%d]", at, j)
		m, isObject := list[j].(map[string]any)
		if _, isText := list[j].(string); !isObject && (d.strict || !isText) {
			d.find("pre-analysis", here, "is no step", "an object with step, action and command", d.shown(list[j]),
				"{step: read_docs, action: Read the specification, command: Read(README.md)}")
			continue
		}
		d.stepFields(here, s, m)
		if first, taken := names[s.Name]; taken {
			d.find("duplicate-step", here+".step", "two steps have the same name", "a name of its own",
				fmt.Sprintf("%s, also %s[%d]", plan.Quote(s.Name), at, first), "step: "+plan.OneLine(s.Name)+"_2")
		} else {
			names[s.Name] = j
		}
		if s.OutputTo != "" {
			key := strings.ToLower(s.OutputTo)
			if first, taken := outputs[key]; taken {
				d.find("duplicate-output", here+".output_to",
					"two steps have the same output_to, upper and lower case being the same", "a name of its own",
					fmt.Sprintf("%s, also %s[%d]", plan.Quote(s.OutputTo), at, first), "output_to: "+plan.OneLine(s.OutputTo)+"_2")
			} else {
				outputs[key] = j
			}
		}
		d.stepReferences(here, s, j, m)
	}
}

const maxSteps = 100

// stepFields checks the fields of one step.
func (d documentRules) stepFields(at string, s Step, m map[string]any) {
	if m == nil {
		return
	}
	for _, f := range []struct{ key, example string }{
		{"step", "step: find_patterns"}, {"action", "action: Search existing patterns"},
		{"command", `command: "bash(rg auth src)"`},
		{"output_to", "output_to: patterns"}, {"on_error", "on_error: skip_optional"},
	} {
		v, has := m[f.key]
		text, ok := v.(string)
		switch {
		case has && !ok:
			d.find("wrong-type", at+"."+f.key, "is no text", "a text", d.shown(v), f.example)
		case f.key == "step" && has && badLine(text) != "":
			d.find("bad-text", at+".step", badLine(text), "a name on one line", plan.Quote(text), f.example)
		case d.strict && strings.TrimSpace(text) == "" && (f.key == "step" || f.key == "action" || f.key == "command" &&
			m["commands"] == nil):
			d.find("pre-analysis", at+"."+f.key, "the step lacks a field", "step, action and command", "nothing", f.example)
		}
	}
	if v, has := m["commands"]; has {
		if _, ok := texts(v); !ok {
			d.find("wrong-type", at+".commands", "is not a list of commands", "a list of texts", d.shown(v),
				`commands: ["bash(rg auth src)", "Read(README.md)"]`)
		}
	}
	if known := []string{SkipOptional, failTask, RetryOnce, ManualIntervention}; !slices.Contains(known, s.OnError) {
		example := nearest(s.OnError, known)
		if example == "" {
			example = failTask
		}
		d.find("on-error", at+".on_error", "is not a way to handle a failure", strings.Join(known, ", "),
			plan.Quote(s.OnError), "on_error: "+example)
	}
	if s.OutputTo != "" && (!outputName.Get().MatchString(s.OutputTo) || IsProperty(s.OutputTo)) {
		d.find("output-to", at+".output_to", "can't be a name of a result",
			"letters, digits and _, beginning with a letter, and no property of tasks such as parent", plan.Quote(s.OutputTo),
			"output_to: patterns")
	}
	if v, has := m["timeout_seconds"]; has && s.TimeoutSeconds == 0 {
		d.find("bad-value", at+".timeout_seconds", "is not a time", fmt.Sprintf("whole seconds, 1 to %d", maxStepSeconds),
			d.shown(v), "timeout_seconds: 60")
	}
}

// outputs are the names of what the first n steps leave.
func (d documentRules) outputs(n int) map[string]bool {
	names := map[string]bool{}
	for _, s := range Steps(d.t)[:n] {
		if s.OutputTo != "" {
			names[s.OutputTo] = true
		}
	}
	return names
}

// stepReferences checks the references in the commands of step j.
func (d documentRules) stepReferences(at string, s Step, j int, m map[string]any) {
	known := d.outputs(len(Steps(d.t)))
	earlier := d.outputs(j)
	k := 0
	if text, _ := m["command"].(string); strings.TrimSpace(text) != "" {
		k = -1
	}
	for _, c := range s.Commands {
		field := at + ".command"
		if k >= 0 {
			field = fmt.Sprintf("%s.commands[%d]", at, k)
		}
		k++
		switch c.Form {
		case StepShell:
			for _, ref := range shellRefs(c.Line, func(name string) bool { return known[name] || meantAsReference(name) }) {
				if !d.resolves(field, ref.name, earlier) {
					continue
				}
				if ref.wrong != "" {
					d.find("unsafe-reference", field, "["+ref.name+"] "+ref.wrong,
						"an argument of a program that takes it for text; or the variable "+VarName(ref.name)+" of the environment",
						plan.Quote(c.Line[ref.start:ref.end]), "")
				}
			}
		case StepRead, StepSearch, stepFind:
			for _, arg := range c.Args {
				for _, name := range WholeReferences(arg, func(name string) bool { return known[name] || meantAsReference(name) }) {
					d.resolves(field, name, earlier)
				}
			}
		}
	}
}

// meantAsReference reports whether a name in brackets can't be meant as anything else: it is a property of tasks, or
// has an underscore between words, which no pattern of letters has.
func meantAsReference(name string) bool {
	return IsProperty(name) || underscored.Get().MatchString(name)
}

var underscored = pattern.Compile(`^[A-Za-z]{2,}[a-z0-9]*(_[A-Za-z0-9]{2,})+$`)

// resolves notes a reference that leads nowhere. outputs are the names of the steps before it; other names in brackets
// are not meant as references.
func (d documentRules) resolves(field, name string, outputs map[string]bool) bool {
	if outputs[name] {
		return true
	}
	if _, ok := Property(d.whole, d.plan.PlanID, name); ok && IsProperty(name) {
		return true
	}
	shown := "[" + name + "]"
	switch {
	case IsProperty(name):
		head, _, _ := strings.Cut(name, ".")
		expected := "a task with context." + name
		if head == "depends_on" {
			expected = "a task with depends_on"
		}
		d.find("unresolved-reference", field, shown+" stands for nothing: neither the task nor one above it has that",
			expected, "nothing", "")
	case d.outputs(len(Steps(d.t)))[name]:
		d.find("later-output", field, shown+" is the output of this step or of a later one",
			"the output_to of an earlier step", shown, "")
	case underscored.Get().MatchString(name):
		guess := nearest(name, sortedSet(outputs))
		if guess != "" {
			guess = "[" + guess + "]"
		}
		d.find("unresolved-reference", field, shown+" is no output of an earlier step and no property of the task",
			"the output_to of an earlier step, or a property such as [focus_paths]", shown, guess)
	default:
		return true
	}
	return false
}

func sortedSet(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

// WholeReferences are the names of the references in an argument that no shell reads.
func WholeReferences(arg string, known func(name string) bool) []string {
	var names []string
	for i := range len(arg) {
		if m := refName.Get().FindStringSubmatch(arg[i:]); m != nil && known(m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
