package outline

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// field sets a field of n to the value on its own line.
func (b *builder) field(n *node, k key, lines []line, check rune) {
	n.hasField = n.hasField || k != keyOther && k != keyDescription && k != ""
	b.value(n, k, lines, check)
}

// value takes a value in: text of one paragraph.
func (b *builder) value(n *node, k key, lines []line, check rune) {
	text := joinLines(lines)
	if len(lines) == 0 || prose(text) == "" {
		return
	}
	b.took(lines...)
	no := lines[0].no
	refs := func(into *[]string, find func(string) []string) {
		*into = append(*into, find(text)...)
		for _, l := range lines {
			if len(find(l.text)) == 0 {
				b.notRead([]line{l})
			}
		}
	}
	switch k {
	case keyStatus, keyEvidence, keyDeliverable, keyFiles, keyDepends, keyEstimate, keyCovers, keyRequire, keyID, keyGroup:
		if n == b.root {
			b.rootAt = append(b.rootAt, lines...)
		}
	}
	switch k {
	case keyStatus:
		b.status(n, text, no)
	case keyAcceptance, keyVerify, keyCommand:
		b.criteriaOf(n, k, lines, check)
	case keyExpect:
		b.expect(n, text, no)
	case keyEvidence:
		if !isNothing(text) {
			n.evidence = append(n.evidence, short(prose(text), 2000))
		}
	case keyDeliverable:
		refs(&n.paths, pathsIn)
	case keyFiles:
		refs(&n.files, pathsIn)
	case keyDepends:
		n.needs = append(n.needs, short(prose(text), 500))
		n.needsLine = no
	case keyEstimate:
		if d := daysIn(text); d > 0 {
			n.days = d
		} else {
			b.notRead(lines)
		}
	case keyCovers:
		refs(&n.covers, refsIn)
	case keyRequire:
		if b.root == n || strings.Trim(plainText(text), "0123456789., 、，") == "" {
			refs(&n.covers, refsIn)
			return
		}
		asStep(n, func() { b.criteriaOf(n, keyAcceptance, lines, check) })
		b.describe(n, text, lines...)
	case keyID:
		if n.label.id == "" {
			n.label.id, n.label.strong = clean(plainText(text)), true
		}
	case keyTitle:
		if n == b.root && b.title == "" {
			b.title, b.titleAt = short(plainText(text), 200), no
			return
		}
		b.describe(n, text, lines...)
	case keyGroup:
		if n != b.root && n.group == "" {
			n.group = plainText(text)
		}
	case keyOther:
		if k, v := splitField(text); n == b.root {
			b.notRead(lines)
		} else if k == "" || !isNothing(v) {
			b.describe(n, text, lines...)
		}
	default:
		b.describe(n, text, lines...)
	}
}

func isNothing(s string) bool {
	s = strings.ToLower(strings.Trim(prose(s), " .。`*_-—()（）|>"))
	return s == "" || listed("nothing", s)
}

func (b *builder) status(n *node, text string, no int) {
	b.seen[no] = true
	state, ok := stateOf(text)
	word := short(prose(text), 200)
	if strings.Trim(plainText(text), "-—– ") == "" {
		return
	}
	if !ok {
		if n.badStatus == nil {
			n.badStatus = &line{word, no}
		}
		return
	}
	n.statuses = append(n.statuses, Status{State: state, Word: statusWord(word), Line: no, part: b.part})
}

// statusWord is a status without its emphasis, as the source has it otherwise.
func statusWord(s string) string {
	return strings.TrimSpace(strings.Trim(plainText(s), "`"))
}

