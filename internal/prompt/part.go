package prompt

import (
	"fmt"
	"strings"
	"unicode"

	"gitwf/internal/plain"
)

// kind says what a text is, and so how soon it may be left out.
type kind uint8

// The kinds of text, in the order in which they are left out; binding text stays.
const (
	aNote kind = iota
	anAnswer
	anInput
	aSummary
	aPreparation
	theTopTask // as background
	theDiff
	aRequirement
	theCurrentPlan
	aCandidate // and the description of a leaf to be estimated
	anOutput
	aJudgement
	aRule
	aConvention
	theRejection
	binding
)

// kinds has, for each kind, its name in the prompt and the size in bytes beyond which its texts are shortened even if
// there is room. An input beyond its limit shows only its path and size.
var kinds = [...]struct {
	name  string
	limit int
}{
	aNote:          {"notes", 8 << 10},
	anAnswer:       {"earlier answers", 16 << 10},
	anInput:        {"text of inputs", MaxInputText},
	aSummary:       {"summaries of inputs", 4 << 10},
	aPreparation:   {"output of the preparation", 32 << 10},
	theTopTask:     {"the top task, as background", 8 << 10},
	theDiff:        {"the difference to the last reviewed version", 64 << 10},
	aRequirement:   {"text of requirement files", 64 << 10},
	theCurrentPlan: {"the plan as it is", 256 << 10},
	aCandidate:     {"text under review or to be estimated", MaxFileText},
	anOutput:       {"output of what was run", 8 << 10},
	aJudgement:     {"what was found too large", 8 << 10},
	aRule:          {"rules", 32 << 10},
	aConvention:    {"conventions of the repository", 32 << 10},
	theRejection:   {"text of the last rejection", 64 << 10},
	binding:        {"", 0},
}

// A part is one text of a prompt, and how much of it is shown.
type part struct {
	kind    kind
	name    string // what it is, on one line
	text    string // clean
	removed int    // control characters that clean removed
	uses    int    // how often the template prints it
	cut     cut
}

// cut says how much of a part is shown.
type cut struct {
	state cutState
	keep  int // bytes, of a shortened part
}

type cutState uint8

const (
	shownWhole cutState = iota
	shownShort
	leftOut
)

// limited is how a part is shown if there is room for everything.
func (p *part) limited() cut {
	switch limit := kinds[p.kind].limit; {
	case limit == 0 || len(p.text) <= limit:
		return cut{}
	case p.kind == anInput:
		return cut{state: leftOut}
	default:
		return cut{shownShort, limit}
	}
}

// block is the part as it stands in the prompt, and the number of bytes missing from it.
func (p *part) block(c cut) (text string, missing int) {
	switch c.state {
	case leftOut:
		return fmt.Sprintf("[%s: %d bytes of text left out]", p.name, len(p.text)), len(p.text)
	case shownShort:
		text, missing = plain.Shortened(p.text, c.keep)
		return fenced(p.label(), p.header(missing), text), missing
	}
	return fenced(p.label(), p.header(0), p.text), 0
}

// label tells the prompt's reader what the text is: the task itself, or something that gives no orders.
func (p *part) label() string {
	if p.kind == binding {
		return "task"
	}
	return "material"
}

func (p *part) header(missing int) string {
	var remarks []string
	if missing > 0 {
		remarks = append(remarks, fmt.Sprintf("%d of %d bytes left out", missing, len(p.text)))
	}
	if p.removed > 0 {
		remarks = append(remarks, fmt.Sprintf("%d control characters removed", p.removed))
	}
	if len(remarks) == 0 {
		return p.name
	}
	return p.name + " (" + strings.Join(remarks, ", ") + ")"
}

// size is the length of the part's block.
func (p *part) size(c cut) int {
	text, _ := p.block(c)
	return len(text)
}

// clean makes a text fit to be printed. It removes control characters except newline and tab, and returns how many.
// Invalid UTF-8, and characters that are invisible or change the writing direction, become U+FFFD, so that the reader
// sees that there is something. Lines end in a newline.
func clean(s string) (text string, removed int) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			removed++
			return -1
		case hidden(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return text, removed
}

// hidden reports marks that reorder the shown text, and tag characters, which can hide a text.
func hidden(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || r >= 0xE0000 && r <= 0xE007F || r == '\ufeff'
}

// line is a text on one line.
func line(s string) string {
	s, _ = clean(s)
	return strings.Join(strings.Fields(s), " ")
}

// leastFence is the length of the shortest fence.
const leastFence = 4

// fenced fences a clean text, with a label and a name. The fence is longer than any run of tildes in the text, so no
// line of the text ends it. The result ends without a newline.
func fenced(label, name, text string) string {
	fence := strings.Repeat("~", max(leastFence, longestRun(text, '~')+1))
	return fence + " " + label + ": " + name + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
