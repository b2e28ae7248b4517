package outline

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// key is the meaning of a field, whatever word the source has for it.
type key string

const (
	keyStatus      key = "status"
	keyAcceptance  key = "acceptance"
	keyVerify      key = "verify" // how acceptance is checked: commands, mostly
	keyEvidence    key = "evidence"
	keyDeliverable key = "deliverable"
	keyFiles       key = "files"
	keyDepends     key = "depends"
	keyEstimate    key = "estimate"
	keyCovers      key = "covers"
	keyDescription key = "description"
	keySteps       key = "steps"
	keyRequire     key = "requirements" // of the whole: the root checklist
	keyTitle       key = "title"
	keyID          key = "id"
	keyGroup       key = "milestone"
	keyCommand     key = "command"
	keyExpect      key = "expect"
	keyOther       key = "other" // a known word that the plan has no use for; it ends the field before it
)

// ofTask reports a field that only a task has.
func (k key) ofTask() bool {
	return k == keyStatus || k == keyAcceptance || k == keyEvidence || k == keyDepends || k == keyEstimate
}

// part is a field, or text without one, of a paragraph.
type part struct {
	key   key
	lines []line // the value
	raw   []line // key and value, as they stand
}

// value is what the field is set to: of one that only the description keeps, the key too.
func (p part) value() []line {
	if p.key == keyOther && len(p.lines) > 0 {
		return p.raw
	}
	return p.lines
}

func (p part) text() string { return joinLines(p.lines) }

var separators = pattern.Compile(`\s+[|·•]\s+|\s*[｜丨]\s*|\s+(?:—|–|--?)\s+|\s*[;；]\s*|[\s\x{3000}]{2,}|\x{3000}|，|,\s+`)

// fieldsIn cuts lines into fields. A line that begins with no known key belongs to the field before it.
func fieldsIn(lines []line) []part {
	var out []part
	for _, l := range lines {
		for _, piece := range fieldLine(l.text) {
			k, value := splitField(piece)
			if k == "" {
				if len(out) == 0 {
					out = append(out, part{})
				}
				last := &out[len(out)-1]
				last.lines = append(last.lines, line{piece, l.no})
				last.raw = append(last.raw, line{piece, l.no})
				continue
			}
			p := part{key: k, raw: []line{{piece, l.no}}}
			if value != "" {
				p.lines = []line{{value, l.no}}
			}
			out = append(out, p)
		}
	}
	return out
}

// fieldLine cuts a line that holds several fields: "status: todo | owner: a | estimate: 2d".
func fieldLine(s string) []string {
	if len(s) > maxLine {
		return []string{s}
	}
	at := separators.Get().FindAllStringIndex(s, -1)
	all := at
	switch keyOf(s) {
	case "", keyAcceptance, keyVerify, keyEvidence, keyDescription, keySteps, keyCommand:
		// In running text a separator separates nothing; but a bar between keys does.
		at = bars(s, at)
	}
	var out []string
	start := 0
	for _, cut := range all {
		if strings.Count(s[:cut[0]], "`")%2 == 1 {
			continue
		}
		rest := s[cut[1]:]
		if withColon.Get().MatchString(rest) && expectWord.Get().MatchString(rest) ||
			slices.ContainsFunc(at, func(c []int) bool {
				return c[0] == cut[0]
			}) && beginsOther(rest) {
			out = append(out, s[start:cut[0]])
			start = cut[1]
		}
	}
	return append(out, s[start:])
}

var (
	withColon  = pattern.Compile(`^[^:：]{1,20}[:：]`)
	expectWord = withWords(`^(?i)[*_]*(?:{behind a command})[*_]*\s*[:：]`)
)

// beginsOther reports text that begins with the key of a field of its own.
func beginsOther(s string) bool {
	switch keyOf(s) {
	case "", keyTitle, keyCommand, keyExpect, keyGroup:
		return false
	}
	return true
}

func bars(s string, at [][]int) [][]int {
	var out [][]int
	for _, cut := range at {
		switch strings.TrimSpace(s[cut[0]:cut[1]]) {
		case "|", "·", "｜", "丨", "•":
			out = append(out, cut)
		}
	}
	return out
}
