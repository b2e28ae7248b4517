package plandoc

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Type is what a kind of plan begins with. It is data: templates/types/<name>.yaml.
type Type struct {
	Name   string      `yaml:"name"`
	About  string      `yaml:"about"` // one line, for people
	Config plan.Config `yaml:"-"`     // where the plan itself sets nothing; read from config
	// what meta.type of a task may be; none: anything. The first one is that of a task which says nothing
	Kinds   []string          `yaml:"kinds"`
	Before  []before          `yaml:"before"`
	RunLine []string          `yaml:"run_line"` // tasks of these kinds have a MUST criterion with a run line
	Prompts map[string]string `yaml:"prompts"`  // added to the prompts of the roles plan, action and check
}

// before demands that each task of some kinds depends, directly or not, on one of others.
type before struct {
	Each  []string `yaml:"each"`
	Needs []string `yaml:"needs"`
}

// kind is what meta.type says that a task is.
func (y Type) kind(t *plan.Task) string {
	if kind := t.MetaType(); kind != "" || len(y.Kinds) == 0 {
		return kind
	}
	return y.Kinds[0]
}

// Check finds where a plan is not one of its type. Paths count the tasks of the plan.
func (y Type) Check(p *plan.Plan) plan.Findings {
	v := indexed(p)
	for i, t := range p.Tasks {
		if t.NodeType != plan.Action || t.Planning() {
			continue
		}
		kind := y.kind(t)
		if len(y.Kinds) > 0 && !slices.Contains(y.Kinds, kind) {
			v.add(i, "kind-of-task", "meta.type", "a plan of the type "+y.Name+" has no such tasks",
				strings.Join(y.Kinds, ", "), plain.Quote(kind), "meta: {type: "+y.Kinds[0]+"}")
			continue
		}
		for _, b := range y.Before {
			if needed := strings.Join(b.Needs, " or "); slices.Contains(b.Each, kind) && !y.reaches(v, i, b.Needs) {
				v.add(i, "nothing-before", "depends_on",
					fmt.Sprintf("in a plan of the type %s, a task of the kind %s comes after one of the kind %s",
						y.Name, kind, needed),
					"depends_on a task with meta.type "+needed, "none", "depends_on: [TEST-1]")
			}
		}
		if slices.Contains(y.RunLine, kind) && !slices.ContainsFunc(t.AcceptanceCriteria, func(c plan.Criterion) bool {
			return c.Severity == plan.Must && c.Run != ""
		}) {
			v.add(i, "no-run-line", "acceptance_criteria",
				fmt.Sprintf("in a plan of the type %s, a command decides whether a task of the kind %s is done",
					y.Name, kind),
				"a MUST criterion with a run line, which fails until the work is done", "none", "run: sh check.sh")
		}
	}
	return v.fs.Capped()
}

// reaches reports whether a task depends, directly or not, on one of some kinds.
func (y Type) reaches(v *validator, i int, kinds []string) bool {
	return slices.ContainsFunc(v.reach(v.waitsFor(i), v.waitsFor), func(j int) bool {
		d := v.plan.Tasks[j]
		return j != i && d.NodeType == plan.Action && slices.Contains(kinds, y.kind(d))
	})
}

// Begin gives a plan its type, and what the type sets where the plan sets nothing.
func (y Type) Begin(p *plan.Plan) {
	p.PlanType = y.Name
	p.Config.OrElse(y.Config)
}
