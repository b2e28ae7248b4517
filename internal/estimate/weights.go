package estimate

import (
	"errors"
	"fmt"
	"math"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// File is the name of the weights file among the templates.
const File = "estimate.yaml"

// Weights says how many person-days each part of a task stands for. The zero value weighs nothing; ParseWeights reads
// the table.
type Weights struct {
	Base        float64 // for any task
	Files       FileWeights
	Criteria    CriterionWeights
	Inputs      InputWeights
	Covers      float64 // for each root criterion that the task names
	Description DescriptionWeights
	Verbs       []Verbs
}

// FileWeights weights what a task makes.
type FileWeights struct {
	Each    float64 // for each file of the spec
	Pattern float64 // for each glob pattern of the spec
	Named   float64 // for each file or module that only the text names
}

// CriterionWeights weights a criterion by its severity and by who judges it.
type CriterionWeights struct{ MustRun, MustManual, ShouldRun, ShouldManual float64 }

// InputWeights weights what a task starts from.
type InputWeights struct{ DependsOn, Requires float64 }

// DescriptionWeights weights the length of a description, up to Most.
type DescriptionWeights struct{ Per100Words, Most float64 }

// Verbs is a kind of work: the words that identify it, and the factor for the sum of everything else.
type Verbs struct {
	Name   string
	Factor float64
	Words  []string // in lower case
}

// WeightsError says which key of which file is not valid.
type WeightsError struct {
	File    string
	Line    int    // 0 for the file as a whole
	Key     string // such as criteria.must_run; "" for the file as a whole
	Problem string
}

func (e *WeightsError) Error() string {
	where := plan.OneLine(e.File)
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, e.Line)
	}
	if e.Key != "" {
		where += ": " + plan.OneLine(e.Key)
	}
	return where + ": " + plan.OneLine(e.Problem)
}

// Limits of a weights file.
const (
	maxWeightsBytes = 1 << 20
	maxWeight       = 1000 // person-days, or a factor
	maxVerbs        = 100
	maxWords        = 1000 // in one group
)

// ParseWeights reads a table of weights in YAML or JSON. A missing key keeps its value from base, so a user's file
// needs only what differs. Errors are *WeightsError and call the file name.
func ParseWeights(name string, data []byte, base Weights) (Weights, error) {
	if len(data) > maxWeightsBytes {
		return Weights{}, &WeightsError{File: name, Problem: fmt.Sprintf("%d bytes; a table of weights has at most %d",
			len(data), maxWeightsBytes)}
	}
	var f *document.Fault
	root, err := document.ParseYAML(data, document.Limits{Depth: 10, Values: 200_000, Fields: 100})
	if errors.As(err, &f) {
		if f.Problem == document.Empty {
			return base, nil
		}
		return Weights{}, &WeightsError{File: name, Line: f.Line, Problem: f.Text()}
	} else if err != nil {
		return Weights{}, &WeightsError{File: name, Problem: err.Error()}
	}
	w := base
	r := reader{file: name}
	r.object(root, "", map[string]func(*document.Node, string){
		"base":   r.weight(&w.Base),
		"covers": r.weight(&w.Covers),
		"files":  r.weights(map[string]*float64{"each": &w.Files.Each, "pattern": &w.Files.Pattern, "named": &w.Files.Named}),
		"criteria": r.weights(map[string]*float64{
			"must_run": &w.Criteria.MustRun, "must_manual": &w.Criteria.MustManual,
			"should_run": &w.Criteria.ShouldRun, "should_manual": &w.Criteria.ShouldManual,
		}),
		"inputs": r.weights(map[string]*float64{"depends_on": &w.Inputs.DependsOn, "requires": &w.Inputs.Requires}),
		"description": r.weights(map[string]*float64{"per_100_words": &w.Description.Per100Words,
			"most": &w.Description.Most}),
		"verbs": func(n *document.Node, key string) { w.Verbs = r.verbs(n, key) },
	})
	if r.err == nil && w.Files.Named > w.Files.Each {
		// Otherwise declaring a file that the text already names would lower the estimate.
		r.err = &WeightsError{File: name, Key: "files.named", Problem: fmt.Sprintf("%s is more than files.each, %s",
			number(w.Files.Named), number(w.Files.Each))}
	}
	if r.err != nil {
		return Weights{}, r.err
	}
	return w, nil
}

// usable says why a number can't be a weight, "" if it can.
func usable(v float64) string {
	if math.IsNaN(v) || v < 0 || v > maxWeight {
		return fmt.Sprintf("expected a number from 0 to %d", maxWeight)
	}
	return ""
}
