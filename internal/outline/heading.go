package outline

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

// wordKind is what the word before a name says.
type wordKind int

const (
	noWord wordKind = iota
	taskWord
	goalWord
)

// label is what a heading, the text of an item or a cell says of the thing that it names.
type label struct {
	kind     wordKind
	id       string // "M1-T2", "1.1", "3"; "" without one
	strong   bool   // the id has letters, or a dot, or stands behind a word
	title    string
	status   Status // State "" if it says none
	optional bool
	days     float64
	tags     []string // in brackets before the title: US1
}

var (
	number = `[0-9]+(?:[.\-][0-9]+)*[a-z]?|[A-Z]{1,4}-?[0-9]+(?:[.\-][A-Z]{0,3}[0-9]+)*[a-z]?|[A-Z]\b` +
		`|[一二三四五六七八九十百]+|[IVX]{1,5}\b`
	wordFirst = withWords(`^(?i:({goal})|({task}))\s*[#:：]?\s*(?:第\s*)?((?:` + number +
		`)?)\s*(?:[)）\]】:：.、,，|｜丨—–\-·▸►]+|\s|$)\s*(.*)$`)
	ordinal = pattern.Compile(`^第\s*([0-9]+|[一二三四五六七八九十百]+)\s*(?:个|项)?\s*(里程碑|阶段|期|迭代|批|周|步|部分|任务` +
		`|步骤)\s*[:：、.,，|｜丨—–\-]*\s*(.*)$`)
	idFirst = pattern.Compile(`^[\[(（【「]?\s*((?:[A-Z][A-Za-z]*[0-9]*[-_.])*[A-Z]{1,10}[-_.]?[0-9]+` +
		`(?:[.\-][A-Z]{0,8}-?[0-9]+)*[a-z]?` +
		`|(?:[A-Z][A-Z0-9]*-)+[0-9]+(?:\.[0-9]+)*[a-z]?)\s*[\])）】」]?\s*(?:[:：.、|｜丨—–·\-]+\s*|\s+|$)(.*)$`)
	dotted = pattern.Compile(`^([0-9]{1,4}(?:\.[0-9]{1,4})+[a-z]?)(?:\s*[|｜丨]\s*|\s*[)）:：.、—–\-]*\s+)(.*)$`)
	bareNo = pattern.Compile(`^(?:([0-9]{1,4})\s*[.)）、:：]\s*|([一二三四五六七八九十]{1,3})[、.．]\s*|[（(]([0-9]{1,3}` +
		`|[一二三四五六七八九十]{1,3})[）)]\s*)(.*)$`)
	boxFirst = pattern.Compile(`^\[([ xX~\-/>!✓✔✅vV√])\]\s+(.*)$`)
)

