package process

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"gitwf/internal/pattern"
)

// readSize is how much one read takes from the pipe: half of a pipe's capacity on Linux.
const readSize = 32 << 10

// capture keeps the beginning and the end of an output of any length in bounded memory. Until readAll returns, only its
// goroutine may use the capture; others may only wait for over.
type capture struct {
	out     io.Writer // nil if nobody wants the log
	err     error     // the first error of out
	head    int64     // bytes from the beginning that go to out at once
	rest    int64     // bytes from the end that go to out after the last read
	limit   int64
	over    chan struct{} // closed when total exceeds limit
	total   int64
	dropped int64

	end  []byte // the last bytes, at least size of them and at most twice as many
	size int
}

func newCapture(out io.Writer, keep, limit int64) *capture {
	c := &capture{out: out, head: keep / 2, rest: keep - keep/2, limit: limit, over: make(chan struct{}), size: rawTail}
	if out != nil {
		c.size = max(c.size, int(c.rest))
	}
	return c
}

// readAll reads until the end, an error or the reader's deadline. It continues beyond the limit, so that a command
// which is asked to end does not block in a write.
func (c *capture) readAll(r io.Reader) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		c.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (c *capture) add(p []byte) {
	if c.total < c.head {
		c.write(p[:min(int64(len(p)), c.head-c.total)])
	}
	before := c.total
	c.total += int64(len(p))
	if before <= c.limit && c.total > c.limit {
		close(c.over)
	}
	if c.end = append(c.end, p...); len(c.end) > 2*c.size {
		c.end = append(c.end[:0], c.end[len(c.end)-c.size:]...)
	}
}

// last returns the last n bytes, or fewer if there are no more.
func (c *capture) last(n int64) []byte {
	return c.end[max(int64(len(c.end))-n, 0):]
}

// close writes the end of the log.
func (c *capture) close() {
	left := c.total - min(c.total, c.head)
	end := c.last(min(left, c.rest))
	c.dropped = left - int64(len(end))
	if c.dropped > 0 {
		c.write(fmt.Appendf(nil, "\n[... %d bytes of output dropped ...]\n", c.dropped))
	}
	c.write(end)
}

func (c *capture) write(p []byte) {
	if c.out == nil || c.err != nil || len(p) == 0 {
		return
	}
	_, c.err = c.out.Write(p)
}

func (c *capture) tail() string {
	s := Printable(c.last(rawTail))
	if len(s) > MaxTail {
		s = strings.ToValidUTF8(s[len(s)-MaxTail:], "") // without the rest of a rune that the cut split
	}
	return s
}

// MaxTail is the length of a Result's Tail, in bytes.
const MaxTail = 4 << 10

// rawTail is how much output becomes a Tail: escape sequences take room and are not shown.
const rawTail = 2 * MaxTail

// escapeSequence matches what a terminal obeys: control sequences (colours, cursor), strings such as window titles with
// their terminator, and short escapes.
var escapeSequence = pattern.Compile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)` +
	`|[ -/]*[0-OQ-WYZ\\` + "`" + `-~])`)

// Printable returns output as text that can be shown and stored: valid UTF-8, with carriage returns as newlines, and
// without anything that a terminal obeys (escape sequences, control characters, bidirectional marks). A run of bytes
// that are not UTF-8 becomes one U+FFFD.
func Printable(output []byte) string {
	s := strings.ToValidUTF8(string(output), "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = escapeSequence.Get().ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s)
}

// ReadEnd is the end of a file, at most so many bytes of it; nil if it can't be read.
func ReadEnd(name string, most int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data := make([]byte, min(info.Size(), most))
	n, _ := f.ReadAt(data, max(info.Size()-most, 0)) // less, if somebody cuts it meanwhile
	return data[:n]
}
