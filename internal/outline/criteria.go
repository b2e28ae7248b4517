package outline

import (
	"fmt"
	"strings"

	"gitwf/internal/plan"
)

// criterion adds a criterion to a task. check is its box, 0 without one.
func (b *builder) criterion(n *node, c Criterion, check rune) {
	if b.criteria++; b.criteria > maxCriteria {
		if !b.full {
			b.full = true
			b.find("too-many-criteria", c.Line, "the outline has too many criteria", fmt.Sprintf("at most %d", maxCriteria), "more", "")
		}
		return
	}
	n.acceptance = append(n.acceptance, c)
	if check != 0 {
		n.checks = append(n.checks, checkStates[check])
	}
}

var onlyRefs = compile(`^(?:[A-Z]{1,5}(?:-[A-Z]{1,5})?-?\d+(?:\.\d+)*(?:\s*[,，、/;]\s*|\s+|\s*(?:\.\.|–|~|～)\s*|$))+$`)
var softTags = compile(`(?i)(?:^|[\s（(\[*])(?:optional|nice to have|should[:：]|可选|选做)(?:$|[\s）)\]*:：])`)

// criteriaOf makes criteria of a text: one for each command in it, or one without a command.
func (b *builder) criteriaOf(n *node, k key, lines []line, check rune) {
	text := strings.TrimSpace(joinLines(lines))
	if isNothing(text) {
		return
	}
	if onlyRefs.get().MatchString(plainText(text)) {
		n.covers = append(n.covers, refsIn(text)...)
		return
	}
	base := Criterion{Text: short(prose(text), 2000), Optional: softTags.get().MatchString(text), Line: lines[0].no}
	parts := spans(comment.get().ReplaceAllString(text, " "))
	found := commandsIn(parts, k == keyCommand)
	if len(found) == 0 && (k == keyCommand || k == keyVerify || k == keyAcceptance) {
		if f, ok := bareCommand(text, k == keyCommand); ok {
			found = []foundCommand{f}
		}
	}
	if len(found) == 0 {
		b.criterion(n, base, check)
		return
	}
	from := 0
	for i, f := range found {
		c := base
		c.Command, c.Expect = f.command, f.expect
		if len(found) > 1 {
			end := f.end
			if i == len(found)-1 {
				end = len(parts)
			}
			c.Text = short(strings.Trim(prose(rejoin(parts[min(from, len(parts)):min(end, len(parts))])), " ，,;；、"), 2000)
			from = end
		}
		if c.Text == "" {
			c.Text = "`" + prose(f.command) + "`"
		}
		c.Line = lineOf(lines, f.command)
		b.criterion(n, c, check)
		check = 0
	}
}

// lineOf is the line of a paragraph that holds a command, its first line if the command goes over several.
func lineOf(lines []line, command string) int {
	for _, l := range lines {
		if strings.Contains(l.text, command) {
			return l.no
		}
	}
	return lines[0].no
}

func rejoin(parts []span) string {
	var s strings.Builder
	for _, p := range parts {
		if p.code {
			s.WriteString("`" + p.text + "`")
			continue
		}
		s.WriteString(p.text)
	}
	return s.String()
}

var bareArrow = compile(`\s*(?:→|⇒|=>|-->|->)\s*`)

// bareCommand reads a command that stands without backticks: "pytest tests -q -> exit 0".
func bareCommand(text string, sure bool) (foundCommand, bool) {
	if strings.Contains(text, "`") {
		return foundCommand{}, false
	}
	s := strings.TrimSpace(comment.get().ReplaceAllString(text, ""))
	command, expect := s, ""
	if at := bareArrow.get().FindStringIndex(s); at != nil {
		command, expect = strings.TrimSpace(s[:at[0]]), s[at[1]:]
	}
	command = strings.TrimSpace(prompt.get().ReplaceAllString(command, ""))
	if !looksCommand(command, sure && expect != "") && !(sure && looksCommand(command, true)) {
		return foundCommand{}, false
	}
	if expect == "" && !sure && !shellish(command) {
		return foundCommand{}, false
	}
	return foundCommand{command: command, expect: strings.TrimSpace(prose(expect))}, true
}

// shellish reports a line that could hardly be a sentence: bare words are a command only when nothing speaks against it.
func shellish(s string) bool {
	if hasHan(s) || strings.ContainsAny(s, "，。,;") || strings.HasSuffix(s, ".") && !strings.HasSuffix(s, " .") && !strings.HasSuffix(s, "...") {
		return false
	}
	words := strings.Fields(s)
	for _, w := range words[1:] {
		switch strings.ToLower(w) {
		case "passes", "pass", "succeeds", "is", "are", "the", "and", "returns", "works", "exits", "should", "must", "with", "without", "to", "no", "green", "all", "of", "for", "a", "an", "or", "fails", "prints":
			return false
		}
	}
	return len(words) <= 12
}

