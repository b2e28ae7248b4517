package outline

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

// wordTable is every word that the reader knows: a heading for each list, and the words on indented lines below it.
//
//go:embed words.md
var wordTable string

// lexicon is the table of words, in the forms in which it is asked.
type lexicon struct {
	lists  map[string][]string
	sets   map[string]map[string]bool
	fields map[string]key
	bare   map[string]key  // words that name a field without a colon
	starts map[string]bool // the first two letters of those: most lines begin otherwise
	states map[string]State
	marks  map[rune]State // symbols that stand for a state where a status is expected
	clear  map[rune]State // those that do so anywhere: titles have others as decoration
	loose  map[rune]bool  // those that go with other states too
	boxes  map[rune]State
}

// words is the table, read when it is first asked for: most commands read no Markdown.
var words = sync.OnceValue(readWords)

func readWords() *lexicon {
	w := &lexicon{
		lists: map[string][]string{}, sets: map[string]map[string]bool{}, fields: map[string]key{}, bare: map[string]key{},
		starts: map[string]bool{},
		states: map[string]State{}, marks: map[rune]State{}, clear: map[rune]State{}, loose: map[rune]bool{},
		boxes: map[rune]State{},
	}
	list := ""
	for l := range strings.Lines(wordTable) {
		if name, ok := strings.CutPrefix(l, "### "); ok {
			list = strings.TrimSpace(name)
			w.sets[list] = map[string]bool{}
		} else if strings.HasPrefix(l, "    ") {
			for _, word := range strings.Split(strings.TrimSuffix(strings.TrimSpace(l), ","), ", ") {
				w.add(list, word)
			}
		}
	}
	for word := range w.fields {
		if word[0] >= utf8.RuneSelf {
			w.starts[firstTwo(word)] = true // in brackets every field counts: 【负责人】
		}
	}
	return w
}

func (w *lexicon) add(list, word string) {
	kind, name, _ := strings.Cut(list, " ")
	switch kind {
	case "field":
		bare := strings.TrimSuffix(word, "*")
		w.fields[bare] = key(name)
		if bare != word {
			w.bare[bare] = key(name)
			w.starts[firstTwo(bare)] = true
		}
	case "state":
		w.states[word] = State(name)
	case "symbol":
		r, _ := utf8.DecodeRuneInString(strings.Trim(word, "()"))
		w.marks[r] = State(name)
		w.loose[r] = strings.Contains(word, "?")
		if word[0] != '(' {
			w.clear[r] = State(name)
		}
	case "box":
		r, _ := utf8.DecodeRuneInString(strings.Replace(word, "space", " ", 1))
		w.boxes[r] = State(name)
	default:
		w.sets[list][word] = true
		w.lists[list] = append(w.lists[list], word)
	}
}

// listed reports a word of a list.
func listed(list, word string) bool { return words().sets[list][word] }

// wordPattern is a regular expression with lists of the table in it, by their names in braces; with ", whole" behind a
// name, Latin words count only as whole words. Like a pattern of internal/pattern it costs nothing until it is used.
type wordPattern struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

func withWords(expr string) *wordPattern { return &wordPattern{expr: expr} }

var listName = pattern.Compile(`\{[a-z][^{}]*\}`)

// Get is the compiled expression.
func (p *wordPattern) Get() *regexp.Regexp {
	p.once.Do(func() {
		p.re = regexp.MustCompile(listName.Get().ReplaceAllStringFunc(p.expr, func(m string) string {
			var all []string
			name, whole := strings.CutSuffix(strings.Trim(m, "{}"), ", whole")
			for _, word := range words().lists[name] {
				expr := strings.NewReplacer(`\(s\)`, "s?", "…", ".*").Replace(regexp.QuoteMeta(word))
				if r, _ := utf8.DecodeLastRuneInString(word); whole && (r < utf8.RuneSelf || r == '…') {
					expr = `\b` + expr + `\b`
				}
				all = append(all, expr)
			}
			return strings.Join(all, "|")
		}))
	})
	return p.re
}

func firstTwo(s string) string {
	n := 0
	for i := range s {
		if n++; n == 3 {
			return strings.ToLower(s[:i])
		}
	}
	return strings.ToLower(s)
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Han) })
}