// readLabel reads what names a goal or a task: a word, an id, a status, an estimate and a title, in whatever order
// people put them.
func readLabel(s string) label {
	s = closingATX.Get().ReplaceAllString(s, "")
	if strings.Contains(s, "</") {
		s = withoutTags(s)
	}
	s = codeStatus.Get().ReplaceAllString(s, "[$1]")
	raw := bracketedName.Get().ReplaceAllString(plainText(s), "$1 ")
	var l label
	if m := boxFirst.Get().FindStringSubmatch(raw); m != nil {
		r, _ := utf8.DecodeRuneInString(m[1])
		l.status = Status{State: words().boxes[r], Word: "[" + m[1] + "]"}
		raw = m[2]
	}
	raw = l.takeMarks(raw)
	raw = l.takeTail(raw)
	if m := ordinal.Get().FindStringSubmatch(raw); m != nil {
		l.kind, l.id, l.strong, l.title = goalWord, arabic(m[1]), true, m[3]
		if m[2] == "步" || m[2] == "任务" || m[2] == "步骤" || m[2] == "部分" {
			l.kind = taskWord
		}
		l.finish(raw)
		return l
	}
	// "1. Milestone 2: X" and "3.1 任务 4：X" have the word behind a number of the document.
	rest, before := raw, ""
	if m := dotted.Get().FindStringSubmatch(raw); m != nil && wordFirst.Get().MatchString(m[2]) {
		rest, before = m[2], m[1]
	} else if m := bareNo.Get().FindStringSubmatch(raw); m != nil && wordFirst.Get().MatchString(m[4]) {
		rest, before = m[4], arabic(firstOf(m[1:4]))
	}
	if m := wordFirst.Get().FindStringSubmatch(rest); m != nil &&
		(m[3] != "" || m[4] == "" || strings.HasPrefix(strings.TrimSpace(afterWord(rest, m)), ":") ||
			strings.HasPrefix(strings.TrimSpace(afterWord(rest, m)), "：")) {
		l.kind = taskWord
		if m[1] != "" {
			l.kind = goalWord
		}
		l.id, l.title, l.strong = arabic(m[3]), m[4], m[3] != ""
		if m[3] == "" && before != "" {
			l.named(before, rest)
		}
		if inner := idFirst.Get().FindStringSubmatch(l.title); inner != nil && m[3] == "" && likeTask(inner[1]) {
			l.id, l.title, l.strong = inner[1], inner[2], true // "Task: T1 Parser"
		}
		l.finish(raw)
		return l
	}
	switch {
	case matchID(raw, &l):
	case dotted.Get().MatchString(raw):
		m := dotted.Get().FindStringSubmatch(raw)
		l.id, l.title, l.strong = m[1], m[2], true
	case bareNo.Get().MatchString(raw):
		m := bareNo.Get().FindStringSubmatch(raw)
		l.id, l.title = arabic(firstOf(m[1:4])), m[4]
		if inner := (label{}); matchID(m[4], &inner) {
			l.id, l.title, l.strong = inner.id, inner.title, true // "4. PARSER-1: Read"
		}
	default:
		l.title = raw
	}
	l.finish(raw)
	return l
}

// named gives a label that has a word without a number the number that stands before the word: "2. Task: Print".
// Without a title it is only a heading over others: "2. Tasks".
func (l *label) named(number, rest string) {
	if l.title == "" {
		l.kind, l.title = noWord, rest
		return
	}
	l.id, l.strong = number, true
}

// codeStatus is a status in backticks at the end of a name.
var codeStatus = pattern.Compile("`(TODO|DOING|BLOCKED|DONE|VERIFIED|todo|doing|blocked|done|verified)`\\s*$")

var bracketedName = withWords(`^[【\[]\s*((?i:{goal}|{task})\s*(?:` + number + `))\s*[】\]]\s*[:：]?\s*`)

var (
	tag        = pattern.Compile(`^\[([A-Za-z]{1,4}\d{0,3}|[A-Z]{2,8}-\d+)\]\s*`)
	dependsTag = pattern.Compile(`(?i)[（(\[]\s*(?:depends? on|deps?|after|blocked by|requires|needs|依赖于?` +
		`|前置)\s*[:：]?\s*([^（()）\[\]]*)[）)\]]`)
)

// takeTags takes tags such as [P] and [US1] off the beginning of a title.
func (l *label) takeTags() {
	for {
		m := tag.Get().FindStringSubmatch(l.title)
		if m == nil || len(m[0]) == len(l.title) {
			return
		}
		if strings.ContainsAny(m[1], "0123456789") {
			l.tags = append(l.tags, strings.ToUpper(m[1]))
		}
		l.title = l.title[len(m[0]):]
	}
}

// anyID takes an id that alone would not make a task of what it stands before: R1, P2.
func (l *label) anyID() {
	if m := idFirst.Get().FindStringSubmatch(l.title); m != nil && m[2] != "" {
		l.id, l.title, l.strong = m[1], m[2], true
	}
}

func afterWord(s string, m []string) string { return s[len(m[1])+len(m[2]):] }

