package outline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

// State is what a status word comes down to. It is what the source claims; nothing believes it.
type State string

// The states that a task of an outline can claim.
const (
	Todo    State = "todo"
	Doing   State = "doing"
	Done    State = "done"
	Blocked State = "blocked"
)

// Status is the source's claim about a task: its own word, and what that comes down to.
type Status struct {
	State State  `json:"state"`
	Word  string `json:"word,omitempty"` // as it was written; "" where the source says nothing
	Line  int    `json:"line,omitempty"` // where it was written
	part  string // the heading in the task that it stands below: a stage of the work
}

var (
	progress  = pattern.Compile(`^[^\pL\d]*\d{1,4}\s*(?:[%％]|/\s*\d{1,4}\b)`)
	nothing   = pattern.Compile(`^0\s*(?:[%％]|/\s*[1-9]\d{0,3})$`)
	allOf     = pattern.Compile(`^(?:(100)\s*[%％]|([1-9]\d{0,3})\s*/\s*(\d{1,4}))$`)
	checkText = pattern.Compile(`^\[(.)\]$`)
)

// stateOf says what a status comes down to: a word for a state, or a symbol, with hardly anything else but a date or a
// remark. ok is false where it is none, where it names more than one as a template does, and where a remark takes back
// what the word says: nothing is guessed.
func stateOf(s string) (State, bool) {
	if m := checkText.Get().FindStringSubmatch(strings.TrimSpace(s)); m != nil {
		r, _ := utf8.DecodeRuneInString(m[1])
		state, ok := words().boxes[r]
		return state, ok
	}
	w := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(plainText(s)), "_", " "))
	if strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]") || strings.HasPrefix(w, "【") && strings.HasSuffix(w, "】") {
		w = strings.Trim(w, "[]【】 ")
	}
	if nothing.Get().MatchString(w) {
		return Todo, true
	}
	if m := allOf.Get().FindStringSubmatch(w); m != nil && (m[1] == "100" || m[2] != "" && m[2] == m[3]) {
		return Done, true
	}
	rest, before := takeSymbols(w)
	if rest == "" {
		return oneOf(before)
	}
	state, word := leadingState(rest)
	if word == "" {
		return "", false
	}
	for _, mark := range before {
		if m, ok := words().clear[mark]; ok && m != state && !words().loose[mark] {
			return "", false
		}
	}
	if !agrees(state, rest[len(word):]) {
		return "", false
	}
	return state, true
}

// takeSymbols takes symbols, and white space, off the beginning.
func takeSymbols(s string) (rest string, marks []rune) {
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("([（【-/|→>?？~", r):
			if r != '√' {
				return s[i:], marks
			}
			marks = append(marks, r)
		case words().marks[r] != "":
			marks = append(marks, r)
		}
	}
	return "", marks
}

// oneOf is the state that all symbols stand for.
func oneOf(marks []rune) (State, bool) {
	if len(marks) == 0 {
		return "", false
	}
	state := words().marks[marks[0]]
	for _, m := range marks {
		if words().marks[m] != state {
			return "", false
		}
	}
	return state, true
}

// leadingState is the longest word for a state that text begins with; "" if there is none.
func leadingState(s string) (State, string) {
	var state State
	best := ""
	for word, of := range words().states {
		if len(word) > len(best) && strings.HasPrefix(s, word) && wordEnds(s[len(word):], word) {
			state, best = of, word
		}
	}
	return state, best
}

func wordEnds(rest, word string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	last, _ := utf8.DecodeLastRuneInString(word)
	if unicode.Is(unicode.Han, last) {
		return !unicode.Is(unicode.Han, next)
	}
	return rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

var (
	isRemark  = pattern.Compile(`^\s*(?:[(（\[【，,;；:：.。!！@#]|[-–—|]+\s|——|·)`)
	isDate    = pattern.Compile(`^\s+(?:\d{1,4}[-/.年月]\d|\d{1,2}\s*[%％]|\d{1,3}\s*[%％]|v\d|@|#)`)
	goesOn    = withWords(`^\s+(?:{goes on, whole})`)
	takesBack = withWords(`[?？]|{takes back, whole}`)
	nothingOf = pattern.Compile(`(?:\b(?:no|zero|0|without)|无|零|没有)\s*(?:(?:known|remaining|open` +
		`|more)\s+)*(?:issues?|problems?|fail\w*|errors?|遗留\S{0,4}|问题|失败|剩余)`)
	awaits = pattern.Compile(`待(?:复核|验收|审核|评审|审阅|确认|review)|(?:pending|awaiting|needs|waiting for` +
		`|待)\s+(?:code )?(?:review|verification|sign-?off)|not (?:yet )?verified|未验证|尚未验证`)
	shareOf = pattern.Compile(`(\d{1,3})\s*[%％]`)
)

// agrees reports that what stands behind the word for a state is a remark that leaves the state as it is.
func agrees(state State, rest string) bool {
	if after, marks := takeSymbols(rest); len(marks) > 0 || after == "" {
		for _, mark := range marks {
			if words().marks[mark] != state && !words().loose[mark] {
				return false
			}
		}
		rest = after
	}
	switch rest = strings.TrimRight(rest, " "); {
	case rest == "":
		return true
	case strings.HasPrefix(rest, " ") || strings.IndexAny(rest, "/(（|") == 0:
		bare := strings.Trim(rest, " /()（）|")
		if again, word := leadingState(bare); word != "" && word == bare {
			return again == state
		}
	}
	for _, piece := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("|/／｜、,，→>;；", r) }) {
		piece = strings.Trim(piece, " -=[]()")
		if other, word := leadingState(piece); word != "" && word == piece && other != state {
			return false
		}
	}
	if m := shareOf.Get().FindStringSubmatch(rest); m != nil && (state == Done) != (m[1] == "100") &&
		!(state == Todo && m[1] == "0") && state != Blocked && !strings.ContainsAny(rest, "<>≥≤=") {
		return state == Doing && m[1] != "100"
	}
	switch {
	case state == Blocked:
		first, _ := utf8.DecodeRuneInString(rest)
		return !strings.ContainsRune("?？-/|", first) || isRemark.Get().MatchString(rest)
	case !isRemark.Get().MatchString(rest) && !isDate.Get().MatchString(rest) && !goesOn.Get().MatchString(rest):
		return false
	case state == Done:
		return !takesBack.Get().MatchString(awaits.Get().ReplaceAllString(nothingOf.Get().ReplaceAllString(rest, ""), ""))
	}
	return !strings.ContainsAny(rest, "?？")
}

// together is the status of a task that several stages claim one of: done when all are, todo when none has begun.
func together(all []Status) Status {
	if len(all) == 0 {
		return Status{State: Todo}
	}
	first := func(is func(State) bool) int {
		return slices.IndexFunc(all, func(s Status) bool { return is(s.State) })
	}
	if i := first(func(s State) bool { return s == Blocked }); i >= 0 {
		return all[i]
	}
	open := first(func(s State) bool { return s != Done })
	switch doing := first(func(s State) bool { return s == Doing }); {
	case open < 0:
		return all[len(all)-1]
	case doing >= 0:
		return all[doing]
	case first(func(s State) bool { return s != Todo }) < 0:
		return all[0]
	}
	return Status{State: Doing, Word: all[open].Word, Line: all[open].Line}
}