// expect gives the last command the expectation that stands on a line of its own.
func (b *builder) expect(n *node, text string, no int) {
	if len(n.acceptance) == 0 {
		b.criterion(n, Criterion{Text: short(prose(text), 2000), Line: no}, 0)
		return
	}
	last := &n.acceptance[len(n.acceptance)-1]
	if last.Command != "" && last.Expect == "" {
		last.Expect = balance(prose(arrow.get().ReplaceAllString(text, "")))
		return
	}
	last.Text = short(last.Text+"; "+prose(text), 2000)
}

// codeValue reads a block of code as the value of a field.
func (b *builder) codeValue(n *node, k key, bl *block) {
	switch k {
	case keyAcceptance, keyVerify, keyCommand:
		for _, c := range b.codeCriteria(bl) {
			b.criterion(n, c, 0)
		}
	case keyEvidence:
		if t := prose(joinLines(bl.lines)); t != "" {
			n.evidence = append(n.evidence, short(t, 2000))
		}
	}
}

var shells = set("bash sh shell zsh fish console shell-session shellsession terminal powershell pwsh ps1 cmd bat batch dos text txt")

var setup = compile(`^(?:cd|pushd|export|source|set|\.|\$env:[A-Za-z_]\w*\s*=|[A-Za-z_]\w*=\S*$)(?:\s|$)`)
var trailing = compile(`\s+(?:#|//)\s*(?:(?:→|⇒|=>|-->|->)\s*|(?i:expect(?:ed)?|预期|期望|应|exit)\s*[:：]?\s*)(.*)$`)
var commentTail = compile(`\s+#\s.*$`)
var heredoc = compile(`<<-?\s*['"]?([A-Za-z_]\w*)['"]?`)

// codeCriteria makes a criterion of each command of a block of code. Lines that only prepare, such as cd, go with the
// commands behind them.
func (b *builder) codeCriteria(bl *block) []Criterion {
	if bl.lang != "" && !shells[bl.lang] {
		return nil
	}
	prompted := false
	for _, l := range bl.lines {
		prompted = prompted || strings.HasPrefix(strings.TrimSpace(l.text), "$ ")
	}
	sure := bl.lang != "" && bl.lang != "text" && bl.lang != "txt"
	var out []Criterion
	var before []string
	for _, l := range logical(bl.lines) {
		text := strings.TrimSpace(l.text)
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "REM ") || prompted && !strings.HasPrefix(text, "$ ") {
			continue
		}
		text = strings.TrimPrefix(text, "$ ")
		expect := ""
		if m := trailing.get().FindStringSubmatchIndex(text); m != nil {
			expect, text = text[m[2]:m[3]], strings.TrimSpace(text[:m[0]])
		} else if at := innerArrow.get().FindStringIndex(text); at != nil && looksCommand(text[:at[0]], true) {
			expect, text = text[at[1]:], strings.TrimSpace(text[:at[0]])
		} else if at := commentTail.get().FindStringIndex(text); at != nil && !strings.ContainsAny(text[at[0]:], `"'`) {
			text = strings.TrimSpace(text[:at[0]])
		}
		if setup.get().MatchString(text) && !strings.Contains(text, "&&") && !strings.Contains(text, ";") {
			before = append(before, text)
			continue
		}
		if !sure && !looksCommand(text, true) || !hasLetter(text) {
			continue
		}
		out = append(out, Criterion{
			Text: "`" + short(prose(text), 1900) + "`" + arrowTo(expect), Command: text, Before: strings.Join(before, "\n"), Expect: prose(expect), Line: l.no,
		})
	}
	return out
}

func arrowTo(expect string) string {
	if expect = prose(expect); expect != "" {
		return " -> " + expect
	}
	return ""
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
		if m := heredoc.get().FindStringSubmatch(l.text); m != nil {
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
	return strings.Count(strings.ReplaceAll(s, `\'`, ""), "'")%2 == 1 && strings.Count(s, `"`)%2 == 0 && !strings.Contains(s, "#") && strings.Contains(s, " -c '")
}

var pathLike = compile(`^(?:\./)?[\p{L}\p{N}_.@+-]+(?:/[\p{L}\p{N}_.@+ -]+)*\.[A-Za-z][A-Za-z0-9]{0,7}$`)

// pathsIn finds the files that a text names: in backticks, or as words that look like one.
func pathsIn(s string) []string {
	var out []string
	add := func(w string) {
		w = strings.TrimPrefix(strings.TrimSpace(w), "./")
		if len(out) < 50 && pathLike.get().MatchString(w) && plan.CheckPath(w) == nil && !versionLike.get().MatchString(w) && !strings.HasPrefix(w, "www.") {
			out = append(out, w)
		}
	}
	for _, p := range spans(linkText.get().ReplaceAllString(s, "$1")) {
		if p.code {
			add(p.text)
			continue
		}
		for _, w := range strings.FieldsFunc(p.text, func(r rune) bool { return strings.ContainsRune(" ,，;；、()（）\"'*|", r) }) {
			add(strings.TrimRight(w, ".。:："))
		}
	}
	return out
}

var versionLike = compile(`^v?\d+(?:\.\d+)*(?:\.x)?$|^(?i:e\.g|i\.e|etc|node\.js|vue\.js|next\.js|three\.js|d3\.js|asp\.net)$`)