// values takes blocks in as the value of a field.
func (b *builder) values(n *node, k key, blocks []*block) {
	for _, bl := range blocks {
		switch bl.kind {
		case paraBlock:
			for _, p := range fieldsIn(bl.lines) {
				sub := k
				if p.key == keyCommand || p.key == keyExpect || p.key == keyStatus || p.key == keyEvidence {
					sub = p.key
				} else if p.key != "" {
					// Running text: the key is part of it.
					b.value(n, k, bl.lines, 0)
					break
				}
				if sub == keyStatus && k != keyStatus {
					sub = k
				}
				b.value(n, sub, p.lines, 0)
			}
		case listBlock:
			for _, it := range bl.items {
				b.valueItem(n, k, it)
			}
		case codeBlock:
			b.codeValue(n, k, bl)
		case tableBlock:
			b.tableValue(n, k, bl)
		}
	}
}

// valueItem takes an item in as part of a field's value, and what is nested below it.
func (b *builder) valueItem(n *node, k key, it *item) {
	if k == keySteps && it.check != 0 { // one with a box may serve as a criterion
		asStep(n, func() { b.valueItem(n, keyAcceptance, it) })
		return
	}
	criteria := k == keyAcceptance || k == keyVerify
	before := len(n.acceptance)
	if criteria {
		if last := b.commandItem(n, k, it); last != "" {
			b.values(n, last, it.kids)
			return
		}
	} else {
		b.value(n, k, it.lines, it.check)
	}
	lead := criteria && len(it.kids) > 0 && len(n.acceptance) == before+1 && n.acceptance[before].Command == ""
	b.values(n, k, it.kids)
	if lead && len(n.acceptance) > before+1 && endsInColon(joinLines(it.lines)) {
		n.acceptance = slices.Delete(n.acceptance, before, before+1) // what only leads in is no criterion
	}
}

// commandItem reads the text of an item of acceptance: as it stands, or cut into command and threshold where it names
// those. last is then the key of the last of them, which what is nested below the item belongs to; else "".
func (b *builder) commandItem(n *node, k key, it *item) (last key) {
	var text []line
	var commands, thresholds []part
	for i, p := range fieldsIn(it.lines) {
		switch {
		case p.key == keyCommand:
			commands = append(commands, p)
		case p.key == keyExpect:
			thresholds = append(thresholds, p)
		default:
			text = append(text, p.raw...)
			continue
		}
		if i == 0 || last != "" {
			last = p.key
		}
	}
	if len(text) > 0 {
		b.value(n, k, text, it.check)
	}
	for _, p := range commands {
		b.value(n, keyCommand, p.lines, it.check)
	}
	for _, p := range thresholds {
		b.value(n, keyExpect, p.lines, 0)
	}
	return last
}

func (b *builder) describe(n *node, text string, at ...line) {
	t := prose(text)
	if t == "" || n == b.root && len(n.text) > 50 || len(n.text) > 500 {
		b.notRead(at)
		return
	}
	b.took(at...)
	if n == b.root {
		b.introAt = append(b.introAt, at...)
	}
	n.text = append(n.text, t)
}

// promote takes text in as a criterion that shows by an arrow to a threshold what it is, wherever it stands.
func (b *builder) promote(n *node, lines []line) bool {
	if !pointsOut(joinLines(lines)) {
		return false
	}
	if n == b.root {
		b.requirement(lines)
		return true
	}
	b.criteriaOf(n, keyAcceptance, lines, 0)
	return true
}

// pointsOut reports text with a command and an arrow to a threshold.
func pointsOut(text string) bool {
	for _, f := range commandsIn(spans(text), false) {
		if f.pointed && isThreshold(f.expect) {
			return true
		}
	}
	return false
}

var refs = pattern.Compile(`[A-Za-z]{1,8}-?\d+(?:[.-]\d+)*|\d+(?:\.\d+)+|\d+`)
var idLike = pattern.Compile(`^[\[(（]?([A-Z]{1,6}-?\d+(?:\.\d+)*|\d+(?:\.\d+)+)[\])）]?\s*[:：.、\s—–-]`)

func refsIn(s string) []string {
	var out []string
	for _, r := range refs.Get().FindAllString(plainText(s), 100) {
		out = append(out, strings.ToUpper(r))
	}
	return out
}
