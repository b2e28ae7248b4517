package outline

import (
	"fmt"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/relpath"
)

// criterion adds a criterion to a task. check is its box, 0 without one.
func (b *builder) criterion(n *node, c Criterion, check rune) {
	if b.criteria++; b.criteria > maxCriteria {
		if !b.full {
			b.full = true
			b.find("too-many-criteria", c.Line, "the outline has too many criteria", fmt.Sprintf("at most %d", maxCriteria),
				"more", "")
		}
		return
	}
	if n.pending != nil && c.Command != "" {
		c.also(n.pending.text)
		n.pending = nil
	}
	n.acceptance = append(n.acceptance, c)
	if check != 0 {
		n.checks = append(n.checks, words().boxes[check])
	}
}

var softTags = pattern.Compile(`(?i)(?:^|[\s（(\[*])(?:optional|nice to have|should[:：]|可选|选做)(?:$|[\s）)\]*:：])`)

// criteriaOf makes criteria of a text: one for each command in it, or one without a command.
func (b *builder) criteriaOf(n *node, k key, lines []line, check rune) {
	b.took(lines...)
	text := withoutQuotes(strings.TrimSpace(joinLines(lines)))
	if isNothing(text) {
		return
	}
	if no := openTick(lines); no > 0 {
		b.find("unclosed-code", no, "a backtick is never closed, so that the command has no end",
			"`command` -> what it has to show", text, "`go test ./...` -> exit 0")
		return
	}
	if m := pointer.Get().FindString(text); m != "" && isThreshold(text[len(m):]) && len(n.acceptance) > 0 {
		b.expect(n, text, lines[0].no)
		return
	}
	base := Criterion{Text: short(prose(text), 2000), Optional: softTags.Get().MatchString(text), Line: lines[0].no}
	parts := spans(comment.Get().ReplaceAllString(text, " "))
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
	if f := &found[0]; len(found) == 1 && f.expect == "" {
		if rest := prose(rejoin(parts[min(f.end, len(parts)):])); measured.Get().MatchString(strings.ToLower(rest)) {
			f.expect = strings.Trim(rest, " ,，;；.。:：")
		}
	}
	from := 0
	for i, f := range found {
		c := base
		c.Command, c.Expect = f.command, f.expect
		end := f.end
		if i == len(found)-1 {
			end = len(parts)
		}
		if f.start < len(parts) {
			around := prose(rejoin(parts[min(from, f.start):f.start]) + " " +
				rejoin(parts[min(f.start+1, len(parts)):min(end, len(parts))]))
			if more := unmet(around, f.expect, f.command); more != "" {
				c.Expect = strings.TrimPrefix(f.expect+"; "+more, "; ")
			}
		}
		if len(found) > 1 {
			c.Text = short(strings.Trim(prose(rejoin(parts[min(from, len(parts)):min(end, len(parts))])), " ，,;；、"), 2000)
			from = end
		}
		c.Line = lineOf(lines, f.command)
		b.criterion(n, c, check)
		check = 0
	}
}

// openTick is the line of a backtick that begins code without an end; 0 if there is none.
func openTick(lines []line) int {
	var all []string
	for _, l := range lines {
		all = append(all, l.text)
	}
	for _, p := range spans(strings.Join(all, "\n")) {
		at := strings.Index(strings.ReplaceAll(p.text, "\\`", "  "), "`")
		if p.code || at < 0 {
			continue
		}
		for _, l := range lines {
			if strings.Contains(l.text, strings.SplitN(p.text[at:], "\n", 2)[0]) {
				return l.no
			}
		}
		return lines[0].no
	}
	return 0
}

