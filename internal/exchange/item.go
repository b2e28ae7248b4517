package exchange

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/relpath"
)

// item is a task as a source has it. References are ids of the source.
type item struct {
	source      string   // its id there; unique, but for items that are reported and left out
	wish        string   // the id it would like to have here, "" for any
	parent      string   // "" for none
	deps        []string // what must be done before
	soft        []string // of these, what only the order of the source says
	title       string
	description string
	criteria    []criterion
	files       []string // paths in the repository that it makes or changes
	days        float64  // person-days, zero if the source says nothing
	agent       string
	state       state
	word        string // the status as the source writes it
	loose       bool   // references that lead nowhere are no surprise

	meta, context, flow map[string]any // of ccw, as they are
	fields              map[string]any // what else the source has
	summary             string         // what was written when it was done
	file                string
	line                int
}

type criterion struct {
	text   string
	should bool
}

// state is what a status word of a source comes down to.
type state string

const (
	todo      state = "todo"
	doing     state = "doing"
	done      state = "done"
	cancelled state = "cancelled"
)

var stateWords = map[string]state{
	"completed": done, "complete": done, "done": done, "closed": done, "verified": done, "finished": done,
	"resolved": done, "x": done, "approved": done, "merged": done, "validated": done,
	"active": doing, "in-progress": doing, "in progress": doing, "inprogress": doing, "doing": doing, "review": doing,
	"in-review": doing, "started": doing, "hooked": doing,
	"cancelled": cancelled, "canceled": cancelled, "wontfix": cancelled, "skipped": cancelled, "obsolete": cancelled,
	"not_planned": cancelled,
}

// stateOf returns the state that a word means; an unknown word means todo.
func stateOf(word string) state {
	w := strings.ToLower(strings.TrimSpace(word))
	if s, ok := stateWords[w]; ok {
		return s
	}
	if s, ok := stateWords[strings.ReplaceAll(w, "_", "-")]; ok {
		return s
	}
	return todo
}

var boxMark = pattern.Compile(`^\[[ xX~/>-]\]\s+`)

// pathWord is what looks like a path in text: a directory or more and a file with an extension.
var pathWord = pattern.Compile("(?:^|[\\s`'\"(\\[,，（「])((?:\\.{0,2}/)?(?:[\\p{L}\\p{N}_.@+~-]+/)*[\\p{L}\\p{N}_.@+~-]+\\.[A-Za-z][A-Za-z0-9]{0,9})(?:[\\s`'\"),.;:，。、）」\\]]|$)")

// pathsIn are the paths that a text names: what has a directory, or stands in backticks.
func pathsIn(text string) []string {
	var out []string
	for at := 0; at < len(text); {
		m := pathWord.Get().FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		word := text[at+m[2] : at+m[3]]
		quoted := m[2] > 0 && text[at+m[2]-1] == '`'
		at += m[3]
		if p := repositoryPath(word); p != "" && (quoted || strings.Contains(p, "/")) && !strings.Contains(p, "...") {
			out = appendNew(out, p)
		}
	}
	return out
}

// repositoryPath is what a source calls a file, as a path or a pattern that a deliverable may have; "" if it can't be
// one. Places in the file ("login.ts:handle:75-120") and remarks ("(new)") are cut off.
func repositoryPath(s string) string {
	s = strings.TrimSpace(strings.Trim(strings.TrimSpace(s), "`'\""))
	if before, _, found := strings.Cut(s, " ("); found {
		s = before
	}
	if before, _, found := strings.Cut(s, " - "); found {
		s = before
	}
	if before, _, found := strings.Cut(s, ":"); found {
		s = before
	}
	s = strings.TrimSpace(s)
	for strings.HasPrefix(s, "./") {
		s = s[2:]
	}
	if strings.ContainsAny(s, "[]{}") { // which mean something else in a pattern
		parts := strings.Split(s, "/")
		for i, part := range parts {
			if strings.ContainsAny(part, "[]{}") {
				parts[i] = "*"
			}
		}
		s = strings.Join(parts, "/")
	}
	if dir, isDir := strings.CutSuffix(s, "/"); isDir && dir != "" {
		s = dir + "/**"
	}
	if s == "" || relpath.CheckPattern(s) != nil {
		return ""
	}
	return s
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
