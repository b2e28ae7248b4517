package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plandoc"
)

// Guide says for which sentences a workflow is, and which workflows may follow it.
type Guide struct {
	Route []pointRule `json:"route"`
	Then  []string    `json:"then"`
}

// Guides reads those of the program's workflows, by name, and of Free: templates.Routes.
func Guides(data []byte) (all map[string]Guide) {
	root, err := plandoc.ReadTree("routes.yaml", data, "table of workflows", MaxFileBytes)
	if err == nil {
		err = decode(root, &all)
	}
	if err != nil {
		panic("workflow: " + err.Error())
	}
	return all
}

// hasWord reports whether a sentence in lower case has a word, as plain.WordAt says. It begins with ^word; word$ is
// no part of a longer one.
func hasWord(sentence, word string) bool {
	word, begins := strings.CutPrefix(word, "^")
	word, whole := strings.CutSuffix(word, "$")
	for from := 0; ; {
		at := plain.WordAt(sentence[from:], word)
		if at < 0 || begins && from+at > 0 {
			return false
		}
		from = min(from+at+len(word), len(sentence))
		next, _ := utf8.DecodeRuneInString(sentence[from:])
		if !whole || !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
	}
}

// Free is no workflow: the plan is made from the sentence alone.
const Free = "none"

// Candidate is a workflow, or Free, with the points that a sentence gives it.
type Candidate struct {
	Name   string
	Points int
	Why    []string // the words and facts, each with its points
}

// Candidate is what a sentence and facts give the workflow with this name. Free begins with a point.
func (g Guide) Candidate(name, sentence string, facts map[string]bool) Candidate {
	c := Candidate{Name: name}
	if name == Free {
		c.Points = 1
	}
	sentence = strings.ToLower(strings.TrimSpace(sentence))
	for _, r := range g.Route {
		why := r.Fact
		if i := slices.IndexFunc(r.Words, func(word string) bool { return hasWord(sentence, word) }); i >= 0 {
			why = strings.Trim(r.Words[i], "^$")
		} else if !facts[r.Fact] {
			continue
		}
		c.Points += r.Add
		c.Why = append(c.Why, fmt.Sprintf("%s %d", why, r.Add))
	}
	return c
}

// String says how many points it has, and what for.
func (c Candidate) String() string {
	text := c.Name + ": " + plain.Count(c.Points, "point")
	if len(c.Why) > 0 {
		text += " (" + strings.Join(c.Why, ", ") + ")"
	}
	return text
}

// margin is by how many points the best must be ahead; fewer points than that say nothing.
const margin = 2

// Choose sorts the candidates, the most points first, and says how many of them a sentence may mean: of several only
// the user knows. What has no more points than Free is out.
func Choose(all []Candidate) (close int) {
	each.Sort(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points),
			cmp.Compare(strings.TrimPrefix(a.Name, Free), strings.TrimPrefix(b.Name, Free)))
	})
	if all[0].Points < margin {
		return 1
	}
	for close < len(all) && all[close].Points > all[0].Points-margin {
		if close++; all[close-1].Name == Free {
			break
		}
	}
	return close
}