// withoutQuotes takes off the quotes that YAML wants around a text.
func withoutQuotes(s string) string {
	if len(s) > 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && !strings.Contains(s[1:len(s)-1], s[:1]) {
		return s[1 : len(s)-1]
	}
	return s
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

var bareArrow = pattern.Compile(`\s*` + arrowSigns + `\s*`)

// bareCommand reads a command that stands without backticks: "pytest tests -q -> exit 0".
func bareCommand(text string, sure bool) (foundCommand, bool) {
	if strings.Contains(text, "`") {
		return foundCommand{}, false
	}
	s := strings.TrimSpace(comment.Get().ReplaceAllString(text, ""))
	command, expect := s, ""
	if at := bareArrow.Get().FindStringIndex(s); at != nil {
		command, expect = strings.TrimSpace(s[:at[0]]), s[at[1]:]
	}
	command = strings.TrimSpace(prompt.Get().ReplaceAllString(command, ""))
	first, _, _ := strings.Cut(command, " ")
	known := listed("program", first) && isThreshold(expect)
	if !known && !looksCommand(command, sure && expect != "") && !(sure && looksCommand(command, true)) {
		return foundCommand{}, false
	}
	if expect == "" && !sure && !shellish(command) {
		return foundCommand{}, false
	}
	return foundCommand{command: command, expect: strings.TrimSpace(prose(expect))}, true
}

// shellish reports a line that could hardly be a sentence: bare words are a command only when nothing speaks against
// it.
func shellish(s string) bool {
	if hasHan(s) || strings.ContainsAny(s, "，。,;") || strings.HasSuffix(s, ".") && !strings.HasSuffix(s, " .") &&
		!strings.HasSuffix(s, "...") {
		return false
	}
	all := strings.Fields(s)
	for _, w := range all[1:] {
		if listed("word of a sentence", strings.ToLower(w)) {
			return false
		}
	}
	return len(all) <= 12
}

// settle makes a criterion of a threshold that no command has followed.
func (b *builder) settle(n *node) {
	if p := n.pending; p != nil {
		n.pending = nil
		b.criterion(n, Criterion{Text: short(prose(p.text), 2000), Line: p.no}, 0)
	}
}

// expect gives the last command the expectation that stands on a line of its own; where the first one stands before any
// command, they all belong to what follows them.
func (b *builder) expect(n *node, text string, no int) {
	b.read[no] = true
	if n.ahead = n.ahead || len(n.acceptance) == 0; n.ahead {
		b.settle(n)
		n.pending = &line{text, no}
		return
	}
	last := &n.acceptance[len(n.acceptance)-1]
	if last.Command != "" {
		last.also(balance(arrow.Get().ReplaceAllString(text, "")))
		return
	}
	last.Text = short(last.Text+"; "+prose(text), 2000)
}

// codeValue reads a block of code as the value of a field.
func (b *builder) codeValue(n *node, k key, bl *block) {
	switch k {
	case keyAcceptance, keyVerify, keyCommand:
		for _, c := range b.codeCriteria(bl) {
			b.took(bl.lines...)
			b.criterion(n, c, 0)
		}
	case keyEvidence:
		b.took(bl.lines...)
		if t := prose(joinLines(bl.lines)); t != "" {
			n.evidence = append(n.evidence, short(t, 2000))
		}
	}
}

var pathLike = pattern.Compile(`^(?:\./)?[\p{L}\p{N}_.@+-]+(?:/[\p{L}\p{N}_.@+ -]+)*\.[A-Za-z][A-Za-z0-9]{0,7}$`)

// pathsIn finds the files that a text names: in backticks, or as words that look like one.
func pathsIn(s string) []string {
	var out []string
	add := func(w string) {
		w = strings.TrimPrefix(strings.TrimSpace(w), "./")
		if len(out) < 50 && pathLike.Get().MatchString(w) && relpath.Check(w) == nil && !versionLike.Get().MatchString(w) &&
			!strings.HasPrefix(w, "www.") {
			out = append(out, w)
		}
	}
	for _, p := range spans(linkText.Get().ReplaceAllString(s, "$1")) {
		if p.code {
			add(p.text)
			continue
		}
		for _, w := range strings.FieldsFunc(p.text, func(r rune) bool {
			return strings.ContainsRune(" ,，;；、()（）\"'*|", r)
		}) {
			add(strings.TrimRight(w, ".。:："))
		}
	}
	return out
}

var versionLike = pattern.Compile(`^v?\d+(?:\.\d+)*(?:\.x)?$|^(?i:e\.g|i\.e|etc|node\.js|vue\.js|next\.js` +
	`|three\.js|d3\.js|asp\.net)$`)
