package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// AssignFile is the name of the table's file among the templates.
const AssignFile = "assign.yaml"

// Assignment says which agent does a task that names none, by the task's kind and the words of its title.
type Assignment struct {
	Rules []AssignRule // the first that fits and whose agent is set up wins
}

// AssignRule is one row of the table and what it matches.
type AssignRule struct {
	Name       string   `yaml:"name"`
	Agent      string   `yaml:"agent"`
	Types      []string `yaml:"types"`       // of meta.type, whatever the title says
	Words      []string `yaml:"words"`       // of the title; among several rules, the one whose word comes first wins
	OtherTypes []string `yaml:"other_types"` // of meta.type, if no word decides
	Checks     bool     `yaml:"checks"`      // every CHECK
}

const maxAssignRules = 1000

// ParseAssignment reads the table, in YAML or JSON. Errors begin with the file's name.
func ParseAssignment(name string, data []byte) (Assignment, error) {
	var doc struct {
		Rules []AssignRule `yaml:"rules"`
	}
	if err := document.ReadSettings(name, data, &doc); err != nil {
		return Assignment{}, errors.New(plain.Line(err.Error()))
	}
	if len(doc.Rules) > maxAssignRules {
		return Assignment{}, fmt.Errorf("%s: %d rules; at most %d are allowed", name, len(doc.Rules), maxAssignRules)
	}
	for i, r := range doc.Rules {
		if r.Agent == "" || plain.Line(r.Agent) != r.Agent {
			return Assignment{}, fmt.Errorf("%s: rules[%d].agent: expected the name of an agent, found %s", name, i,
				visible(r.Agent))
		}
		if len(r.Types)+len(r.Words)+len(r.OtherTypes) == 0 && !r.Checks {
			return Assignment{}, fmt.Errorf("%s: rules[%d]: fits no task; expected types, words, other_types or "+
				"checks: true",
				name, i)
		}
		for j, w := range r.Words {
			if strings.TrimSpace(w) == "" {
				return Assignment{}, fmt.Errorf("%s: rules[%d].words[%d]: is empty", name, i, j)
			}
		}
	}
	return Assignment(doc), nil
}

// Of returns the agent for a task, by the rules whose agent is there (set up); "" if none fits.
func (a Assignment) Of(t *plan.Task, there func(name string) bool) string {
	able := each.If(a.Rules, func(r AssignRule) bool { return there(r.Agent) })
	first := func(fits func(AssignRule) bool) string {
		if i := slices.IndexFunc(able, fits); i >= 0 {
			return able[i].Agent
		}
		return ""
	}
	if t.NodeType != plan.Action {
		return first(func(r AssignRule) bool { return r.Checks && t.NodeType == plan.Check })
	}
	if name := first(func(r AssignRule) bool { return slices.Contains(r.Types, t.MetaType()) }); name != "" {
		return name
	}
	best, at := "", len(t.Title)
	for _, r := range able {
		if i := wordAt(t.Title, r.Words); i >= 0 && i < at {
			best, at = r.Agent, i
		}
	}
	if best != "" {
		return best
	}
	return first(func(r AssignRule) bool { return slices.Contains(r.OtherTypes, t.MetaType()) })
}

// wordAt is the position of the first of the words in a title, -1 if there is none.
func wordAt(title string, words []string) int {
	at := -1
	for _, w := range words {
		if i := plain.WordAt(title, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}
