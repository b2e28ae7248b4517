package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Point is what a word of a sentence, or a fact, gives.
type Point struct {
	Why string // the word, or the fact
	Add int
}

// Points are those that a sentence gets.
func (g Guide) Points(sentence string, facts map[string]bool) (all []Point) {
	sentence = strings.ToLower(strings.TrimSpace(sentence))
	for _, r := range g.Route {
		i := slices.IndexFunc(r.Words, func(word string) bool { return hasWord(sentence, word) })
		if i >= 0 {
			all = append(all, Point{r.Words[i], r.Add})
		} else if r.Fact != "" && facts[r.Fact] {
			all = append(all, Point{r.Fact, r.Add})
		}
	}
	return all
}

// hasWord reports whether a sentence in lower case has a word, as WordAt says. It begins with ^word; word$ is no part
// of a longer one.
func hasWord(sentence, word string) bool {
	word, begins := strings.CutPrefix(word, "^")
	word, whole := strings.CutSuffix(word, "$")
	for from := 0; ; {
		at := WordAt(sentence[from:], word)
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
	Points []Point
}

// margin is by how many points the best must be ahead; fewer points than that say nothing.
const margin = 2

// Sum is how many points it has. Free begins with one.
func (c Candidate) Sum() (sum int) {
	if c.Name == Free {
		sum = 1
	}
	for _, p := range c.Points {
		sum += p.Add
	}
	return sum
}

// String says how many points it has, and what for.
func (c Candidate) String() string {
	why := plain.Some(c.Points, len(c.Points), func(p Point) string {
		return fmt.Sprintf("%s %d", strings.Trim(p.Why, "^$"), p.Add)
	})
	text := c.Name + ": " + plain.Count(c.Sum(), "point")
	if len(why) > 0 {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	return text
}

// Choose sorts the candidates, the most points first, and says how many of them a sentence may mean: of several only
// the user knows. What has no more points than Free is out.
func Choose(all []Candidate) (close int) {
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Sum(), a.Sum()),
			cmp.Compare(strings.TrimPrefix(a.Name, Free), strings.TrimPrefix(b.Name, Free)))
	})
	if len(all) == 0 || all[0].Name == Free || all[0].Sum() < margin {
		return min(len(all), 1)
	}
	for close < len(all) && all[close].Sum() > all[0].Sum()-margin {
		if close++; all[close-1].Name == Free {
			break
		}
	}
	return close
}
