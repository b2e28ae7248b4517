package agent

import (
	"path"
	"slices"
	"strings"

	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// pattern is a declared path: the spec's output_dir, "" for the root of the artifact, then a pattern of internal/glob.
type pattern struct {
	dir      string
	glob     string
	optional bool // nothing need match
}

// patternsOf returns the paths that a spec declares, at least one.
func patternsOf(spec *plan.DeliverableSpec) ([]pattern, error) {
	names := slices.Clone(spec.Files)
	if spec.Filename != "" {
		names = append([]string{spec.Filename}, names...)
	}
	dir := path.Clean(spec.OutputDir)
	if dir == "." || dir == "/" {
		dir = ""
	}
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

func (p pattern) String() string { return path.Join(p.dir, p.glob) }

// match reports whether the pattern stands for the file.
func (p pattern) match(file string) bool {
	below, inside := file, true
	if p.dir != "" {
		below, inside = strings.CutPrefix(file, p.dir+"/")
	}
	return inside && glob.Match(p.glob, below)
}

// describe lists the declared patterns for a message.
func describe(patterns []pattern) string {
	return "what is declared: " + strings.Join(plain.Some(patterns, 5, pattern.String), ", ")
}
