package plan

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Config holds a plan's limits, and is the table of them. The tags of a field say its name, its default (none: zero)
// and, where an agent's plan can't widen the limit, whether wider means "more" or "less". schema.json and
// docs/format/records.md list the fields, too; tests hold both against this.
//
//   - MaxLost counts workers in a row that did not come back.
//   - MaxContractRetries is how often an agent may mend a reply that breaks the contract.
//   - Reviewers are those of every CHECK that names none.
//   - TimeoutSeconds is that of one attempt, CheckTimeoutSeconds that of one criterion's run line.
//   - MaxIDLevels is of a task's id: 2 allows IMPL-1.2. There is no limit by default.
//   - TaskDocument is StrictTaskDocument, or nothing.
type Config struct {
	MaxDecompositionDepth      int      `json:"max_decomposition_depth,omitempty" default:"5" wider:"more"`
	OneShotThresholdPersonDays float64  `json:"one_shot_threshold_person_days,omitempty" default:"10" wider:"more"`
	MaxAttempts                int      `json:"max_attempts,omitempty" default:"3" wider:"more"`
	MaxLost                    int      `json:"max_lost,omitempty" default:"20" wider:"more"`
	MinScore                   int      `json:"min_score,omitempty" default:"90" wider:"less"`
	MaxLeafTasks               int      `json:"max_leaf_tasks,omitempty" default:"2000" wider:"more"`
	MaxContractRetries         int      `json:"max_contract_retries,omitempty" default:"2"`
	Quorum                     int      `json:"quorum,omitempty" default:"1" wider:"less"`
	Reviewers                  []string `json:"reviewers,omitempty"`
	TimeoutSeconds             int      `json:"timeout_seconds,omitempty" default:"1800"`
	CheckTimeoutSeconds        int      `json:"check_timeout_seconds,omitempty" default:"600"`
	MaxArtifactBytes           int64    `json:"max_artifact_bytes,omitempty" default:"104857600"`
	MaxArtifactFiles           int      `json:"max_artifact_files,omitempty" default:"10000"`
	MaxIDLevels                int      `json:"max_id_levels,omitempty"`
	TaskDocument               string   `json:"task_document,omitempty"`
}

// limit is a field of Config that is a number.
type limit struct {
	index int
	name  string // in JSON
	usual float64
	wider string
}

var configLimits = sync.OnceValue(func() []limit {
	var all []limit
	for i, t := 0, reflect.TypeFor[Config](); i < t.NumField(); i++ {
		f := t.Field(i)
		if k := f.Type.Kind(); k == reflect.Slice || k == reflect.String {
			continue
		}
		l := limit{index: i, wider: f.Tag.Get("wider")}
		l.name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		if usual := f.Tag.Get("default"); usual != "" {
			var err error
			if l.usual, err = strconv.ParseFloat(usual, 64); err != nil {
				panic("plan: the default of " + l.name + ": " + err.Error())
			}
		}
		all = append(all, l)
	}
	return all
})

// valueIn is the limit's value.
func (l limit) valueIn(c Config) float64 {
	return reflect.ValueOf(c).Field(l.index).Convert(reflect.TypeFor[float64]()).Float()
}

// Numbers gives the limits that are numbers, by their names in JSON.
func (c Config) Numbers() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range configLimits() {
			if !yield(l.name, l.valueIn(c)) {
				return
			}
		}
	}
}

// DefaultConfig gives the limits of a plan that sets none.
func DefaultConfig() Config {
	var c Config
	for _, l := range configLimits() {
		field := reflect.ValueOf(&c).Elem().Field(l.index)
		field.Set(reflect.ValueOf(l.usual).Convert(field.Type()))
	}
	return c
}

// Limits is the plan's Config with the defaults filled in.
func (p *Plan) Limits() Config {
	c := p.Config
	c.OrElse(DefaultConfig())
	return c
}

// OrElse takes from d what c leaves out.
func (c *Config) OrElse(d Config) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		if f := to.Field(i); f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			f.Set(from.Field(i))
		}
	}
}

func (c Config) isZero() bool { return reflect.ValueOf(c).IsZero() }

// Complexity is how much there is to a plan, by its number of tasks and their levels.
type Complexity string

// The complexities, in ascending order.
const (
	simple  Complexity = "simple"  // fewer than 5 tasks, on one level
	medium  Complexity = "medium"  // 5 to 15 tasks, or more than one level
	highest Complexity = "complex" // more than 15 tasks
)

// rank orders the complexities. A word that is none of them comes first.
func (c Complexity) rank() int { return slices.Index([]Complexity{simple, medium, highest}, c) + 1 }

// Valid reports whether c is one of the three.
func (c Complexity) Valid() bool { return c.rank() > 0 }

// Higher is the higher of the two.
func (c Complexity) Higher(o Complexity) Complexity {
	if o.rank() > c.rank() {
		return o
	}
	return c
}

// Highest reports whether no complexity is above c.
func (c Complexity) Highest() bool { return c == highest }

// AssessComplexity is the complexity of the plan as it is: that of its tasks or the one that it was given, whichever is
// higher. Every task counts that makes a deliverable, also an abandoned one: a plan never becomes simpler than it was.
func (p *Plan) AssessComplexity() Complexity {
	return p.Complexity.Higher(p.countedComplexity())
}

func (p *Plan) countedComplexity() Complexity {
	n, below := 0, false
	for _, t := range p.Tasks {
		if t.NodeType == Action && !t.Planning() {
			n++
			below = below || t.ParentTaskID != p.RootTaskID && t.ParentTaskID != ""
		}
	}
	switch {
	case n > 15:
		return highest
	case n >= 5 || below:
		return medium
	}
	return simple
}

// keepComplexity gives the plan that takes the place of base at least the complexity that base had. It is written down
// only where it does not follow from the tasks.
func (p *Plan) keepComplexity(base *Plan) {
	floor := base.Complexity
	if len(base.Grafts) > 0 { // before, base has none of the tasks
		floor = base.AssessComplexity()
	}
	if p.Complexity = p.Complexity.Higher(floor); p.Complexity.rank() <= p.countedComplexity().rank() {
		p.Complexity = ""
	}
}
