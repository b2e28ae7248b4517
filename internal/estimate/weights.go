package estimate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plain"
)

// File is the name of the weights file among the templates.
const File = "estimate.yaml"

// Weights says how many person-days each part of a task stands for; ParseWeights reads the table.
type Weights struct {
	Base  float64 `yaml:"base"` // for any task
	Files struct {
		Each    float64 `yaml:"each"`    // for each file of the spec
		Pattern float64 `yaml:"pattern"` // for each glob pattern of the spec
	} `yaml:"files"`
	Criteria struct { // by its severity and by who judges it
		MustRun      float64 `yaml:"must_run"`
		MustManual   float64 `yaml:"must_manual"`
		ShouldRun    float64 `yaml:"should_run"`
		ShouldManual float64 `yaml:"should_manual"`
	} `yaml:"criteria"`
	Inputs struct { // what the task starts from
		DependsOn float64 `yaml:"depends_on"`
		Requires  float64 `yaml:"requires"`
	} `yaml:"inputs"`
	Covers      float64 `yaml:"covers"` // for each root criterion that the task names
	Description struct {
		Per100Words float64 `yaml:"per_100_words"`
		Most        float64 `yaml:"most"`
	} `yaml:"description"`
	Verbs []Verbs `yaml:"verbs"`
}

// Verbs is a kind of work: the words that identify it, and the factor for the sum of everything else.
type Verbs struct {
	Name   string   `yaml:"name"`
	Factor float64  `yaml:"factor"`
	Words  []string `yaml:"words"` // in lower case
}

// maxWeight is the largest weight, in person-days, and the largest factor.
const maxWeight = 1000

// ParseWeights reads a table of weights in YAML or JSON. A missing key keeps its value from base, so a user's file
// needs only what differs. Errors begin with the file's name.
func ParseWeights(name string, data []byte, base Weights) (Weights, error) {
	w := base
	err := document.ReadSettings(name, data, &w)
	if err == nil && w.check() != nil {
		err = fmt.Errorf("%s: %w", name, w.check())
	}
	if err != nil {
		return Weights{}, errors.New(plain.Line(err.Error()))
	}
	for i, v := range w.Verbs {
		for j, word := range v.Words {
			w.Verbs[i].Words[j] = strings.ToLower(strings.TrimSpace(word))
		}
	}
	return w, nil
}

// check finds the first weight that no estimate can use.
func (w Weights) check() error {
	all := map[string]float64{
		"base": w.Base, "files.each": w.Files.Each, "files.pattern": w.Files.Pattern,
		"criteria.must_run": w.Criteria.MustRun, "criteria.must_manual": w.Criteria.MustManual,
		"criteria.should_run": w.Criteria.ShouldRun, "criteria.should_manual": w.Criteria.ShouldManual,
		"inputs.depends_on": w.Inputs.DependsOn, "inputs.requires": w.Inputs.Requires, "covers": w.Covers,
		"description.per_100_words": w.Description.Per100Words, "description.most": w.Description.Most,
	}
	for i, v := range w.Verbs {
		at := fmt.Sprintf("verbs[%d]", i)
		all[at+".factor"] = v.Factor
		if v.Name == "" || v.Factor == 0 || len(v.Words) == 0 {
			return fmt.Errorf("%s: a group needs a name, a factor above 0 and words", at)
		}
		if j := slices.IndexFunc(v.Words, func(word string) bool { return strings.TrimSpace(word) == "" }); j >= 0 {
			return fmt.Errorf("%s.words[%d]: is empty", at, j)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if v := all[key]; !(v >= 0 && v <= maxWeight) {
			return fmt.Errorf("%s: expected a number from 0 to %d, found %v", key, maxWeight, v)
		}
	}
	return nil
}
