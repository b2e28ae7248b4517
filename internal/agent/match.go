package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// pattern is a declared path: literal components (the spec's output_dir), then components in the syntax of path.Match,
// where "**" stands for any number of components, none included. Alternatives in braces are not known.
type pattern struct {
	dir      []string
	glob     []string
	optional bool // nothing need match
}

// patternsOf gives the paths that a spec declares, at least one.
func patternsOf(spec *plan.DeliverableSpec) ([]pattern, error) {
	names := slices.Clone(spec.Files)
	if spec.Filename != "" {
		names = append([]string{spec.Filename}, names...)
	}
	dir := components(spec.OutputDir)
	if len(names) == 0 {
		return []pattern{{dir: dir, glob: []string{"**"}, optional: true}}, nil
	}
	var patterns []pattern
	for _, n := range names {
		p := pattern{dir: dir, glob: components(n)}
		for _, g := range p.glob {
			if _, err := path.Match(g, ""); err != nil {
				return nil, &CollectError{Path: n, Rule: RulePattern, Want: "a pattern of names, * ? [a-z] and **", Got: err.Error()}
			}
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// components splits a path; the root of the artifact has none.
func components(p string) []string {
	p = path.Clean(p)
	if p == "." || p == "/" {
		return nil
	}
	return strings.Split(p, "/")
}

func (p pattern) String() string { return path.Join(append(slices.Clone(p.dir), p.glob...)...) }

// match reports whether the pattern stands for the file.
func (p pattern) match(file string) bool {
	names := strings.Split(file, "/")
	if len(names) <= len(p.dir) || !slices.Equal(names[:len(p.dir)], p.dir) {
		return false
	}
	return matchAll(p.glob, names[len(p.dir):])
}

// matchAll compares from the end: reachable[j] says whether the patterns seen so far can stand for names[j:]. That
// takes patterns times names steps at most, however many "**" there are.
func matchAll(globs, names []string) bool {
	reachable := make([]bool, len(names)+1)
	reachable[len(names)] = true
	for i := len(globs) - 1; i >= 0; i-- {
		next := make([]bool, len(names)+1)
		for j := len(names); j >= 0; j-- {
			if globs[i] == "**" {
				next[j] = reachable[j] || j < len(names) && next[j+1]
			} else if j < len(names) && reachable[j+1] {
				next[j], _ = path.Match(globs[i], names[j])
			}
		}
		reachable = next
	}
	return reachable[0]
}

// describe says in a message what is declared.
func describe(patterns []pattern) string {
	const most = 5
	var names []string
	for i, p := range patterns {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(patterns)-most))
			break
		}
		names = append(names, p.String())
	}
	return "what is declared: " + strings.Join(names, ", ")
}
