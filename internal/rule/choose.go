package rule

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

// Budget is how many characters of rules a piece of work is told, unless it says otherwise.
const Budget = 8000

// maxText is how much of one text is searched for words, in bytes.
const maxText = 64 << 10

var stopWords = strings.Fields(`a about after all also an and any are as at be been before but by can could did do
	does done each for found from get had has have how if in into is it its just learned make may more most must
	never new no not now of on one only or our out over should so some such than that the their them then there
	these they this to up us use was we were what when where which while who why will with would you your`)

// Words are the words of texts by which rules are found: lower case, without stop words, numbers and single characters.
// What separates no words, such as Chinese, counts as a whole and in pairs of characters.
func Words(texts ...string) map[string]bool {
	words := map[string]bool{}
	for _, text := range texts {
		for _, run := range runs(text) {
			words[run] = true
			for _, pair := range pairs(run) {
				words[pair] = true
			}
		}
	}
	return words
}

// runs are the words of a text, and its runs of characters without words.
func runs(text string) (all []string) {
	var run []rune
	end := func() {
		word := string(run)
		number := !slices.ContainsFunc(run, unicode.IsLetter)
		if len(run) > 1 && !number && !slices.Contains(stopWords, word) {
			all = append(all, word)
		}
		run = nil
	}
	for _, r := range strings.ToLower(text[:min(len(text), maxText)]) {
		same := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if !same || len(run) > 0 && joined(r) != joined(run[0]) {
			end()
		}
		if same {
			run = append(run, r)
		}
	}
	end()
	return all
}

// joined reports whether a character is of a script that separates no words.
func joined(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// pairs are the pairs of characters of a run without words; none of a word.
func pairs(run string) (all []string) {
	r := []rune(run)
	for i := 0; i+1 < len(r) && joined(r[0]); i++ {
		all = append(all, string(r[i:i+2]))
	}
	return all
}

// fits reports whether all words of one of the rule's keywords are there.
func (r Rule) fits(words map[string]bool) bool {
	return slices.ContainsFunc(r.Keywords, func(keyword string) bool {
		terms := runs(keyword)
		return len(terms) > 0 && !slices.ContainsFunc(terms, func(term string) bool {
			all := cmp.Or(strings.Join(pairs(term), " "), term)
			return slices.ContainsFunc(strings.Fields(all), func(w string) bool { return !words[w] })
		})
	})
}

// Dropped is a rule that fits and is left out, and why.
type Dropped struct {
	Rule Rule   `json:"rule"`
	Why  string `json:"why"`
}

// Choose chooses what a piece of work of a stage, "" for all of them, with these words is told, the most binding first:
// what is required, then what has a keyword of it; of these the project's before what is personal, by priority. Whole
// rules are left out, the least binding first, until no more than budget characters are left. One that has more on its
// own is left out alone.
func Choose(rules []Rule, stage string, words map[string]bool, budget int) (chosen []Rule, dropped []Dropped) {
	left := budget
	for _, r := range slices.SortedStableFunc(slices.Values(rules), binding) {
		switch n := r.size(); {
		case stage != "" && r.Category != General && r.Category != stage, r.ReadMode != Required && !r.fits(words):
		case n > budget:
			why := fmt.Sprintf("it has %s, more than the budget of %d", plain.Count(n, "character"), budget)
			dropped = append(dropped, Dropped{r, why})
		case n > left:
			dropped = append(dropped, Dropped{r, fmt.Sprintf("to keep within %d characters", budget)})
			left = 0
		default:
			chosen, left = append(chosen, r), left-n
		}
	}
	return chosen, dropped
}

// binding orders rules, the most binding first: "required" is after "optional" in the alphabet, as "specs" is after
// "personal".
func binding(a, b Rule) int {
	return cmp.Or(cmp.Compare(b.ReadMode, a.ReadMode), cmp.Compare(b.Dimension, a.Dimension),
		slices.Index(priorities, a.Priority)-slices.Index(priorities, b.Priority))
}

var priorities = []string{"critical", "high", "medium", "low"}

func (r Rule) size() int { return utf8.RuneCountInString(r.Text) }

// Finding is what is wrong with a rule, or with several together.
type Finding struct {
	Code string `json:"code"`
	Rule string `json:"rule,omitempty"` // its id
	Text string `json:"text"`
}

// Check says what is wrong with rules that are each valid.
func Check(rules []Rule, budget int) (all []Finding) {
	find := func(code string, r Rule, format string, args ...any) {
		all = append(all, Finding{code, r.ID, fmt.Sprintf(format, args...)})
	}
	for i, r := range rules {
		if j := slices.IndexFunc(rules[:i], r.Replaces); j >= 0 {
			find("duplicate-title", r, "has the title of %s, %s", rules[j].ID, r.Title)
		}
		if n := r.size(); n > budget {
			find("too-long", r, "has %s, more than the budget of %d: nobody is told it", plain.Count(n, "character"),
				budget)
		}
		for _, keyword := range r.Keywords {
			if len(runs(keyword)) == 0 {
				find("dead-keyword", r, "the keyword %s can't match: it has no word that counts", plain.Quote(keyword))
			}
		}
		if len(r.Keywords) == 0 && r.ReadMode != Required {
			find("no-keywords", r, "is optional and has no keywords, so nobody is told it")
		}
		for line := range strings.Lines(r.Text) {
			if word := plandoc.Vague(line); word != "" {
				find("vague", r, "says %s, which nobody can judge: %s", plain.Quote(word), strings.TrimSpace(line))
			}
		}
	}
	for _, stage := range []string{Exploration, Planning, Execution} {
		sum := 0
		for _, r := range rules {
			if r.ReadMode == Required && (r.Category == General || r.Category == stage) {
				sum += r.size()
			}
		}
		if sum > budget {
			find("over-budget", Rule{}, "what is required of %s has %s, more than the budget of %d", stage,
				plain.Count(sum, "character"), budget)
		}
	}
	return all
}
