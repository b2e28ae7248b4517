package agent

import (
	"path"
	"slices"
	"strings"

	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// pattern is a declared path: literal components (the spec's output_dir), then a pattern of internal/glob.
type pattern struct {
	dir      []string
	glob     string
	optional bool // nothing need match
}

// patternsOf returns the paths that a spec declares, at least one.
func patternsOf(spec *plan.DeliverableSpec) ([]pattern, error) {
	names := slices.Clone(spec.Files)
	if spec.Filename != "" {
		names = append([]string{spec.Filename}, names...)
	}
	dir := components(spec.OutputDir)
	if len(names) == 0 {
		return []pattern{{dir: dir, glob: "**", optional: true}}, nil
	}
	var patterns []pattern
	for _, n := range names {
		p := pattern{dir: dir, glob: path.Clean(n)}
		if err := glob.Check(p.glob); err != nil {
			return nil, &CollectError{Path: n, Rule: RulePattern, Want: "a pattern of names, * ? [a-z] and **",
				Got: err.Error()}
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

func (p pattern) String() string { return path.Join(append(slices.Clone(p.dir), p.glob)...) }

// match reports whether the pattern stands for the file.
func (p pattern) match(file string) bool {
	names := strings.Split(file, "/")
	if len(names) <= len(p.dir) || !slices.Equal(names[:len(p.dir)], p.dir) {
		return false
	}
	return glob.Match(p.glob, strings.Join(names[len(p.dir):], "/"))
}

// describe lists the declared patterns for a message.
func describe(patterns []pattern) string {
	return "what is declared: " + strings.Join(plain.Some(patterns, 5, pattern.String), ", ")
}
