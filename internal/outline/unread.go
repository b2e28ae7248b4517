package outline

import (
	"bytes"
	"fmt"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// CodeNotRead is the code of a finding that names lines which the plan has nothing of.
const CodeNotRead = "not-read"

// took notes lines that the outline has something of, or that say where others belong.
func (b *builder) took(lines ...line) {
	for _, l := range lines {
		b.read[l.no] = true
	}
}

// notRead takes back that lines were read.
func (b *builder) notRead(lines []line) {
	for _, l := range lines {
		delete(b.read, l.no)
	}
}

// noText is a line that only marks up what stands around it: a fence, a rule, the line below the header of a table,
// tags.
var noText = pattern.Compile("^[ \t>]*(?:`{3,}[^`]*|~{3,}.*|[-|:=*_+ \t]*|<!--.*-->|(?:</?[A-Za-z][^<>]*>\\s*)+)$")

// unread names the lines of the source that nothing was read of, one finding for those that follow each other.
func (b *builder) unread(src []byte) plan.Findings {
	var out plan.Findings
	no, last, comment := 0, 0, false
	for l := range bytes.Lines(src) {
		no++
		text := string(bytes.TrimSpace(l))
		comment = comment || strings.HasPrefix(text, "<!--")
		blank := comment || noText.Get().MatchString(text)
		comment = comment && !strings.Contains(text, "-->")
		switch {
		case b.read[no]:
			last = 0
		case blank:
		case last == 0:
			out = append(out, plan.Finding{Code: CodeNotRead, File: plain.Line(b.file), Line: no, Message: "is not read",
				Found: short(clean(text), 200)})
			last = no
		default:
			last = no
			out[len(out)-1].Message = fmt.Sprintf("is not read, nor is what follows to line %d", last)
		}
	}
	return out
}