func matchID(s string, l *label) bool {
	m := idFirst.Get().FindStringSubmatch(s)
	if m == nil || !likeTask(m[1]) || unitFollows(m[2]) && !strings.ContainsAny(m[1], "-_.") {
		return false
	}
	l.id, l.title, l.strong = m[1], m[2], true
	switch letters := strings.TrimRightFunc(m[1], func(r rune) bool { return unicode.IsDigit(r) || r == '.' }); letters {
	case "M", "MS", "M-", "PHASE", "PHASE-", "EPIC", "EPIC-", "SPRINT", "SPRINT-", "STAGE", "STAGE-", "Phase", "Milestone",
		"MILESTONE", "MILESTONE-":
		if !strings.Contains(m[1], ".") {
			l.kind = goalWord
		}
	}
	return true
}

// likeTask tells an id of a task from other words with a number, such as UTF-8 and AC1.
func likeTask(id string) bool {
	prefix := strings.TrimRightFunc(id, func(r rune) bool { return !unicode.IsLetter(r) })
	return !listed("no id", prefix) || strings.Contains(id, ".") && prefix == "P" || prefix == "P" &&
		strings.Contains(id, "-")
}

// unitFollows tells a count from an id: "3 files", "2 天".
func unitFollows(rest string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(rest)), " ")
	return listed("count", first)
}

// arabic reads small Chinese numbers; everything else it gives back.
func arabic(s string) string {
	if s == "" || !hasHan(s) {
		return s
	}
	n, last := 0, 0
	for _, r := range s {
		switch r {
		case '百':
			n, last = n+max(last, 1)*100, 0
		case '十':
			n, last = n+max(last, 1)*10, 0
		default:
			last = strings.IndexRune("一二三四五六七八九", r)/len("一") + 1
		}
	}
	return strconv.Itoa(n + last)
}

func (l *label) finish(raw string) {
	if m := headBracket.Get().FindStringSubmatch(l.title); m != nil && l.status.State == "" && l.id != "" &&
		statusAlone(m[1]) {
		state, _ := stateOf(m[1])
		l.status, l.title = Status{State: state, Word: clean(m[1])}, m[2]
	}
	l.title = strings.TrimFunc(strings.TrimSpace(l.title), func(r rune) bool {
		return strings.ContainsRune(":：—–-|·、 ", r)
	})
	if l.title == "" {
		l.title = raw
	}
	l.title = short(l.title, 200)
}

var headBracket = pattern.Compile(`^[\[(（【]([^\[\]()（）【】]{1,24})[\])）】]\s*[:：]?\s*(.*)$`)

// takeMarks takes symbols of a status off the beginning.
func (l *label) takeMarks(s string) string {
	for {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case size == 0:
			return s
		case words().clear[r] != "":
			if l.status.State == "" {
				l.status = Status{State: words().clear[r], Word: string(r)}
			}
		case r == '\ufe0f' || unicode.IsSpace(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Variation_Selector, r) ||
			r == '\u200d':
		default:
			return s
		}
		s = s[size:]
	}
}

var (
	estimateAt = pattern.Compile(`[（(\[【]\s*(?:(?i:est(?:imate)?\.?|预估|预计|估时|工时|约|~|≈|about|ca\.?)\s*[:：]?\s*)*` +
		daysText + `\s*[）)\]】]`)
	daysText = `~?([0-9]+(?:\.[0-9]+)?|半|一|两|三|四|五)\s*(?:(?:[-–~～—至到]` +
		`|to)\s*([0-9]+(?:\.[0-9]+)?))?\s*(?i:(d|days?|person[- ]?days?|pd|md|man-?days?|dev[- ]?days?|天|人日|人天` +
		`|工作日|日|h|hrs?|hours?|小时|工时|w|weeks?|周|人周|min|mins|minutes?|分钟))`
	daysValue   = pattern.Compile(`(?:^|[^\p{L}\p{N}.])` + daysText + `(?:$|[^\p{L}\p{N}])|` + `^\s*(?:约\s*)?` + daysText)
	tailBracket = pattern.Compile(`\s*[（(\[【]([^（()）\[\]【】]{1,40})[）)\]】]\s*$`)
	tailWord    = pattern.Compile(`(?:\s[—–-]{1,3}|\s*[|｜:：])\s*([^—–|｜:：-]{1,24})\s*$`)
	isState     = pattern.Compile(`^(.+?)\s+(?:is|are)\s+(?:now\s+)?(TODO|DOING|BLOCKED|DONE|VERIFIED)\.?$`)
	optionalTag = pattern.Compile(`(?i)[（(\[]\s*(optional|可选|nice to have|选做)\s*[）)\]]`)
)

