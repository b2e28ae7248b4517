package estimate

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// The least and the greatest estimate, in person-days.
const (
	Least = 0.1
	Most  = 100_000
)

// Estimate is the rule's result for one task. Why has a line for each term that counted, with its contribution.
type Estimate struct {
	Days float64  `json:"estimated_person_days"` // at least Least, in tenths
	Why  []string `json:"why"`
}

// tally adds up terms and describes each.
type tally struct {
	days float64
	why  []string
}

// add counts n items with a weight of each; one and many name them.
func (t *tally) add(n int, each float64, one, many string) {
	if n == 0 || each == 0 {
		return
	}
	if n > 1 {
		one = many
	}
	days := float64(n) * each
	t.days += days
	t.why = append(t.why, fmt.Sprintf("%d %s x %s = %s", n, one, number(each), number(days)))
}

// Days is how long a task takes: as its plan says, or else by the rule.
func (w Weights) Days(t *plan.Task) (days float64, assumed bool) {
	if t.EstimatedPersonDays != 0 {
		return t.EstimatedPersonDays, false
	}
	return w.Estimate(t).Days, true
}

// Estimate estimates a leaf ACTION by the weights. A task with one more file or criterion never gets a lower estimate.
func (w Weights) Estimate(t *plan.Task) Estimate {
	var sum tally
	sum.add(1, w.Base, "task", "tasks")
	files, patterns := declared(t.DeliverableSpec)
	sum.add(len(files), w.Files.Each, "file", "files")
	sum.add(patterns, w.Files.Pattern, "pattern of files", "patterns of files")
	text := t.Title + "\n" + t.Description
	w.criteria(&sum, t.AcceptanceCriteria)
	sum.add(len(t.DependsOn), w.Inputs.DependsOn, "task that it depends on", "tasks that it depends on")
	sum.add(requirements(t.Requires), w.Inputs.Requires, "required input", "required inputs")
	sum.add(len(t.Covers), w.Covers, "root criterion that it covers", "root criteria that it covers")
	w.length(&sum, t.Description)
	w.verbs(&sum, text)
	days := math.Round(sum.days*10) / 10
	return Estimate{Days: min(max(days, Least), Most), Why: sum.why}
}

// declared splits a spec into the files that it names, by base name in lower case, and the number of its patterns.
func declared(spec *plan.DeliverableSpec) (files map[string]bool, patterns int) {
	files = map[string]bool{}
	if spec == nil {
		return files, 0
	}
	for _, name := range append([]string{spec.Filename}, spec.Files...) {
		switch {
		case name == "":
		case relpath.IsPattern(name):
			patterns++
		default:
			files[strings.ToLower(path.Clean(name))] = true
		}
	}
	return files, patterns
}

func (w Weights) criteria(sum *tally, all []plan.Criterion) {
	counts := [4]int{}
	for _, c := range all {
		i := 0
		if c.Severity == plan.Should {
			i = 2
		}
		switch {
		case c.Added():
			continue // every change has it, or everything that others are made from
		case c.Manual():
			i++
		}
		counts[i]++
	}
	c := w.Criteria
	sum.add(counts[0], c.MustRun, "MUST with a command", "MUST with a command")
	sum.add(counts[1], c.MustManual, "MUST judged by reading", "MUST judged by reading")
	sum.add(counts[2], c.ShouldRun, "SHOULD with a command", "SHOULD with a command")
	sum.add(counts[3], c.ShouldManual, "SHOULD judged by reading", "SHOULD judged by reading")
}

// requirements counts the files to hand in.
func requirements(all []plan.Requirement) int {
	n := 0
	for _, r := range all {
		n += min(max(r.Count, 1), 1000) // the count comes from others
	}
	return n
}

func (w Weights) length(sum *tally, description string) {
	words := countWords(description)
	days := min(words/100*w.Description.Per100Words, w.Description.Most)
	if days < 0.005 {
		return
	}
	sum.days += days
	sum.why = append(sum.why, fmt.Sprintf("description of %.0f words = %s", words, number(days)))
}

// countWords counts words; a character of a script without spaces is half a word.
func countWords(text string) float64 {
	n, inside := 0.0, false
	for _, r := range text {
		switch {
		case plain.Ideograph(r):
			n, inside = n+0.5, false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !inside {
				n++
			}
			inside = true
		default:
			inside = false
		}
	}
	return n
}

func (w Weights) verbs(sum *tally, text string) {
	best, word := Verbs{}, ""
	for _, v := range w.Verbs {
		i := slices.IndexFunc(v.Words, func(word string) bool { return plain.WordAt(text, word) >= 0 })
		if i >= 0 && v.Factor > best.Factor {
			best, word = v, v.Words[i]
		}
	}
	if word == "" || best.Factor == 1 {
		return
	}
	before := sum.days
	sum.days *= best.Factor
	sum.why = append(sum.why, fmt.Sprintf("work of the kind %s (%q) x %s = %s", plain.Line(best.Name), word,
		number(best.Factor), signed(sum.days-before)))
}

// number formats person-days with at most two decimals.
func number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

func signed(v float64) string {
	if v >= 0 {
		return "+" + number(v)
	}
	return number(v)
}
