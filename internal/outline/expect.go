package outline

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/shell"
)

// shellLine turns a command and what the source expects of it into one line for a POSIX shell that succeeds when all of
// the expectation holds. decided is false where no shell can tell all of it; then there is no line, so that nothing
// weaker is checked than what was written.
func shellLine(command, expect string) (run string, decided bool) {
	checks, ok := checksOf(command, expect)
	switch {
	case !ok || request.Get().MatchString(command):
		return "", false
	case len(checks) == 0:
		return command, true
	case len(checks) == 1:
		return checks[0].alone(command), true
	}
	line := "out=$(" + group(command) + ` 2>&1); rc=$?`
	for i, c := range checks {
		sep := " && "
		if i == 0 {
			sep = "; "
		}
		line += sep + c.among()
	}
	return line, true
}

// request is code that stands for a request to a server, which no shell takes for a command.
var request = pattern.Compile(`^(?:(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) +(?:/|https?://)\S*|https?://\S+)$`)

// isThreshold reports text that is an expectation which a shell can decide, or begins like one: "exit 0", ">= 3",
// "全部通过".
func isThreshold(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	_, ok := checksOf("wc -l", s)
	return ok || thresholdStart.Get().MatchString(strings.ToLower(s))
}

var thresholdStart = pattern.Compile(`^(?:exit\b|exits\b|rc\b|退出[码碼]|返回[码碼]|[<>≥≤=≠]|!=|-?\d+(?:\.\d+)?\s*(?:%` +
	`|$)|全部通过|0\b)`)

type checkKind int

const (
	exits  checkKind = iota // with the number
	fails                   // with any number but 0
	counts                  // the last line has a number that compares
	quiet                   // nothing is printed
	passed                  // the line that a test runner ends with
	holds                   // a text is printed
	lacks                   // a text is not printed
)

// check is one condition of an expectation.
type check struct {
	kind     checkKind
	op, text string
}

