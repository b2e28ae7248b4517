package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plandoc"
)

// Budget is how many characters of rules a piece of work is told, unless it says otherwise.
const Budget = 8000

// maxText is how much of texts is searched for words, in bytes.
const maxText = 256 << 10

var stopWords = strings.Fields(`a about after all also an and any are as at be been before but by can could did do
	does done each for found from get had has have how if in into is it its just learned make may more most must
	never new no not now of on one only or our out over should so some such than that the their them then there
	these they this to up us use was we were what when where which while who why will with would you your`)

// unspaced is a run of scripts that separate no words.
var unspaced = pattern.Compile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]+`)

// split parts a text into words of lower case. What separates no words, such as Chinese, becomes pairs of characters.
func split(text string) []string {
	text = strings.ToLower(text[:min(len(text), maxText)])
	text = unspaced.Get().ReplaceAllStringFunc(text, func(run string) string {
		var pairs strings.Builder
		chars := []rune(run)
		for i := range chars[1:] {
			pairs.WriteString(" " + string(chars[i:i+2]))
		}
		return pairs.String() + " "
	})
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// telling are the words of a text without stop words, numbers and single characters.
func telling(text string) []string {
	return slices.DeleteFunc(split(text), func(word string) bool {
		return utf8.RuneCountInString(word) < 2 || !strings.ContainsFunc(word, unicode.IsLetter) ||
			slices.Contains(stopWords, word)
	})
}

// Words are the words of texts by which rules are found.
func Words(texts ...string) map[string]bool {
	words := map[string]bool{}
	for _, word := range telling(strings.Join(texts, "\n")) {
		words[word] = true
	}
	return words
}

// fits reports whether all words of one of the rule's keywords are there.
func (r Rule) fits(words map[string]bool) bool {
	return slices.ContainsFunc(r.Keywords, func(keyword string) bool {
		terms := telling(keyword)
		return len(terms) > 0 && !slices.ContainsFunc(terms, func(term string) bool { return !words[term] })
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
func Check(rules []Rule) (all []Finding) {
	find := func(code string, r Rule, format string, args ...any) {
		all = append(all, Finding{code, r.ID, fmt.Sprintf(format, args...)})
	}
	for i, r := range rules {
		if j := slices.IndexFunc(rules[:i], r.Replaces); j >= 0 {
			find("duplicate-title", r, "has the title of %s, %s", rules[j].ID, r.Title)
		}
		if n := r.size(); n > Budget {
			find("too-long", r, "has %d characters, more than the budget of %d: nobody is told it", n, Budget)
		}
		if r.ReadMode != Required && !r.fits(Words(r.Keywords...)) {
			find("no-keywords", r, "is optional and has no keyword that can match, so nobody is told it")
		}
		for line := range strings.Lines(r.Text) {
			if word := plandoc.Vague(line); word != "" {
				find("vague", r, "says %s, which nobody can judge: %s", plain.Quote(word), strings.TrimSpace(line))
			}
		}
	}
	for _, stage := range Stages[1:] {
		if _, dropped := Choose(rules, stage, nil, Budget); len(dropped) > 0 {
			ids := plain.Some(dropped, 10, func(x Dropped) string { return x.Rule.ID })
			find("over-budget", Rule{}, "what is required of %s is more than the budget of %d: nobody is told %s",
				stage, Budget, strings.Join(ids, ", "))
		}
	}
	return all
}
