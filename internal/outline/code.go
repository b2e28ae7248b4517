package outline

import (
	"strings"

	"gitwf/internal/pattern"
)

var (
	setup       = pattern.Compile(`^(?:cd|pushd|export|source|set|\.|\$env:[A-Za-z_]\w*\s*=|[A-Za-z_]\w*=\S*$)(?:\s|$)`)
	trailing    = withWords(`(?i)\s+(?:#|//)\s*(?:` + arrowSigns + `\s*|(?:{announcement}|应为?)\s*[:：]?\s*)(.*)$`)
	commentTail = pattern.Compile(`\s+#\s*(.*)$`)
	heredoc     = pattern.Compile(`<<-?\s*['"]?([A-Za-z_]\w*)['"]?`)
	// A line of a block that says what the command above it has to show.
	ownLine   = withWords(`(?i)^(?:(?:#|//)\s*)?(?:` + arrowSigns + `\s*|(?:{announcement}|应为?)\s*[:：]?\s*)(.+)$`)
	bareLimit = pattern.Compile(`^(?i:exit(?: code)?\s*[:=]?\s*\d+$)|^(?:>=|<=|==|!=|≥|≤|>\s*\d|<\s*\d)\s*-?[\d.]*`)
)

// codeCriteria makes a criterion of each command of a block of code. Lines that only prepare, such as cd, go with the
// commands behind them; a threshold on a line of its own goes with the command before it.
func (b *builder) codeCriteria(bl *block) []Criterion {
	if bl.lang != "" && !listed("shell", bl.lang) {
		return nil
	}
	prompted := false
	for _, l := range bl.lines {
		prompted = prompted || strings.HasPrefix(strings.TrimSpace(l.text), "$ ")
	}
	sure := bl.lang != "" && bl.lang != "text" && bl.lang != "txt" && bl.lang != "indented"
	var out []Criterion
	var before []string
	ahead, pending := false, "" // thresholds that stand before their commands
	all := logical(bl.lines)
	for i, l := range all {
		text := strings.TrimSpace(l.text)
		if e := thresholdLine(text); e != "" && !(len(out) == 0 && strings.HasPrefix(text, "exit")) {
			if ahead = ahead || len(out) == 0; ahead {
				pending = strings.TrimPrefix(pending+"; "+e, "; ")
			} else {
				out[len(out)-1].also(e)
			}
			continue
		}
		// What a threshold follows is a command, even where a prompt is missing.
		pointed := !ahead && i+1 < len(all) && thresholdLine(strings.TrimSpace(all[i+1].text)) != ""
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "REM ") || prompted && !pointed &&
			!strings.HasPrefix(text, "$ ") {
			continue
		}
		text, expect := codeLine(strings.TrimPrefix(text, "$ "))
		if setup.Get().MatchString(text) && !strings.Contains(text, "&&") && !strings.Contains(text, ";") {
			before = append(before, text)
			continue
		}
		if !sure && !pointed && !looksCommand(text, true) && !isThreshold(expect) || !hasLetter(text) {
			continue
		}
		c := Criterion{Text: "`" + short(prose(text), 1900) + "`", Command: text, Before: strings.Join(before, "\n"),
			Line: l.no}
		c.also(expect)
		c.also(pending)
		pending = ""
		out = append(out, c)
	}
	if pending != "" && len(out) > 0 {
		out[len(out)-1].also(pending)
	}
	return out
}

// thresholdLine is the expectation that a line of code consists of; "" if it is none.
func thresholdLine(text string) string {
	if m := ownLine.Get().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	bare := strings.TrimSpace(strings.TrimLeft(text, "#/ "))
	if bareLimit.Get().MatchString(bare) || bare != text && isThreshold(bare) {
		return bare
	}
	return ""
}

// codeLine cuts a line of code into the command and what is expected of it.
func codeLine(text string) (command, expect string) {
	if m := trailing.Get().FindStringSubmatchIndex(text); m != nil {
		return strings.TrimSpace(text[:m[0]]), text[m[2]:m[3]]
	}
	if a, e, ok := arrowInside(text); ok && (looksCommand(a, true) || isThreshold(e)) {
		return strings.TrimSpace(a), e
	}
	if m := commentTail.Get().FindStringSubmatchIndex(text); m != nil && !strings.ContainsAny(text[m[0]:], `"'`) {
		if said := text[m[2]:m[3]]; isThreshold(said) {
			expect = said
		}
		return strings.TrimSpace(text[:m[0]]), expect
	}
	return text, ""
}

// also adds an expectation to what is expected of the command.
func (c *Criterion) also(expect string) {
	if expect = withoutQuotes(prose(expect)); expect == "" {
		return
	}
	c.Text = short(c.Text+" -> "+expect, 2000)
	c.Expect = strings.TrimPrefix(c.Expect+"; "+expect, "; ")
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, isWord) }

// logical joins lines that a shell reads as one: continued with a backslash, a bar or an operator, and here-documents.
func logical(lines []line) []line {
	var out []line
	for i := 0; i < len(lines); i++ {
		l := line{strings.TrimRight(lines[i].text, " \t"), lines[i].no}
		for i+1 < len(lines) && continued(l.text) {
			i++
			l.text += "\n" + strings.TrimRight(lines[i].text, " \t")
		}
		if m := heredoc.Get().FindStringSubmatch(l.text); m != nil {
			for i+1 < len(lines) {
				i++
				l.text += "\n" + lines[i].text
				if strings.TrimSpace(lines[i].text) == m[1] {
					break
				}
			}
		}
		out = append(out, l)
	}
	return out
}

func continued(s string) bool {
	for _, end := range []string{`\`, "|", "&&", "||", "`"} {
		if strings.HasSuffix(s, end) && !(end == "`" && strings.Count(s, "`")%2 == 0) {
			return true
		}
	}
	return strings.Count(strings.ReplaceAll(s, `\'`, ""), "'")%2 == 1 && strings.Count(s, `"`)%2 == 0 &&
		!strings.Contains(s, "#") && strings.Contains(s, " -c '")
}