// checksOf reads an expectation: none for one that only wants success, several for "exit 0 and prints ok". ok is false
// where any of it is more than a shell can tell.
func checksOf(command, expect string) ([]check, bool) {
	e := withoutRemark(strings.TrimSpace(expect))
	if c, ok := single(command, e); ok {
		return c, true
	}
	var all []check
	pieces := conjuncts(e)
	for _, piece := range pieces {
		c, ok := single(command, piece)
		if !ok || len(pieces) == 1 {
			return nil, false
		}
		if len(c) == 0 {
			c = []check{{kind: exits, text: "0"}}
		}
		for _, one := range c {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	if len(all) == 1 && all[0] == (check{kind: exits, text: "0"}) {
		return nil, true
	}
	return all, len(all) > 0
}

var (
	remark    = pattern.Compile(`\s*[（(]([^（()）]*)[）)]\s*[.。]?\s*$`)
	measured  = pattern.Compile(`\d\s*(?:%|/|passed|个|条|项)|[<>≥≤]|不少于|至少|不超过|at least|at most`)
	conjoined = pattern.Compile(`(?i)\s+and\s+|\s+with\s+|\s*&&?\s*|\s*[,，;；、]\s*|\s*(?:并且|而且|同时|且|并)\s*`)
)

// withoutRemark drops what stands in parentheses at the end, if nothing is measured in it.
func withoutRemark(e string) string {
	if m := remark.Get().FindStringSubmatchIndex(e); m != nil && m[0] > 0 {
		switch inner := e[m[2]:m[3]]; {
		case !measured.Get().MatchString(strings.ToLower(inner)):
			return e[:m[0]]
		default:
			return e[:m[0]] + ", " + inner
		}
	}
	return e
}

// conjuncts are the conditions of an expectation that names several. What stands in quotes is not cut.
func conjuncts(e string) []string {
	var out []string
	start := 0
	for _, at := range conjoined.Get().FindAllStringIndex(e, -1) {
		if open := e[start:at[0]]; strings.Count(open, "`")%2 == 1 || strings.Count(open, `"`)%2 == 1 ||
			strings.Count(open, "“") != strings.Count(open, "”") || strings.Count(open, "「") != strings.Count(open, "」") {
			continue
		}
		if piece := strings.TrimSpace(e[start:at[0]]); piece != "" {
			out = append(out, piece)
		}
		start = at[1]
	}
	if piece := strings.TrimSpace(e[start:]); piece != "" {
		out = append(out, piece)
	}
	return out
}

// single reads one condition.
func single(command, e string) ([]check, bool) {
	lower := strings.ToLower(strings.TrimRight(strings.TrimLeft(plainText(e), " ."), " .。！!"))
	switch {
	case e == "" || passes.Get().MatchString(lower):
		return nil, true
	case nonZero.Get().MatchString(lower):
		return []check{{kind: fails}}, true
	case silent.Get().MatchString(lower):
		return []check{{kind: quiet}}, true
	}
	if m := exitCode.Get().FindStringSubmatch(lower); m != nil {
		if m[1] == "0" {
			return nil, true
		}
		return []check{{kind: exits, text: m[1]}}, true
	}
	if op, number := compared(command, lower); op != "" {
		return []check{{kind: counts, op: op, text: number}}, true
	}
	if m := passedCount.Get().FindStringSubmatch(lower); m != nil {
		return []check{{kind: passed, text: m[0]}}, true
	}
	if text, not, ok := containsText(e); ok {
		kind := holds
		if not {
			kind = lacks
		}
		return []check{{kind: kind, text: text}}, true
	}
	return nil, false
}

// alone is the line that runs the command and decides the condition.
func (c check) alone(command string) string {
	switch c.kind {
	case exits:
		return group(command) + "; test $? -eq " + c.text
	case fails:
		return "if " + group(command) + "; then exit 1; fi"
	case counts:
		return group(command) + " | " + c.filter()
	case quiet:
		return `test -z "$(` + group(command) + `)"`
	case passed:
		return `out=$(` + group(command) + ` 2>&1) && printf '%s\n' "$out" | ` + c.filter()
	case lacks:
		return "! " + group(group(command)+" 2>&1 | "+c.filter())
	}
	return group(command) + " 2>&1 | " + c.filter()
}

// among decides the condition of what has been run: its output is in $out, its exit status in $rc.
func (c check) among() string {
	switch c.kind {
	case exits:
		return `test "$rc" -eq ` + c.text
	case fails:
		return `test "$rc" -ne 0`
	case quiet:
		return `test -z "$out"`
	case lacks:
		return `! { printf '%s\n' "$out" | ` + c.filter() + `; }`
	}
	return `printf '%s\n' "$out" | ` + c.filter()
}

// filter reads output and succeeds if the condition holds of it.
func (c check) filter() string {
	switch c.kind {
	case counts:
		return compareFilter(c.op, c.text)
	case passed:
		return `grep -E -q -- '(^|[^0-9])` + c.text + `'`
	}
	return grepFor(c.text)
}

var (
	passes = withWords(`^(?:(?:{before success})[ ,，]*)*(?:{success}|(?:failed|failures?|errors?|失败数?` +
		`|错误数?) ?(?:==?|:|：) ?0)(?:[ ,，]*(?:{behind success}))*$`)
	nonZero = pattern.Compile(`^(?:(?:must|should|it|to|应|须|必须` +
		`|命令)\s*)*(?:(?:exits?(?: with)?(?: (?:a )?code)? ?|退出码 ?(?:为|是)? ?)?(?:non-?zero|非零)(?: 退出` +
		`| exit(?: code)?| status|退出)?$|非 ?0|exits? (?:with )?(?:code )?!= ?0$|exit code != 0$|退出码 ?(?:!=|≠|不为` +
		`|非) ?0$|fails?$|失败$|红灯$)`)
	exitCode    = withWords(`^(?:(?:{before success})\s*)*(?:{exit code})\s*(?:{is})?\s*(\d{1,3})$`)
	silent      = withWords(`^(?:(?:{before silence})\s*)*(?:{silence})$`)
	passedCount = pattern.Compile(`^\d+ (?:passed|tests? passed|passing)`)
	comparison  = withWords(`^(?:(?:{before a number})[ :：]*)*` +
		`({number >=}|{number <=}|{number !=}|{number ==}|{number >}|{number <})?[ :：]*` +
		`(-?\d+(?:\.\d+)?)\s*(%|％)?\s*({counted})?\s*(?:或?以上|以内|及以上|or more|or less|or fewer|\+)?\s*$`)
	counting = pattern.Compile(`\bwc\b|\bgrep\b.*(?:\s-[A-Za-z]*c\b|--count)|\brg\b.*(?:\s-[A-Za-z]*c\b` +
		`|--count)|\blength\b|\bcount\b|\buniq -c|\bnl\b|(?i:measure-object)`)
	containsWords = withWords(`(?i)^(?:(?:{before a text})\s*)*({lacks}|{contains})\s*[:：]?\s*(.+)$`)
	quoted        = pattern.Compile("^(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)'|“([^”]+)”|「([^」]+)」|‘([^’]+)’)")
)

// compared reads a number that the output is compared with. A count of lines, files or tests says nothing of what is
// printed, unless the command is one that counts.
func compared(command, lower string) (op, number string) {
	m := comparison.Get().FindStringSubmatch(lower)
	if m == nil || m[4] != "" && !counting.Get().MatchString(command) {
		return "", ""
	}
	op = "=="
	for _, o := range []string{">=", "<=", "!=", ">", "<"} {
		if listed("number "+o, m[1]) {
			op = o
		}
	}
	if m[1] == "" {
		switch {
		case strings.HasSuffix(lower, "以上"), strings.HasSuffix(lower, "or more"), strings.HasSuffix(lower, "+"):
			op = ">="
		case strings.HasSuffix(lower, "以内"), strings.HasSuffix(lower, "or less"), strings.HasSuffix(lower, "or fewer"):
			op = "<="
		}
	}
	return op, m[2]
}

// compareFilter compares the number that stands first or last on the last line of the output. How the command exits
// does not matter: "grep -c" fails when it counts zero.
func compareFilter(op, number string) string {
	const isNumber = `/^-?[0-9]+(\.[0-9]+)?%?$/`
	return fmt.Sprintf(`awk 'NF { l = $0; r++ } END { n = split(l, f); v = f[1]; `+
		`if (v !~ %s) { v = f[n]; if (r == 1) sub(/^.*[:=]/, "", v) } exit !(v ~ %s && v + 0 %s %s) }'`,
		isNumber, isNumber, op, number)
}

// containsText finds the text that the output has to hold, or not.
func containsText(e string) (text string, not, ok bool) {
	e = strings.TrimSpace(e)
	if m := quoted.Get().FindStringSubmatch(e); m != nil && strings.TrimSpace(e[len(m[0]):]) == "" {
		return firstOf(m[1:]), false, true
	}
	m := containsWords.Get().FindStringSubmatch(e)
	if m == nil {
		return "", false, false
	}
	word := strings.ToLower(m[1])
	not = listed("lacks", word)
	value := strings.TrimSpace(m[2])
	if q := quoted.Get().FindStringSubmatch(value); q != nil && strings.Trim(value[len(q[0]):], " .。)）") == "" {
		return firstOf(q[1:]), not, true
	}
	return "", false, false
}

func firstOf(all []string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

func grepFor(text string) string { return "grep -F -q -- " + shell.Quote(clean(text)) }

// group makes one command of a line, whatever operators or comments it holds.
func group(command string) string {
	if simple.Get().MatchString(command) {
		return command
	}
	return "{ " + command + "\n}"
}

var simple = pattern.Compile(`^[A-Za-z0-9 ._/=,:@+"'*-]+$`)
