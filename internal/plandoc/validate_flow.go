package plandoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
)

// steps checks what no schema can say of the preparation: names, and what they refer to.
func (d documentRules) steps() {
	const at = "flow_control.pre_analysis"
	list, _ := d.t.FlowControl["pre_analysis"].([]any)
	names := map[string]int{}
	outputs := map[string]int{}
	for j, s := range Steps(d.t) {
		here := fmt.Sprintf("%s[%d]", at, j)
		m, _ := list[j].(map[string]any)
		d.checkLine(d.i, here+".step", s.Name, "a name on one line", "step: find_patterns")
		if d.strict && m != nil && len(s.Commands) == 0 {
			d.addFinding("missing-field", here+".command", "is missing", "command, or commands", "nothing",
				`command: "bash(rg auth src)"`)
		}
		if IsProperty(s.OutputTo) {
			d.addFinding("output-to", here+".output_to", "is a property of tasks, and can't be a result too",
				"another name", plain.Quote(s.OutputTo), "output_to: patterns")
		}
		unique := func(seen map[string]int, key, code, field, name, text string) {
			if first, taken := seen[key]; taken {
				d.addFinding(code, here+"."+field, text, "a name of its own",
					fmt.Sprintf("%s, also %s[%d]", plain.Quote(name), at, first), field+": "+plain.Line(name)+"_2")
			} else {
				seen[key] = j
			}
		}
		unique(names, s.Name, "duplicate-step", "step", s.Name, "two steps have the same name")
		if s.OutputTo != "" {
			unique(outputs, strings.ToLower(s.OutputTo), "duplicate-output", "output_to", s.OutputTo,
				"two steps have the same output_to, upper and lower case being the same")
		}
		d.stepReferences(s, j)
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
func (d documentRules) stepReferences(s Step, j int) {
	all := d.outputs(len(Steps(d.t)))
	earlier := d.outputs(j)
	known := func(name string) bool { return all[name] || meantAsReference(name) }
	for _, c := range s.Commands {
		switch c.Form {
		case StepShell:
			for _, ref := range shellRefs(c.Line, known) {
				if d.resolves(c.Path, ref.name, earlier) && ref.wrong != "" {
					d.addFinding("unsafe-reference", c.Path, "["+ref.name+"] "+ref.wrong,
						"an argument of a program that takes it for text; or the variable "+VarName(ref.name)+
							" of the environment", plain.Quote(c.Line[ref.start:ref.end]), "")
				}
			}
		case StepRead, StepSearch, stepFind:
			for _, arg := range c.Args {
				for _, name := range WholeReferences(arg, known) {
					d.resolves(c.Path, name, earlier)
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
		d.addFinding("unresolved-reference", field,
			shown+" stands for nothing: neither the task nor one above it has that",
			expected, "nothing", "")
	case d.outputs(len(Steps(d.t)))[name]:
		d.addFinding("later-output", field, shown+" is the output of this step or of a later one",
			"the output_to of an earlier step", shown, "")
	case underscored.Get().MatchString(name):
		guess := Nearest(name, slices.Sorted(maps.Keys(outputs)))
		if guess != "" {
			guess = "[" + guess + "]"
		}
		d.addFinding("unresolved-reference", field,
			shown+" is no output of an earlier step and no property of the task",
			"the output_to of an earlier step, or a property such as [focus_paths]", shown, guess)
	default:
		return true
	}
	return false
}

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