// takeTail takes an estimate off the title, and a status at its end: "(done)", "[DOING]", "✅".
func (l *label) takeTail(s string) string {
	if m := estimateAt.Get().FindStringSubmatchIndex(s); m != nil {
		l.days = toDays(sub(s, m, 1), sub(s, m, 2), sub(s, m, 3))
		s = strings.TrimSpace(s[:m[0]] + " " + s[m[1]:])
	}
	if optionalTag.Get().MatchString(s) {
		l.optional = true
		s = strings.TrimSpace(optionalTag.Get().ReplaceAllString(s, " "))
	}
	if m := isState.Get().FindStringSubmatch(s); m != nil {
		state, _ := stateOf(m[2])
		l.status, s = Status{State: state, Word: m[2]}, m[1]
	}
	for {
		s = strings.TrimSpace(s)
		r, size := utf8.DecodeLastRuneInString(s)
		if size > 0 && (words().clear[r] != "" || r == '\ufe0f') {
			if l.status.State == "" && r != '\ufe0f' {
				l.status = Status{State: words().clear[r], Word: string(r)}
			}
			s = s[:len(s)-size]
			continue
		}
		m := tailBracket.Get().FindStringSubmatchIndex(s)
		if m == nil {
			m = tailWord.Get().FindStringSubmatchIndex(s)
		}
		if m == nil || m[0] == 0 {
			return s
		}
		word := s[m[2]:m[3]]
		if !statusAlone(word) {
			return s
		}
		state, _ := stateOf(word)
		// an empty box says nothing beside a word
		if was := l.status; was.State == "" || !hasLetter(was.Word) && (was.State == Todo || was.State == state) {
			l.status = Status{State: state, Word: clean(word)}
		}
		s = s[:m[0]]
	}
}

func sub(s string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return s[m[2*i]:m[2*i+1]]
}

// statusAlone reports that text is a word or a symbol for a status and nothing else.
func statusAlone(s string) bool {
	w, marks := takeSymbols(strings.ToLower(plainText(s)))
	w = strings.TrimFunc(strings.ReplaceAll(w, "_", " "), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if w == "" {
		_, ok := oneOf(marks)
		return ok
	}
	_, word := leadingState(w)
	return word == w && !listed("title word", w)
}

func toDays(from, to, unit string) float64 {
	n, err := strconv.ParseFloat(from, 64)
	if err != nil {
		switch from {
		case "半":
			n = 0.5
		case "两":
			n = 2
		default:
			n, _ = strconv.ParseFloat(arabic(from), 64)
		}
	}
	if m, err := strconv.ParseFloat(to, 64); err == nil && m > n {
		n = m
	}
	switch unit = strings.ToLower(unit); {
	case strings.HasPrefix(unit, "h") || unit == "小时" || unit == "工时":
		n /= 8
	case strings.HasPrefix(unit, "w") || unit == "周" || unit == "人周":
		n *= 5
	case strings.HasPrefix(unit, "min") || unit == "分钟":
		n /= 480
	}
	n = math.Round(n*100) / 100
	if n <= 0 || n > 10000 {
		return 0
	}
	return n
}

// daysIn finds an estimate in the value of a field.
func daysIn(s string) float64 {
	m := daysValue.Get().FindStringSubmatch(plainText(s))
	if m == nil {
		if n, err := strconv.ParseFloat(strings.TrimSpace(plainText(s)), 64); err == nil {
			return toDays(strconv.FormatFloat(n, 'f', -1, 64), "", "d")
		}
		return 0
	}
	if m[1] != "" {
		return toDays(m[1], m[2], m[3])
	}
	return toDays(m[4], m[5], m[6])
}
