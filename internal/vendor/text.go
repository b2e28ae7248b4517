package vendor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/pattern"
)

// A piece is what we want in a file of this name. Each way into a file has a way to take it out, which also says
// whether the file is ours and goes.
type piece struct{ name, text string }

func (p piece) add(as, text string, exists bool) (string, error) {
	switch {
	case as == "file":
		return p.text + p.seal(p.text) + "\n", nil
	case as == "block":
		return p.addBlock(text, exists)
	case !exists:
		return p.text, nil
	}
	return p.mergeJSON(text, (*merge).add)
}

func (p piece) take(as, text string) (rest string, gone bool, err error) {
	switch as {
	case "file":
		whole := strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		last := strings.LastIndexByte(whole, '\n') + 1
		if whole[last:] != p.seal(whole[:last]) {
			return text, false, errors.New("somebody else wrote or changed it; take it away yourself")
		}
		return "", true, nil
	case "block":
		return p.takeBlock(text)
	}
	rest, err = p.mergeJSON(text, func(m *merge, in *document.Node, want document.Node) error {
		gone = m.take(in, want) || strings.ReplaceAll(text, "\r\n", "\n") == p.text
		return nil
	})
	return rest, gone, err
}

// comment makes a line a comment in the file's language.
func (p piece) comment(line string) string {
	switch path.Ext(p.name) {
	case ".md", ".mdc":
		return "<!-- " + line + " -->"
	case ".js":
		return "// " + line
	}
	return "# " + line
}

// seal is the last line of a file of our own: whatever version wrote it, it tells whether somebody changed the file.
func (p piece) seal(text string) string {
	return p.comment(fmt.Sprintf("git wf setup wrote this: %.6x", sha256.Sum256([]byte(text))))
}

// tables are lines of TOML that a table at the end would contradict.
var tables = pattern.Compile(`(?m)^[ \t]*\[?[ \t]*["']?mcp_servers["']?[ \t]*(=|\.[ \t]*["']?git-wf\b)`)

// addBlock puts a marked block at the end. By the line ends around it takeBlock knows how the text ended before.
func (p piece) addBlock(text string, exists bool) (string, error) {
	eol, toml := lineEnd(text), path.Ext(p.name) == ".toml"
	if toml && tables.Get().MatchString(text) {
		return text, errors.New("mcp_servers has git-wf already, or can't get it in a table of its own")
	}
	lines := p.comment("git wf: begin") + "\n" + p.text + p.comment("git wf: end")
	block := strings.ReplaceAll(lines, "\n", eol)
	switch {
	case !exists:
		return block + eol, nil
	case text == "" || strings.HasSuffix(text, "\n"):
		return text + eol + block + eol, nil
	}
	return text + eol + eol + block, nil
}

func (p piece) takeBlock(text string) (rest string, gone bool, err error) {
	begin, end := p.comment("git wf: begin"), p.comment("git wf: end")
	from := strings.Index("\n"+text, "\n"+begin)
	if from < 0 {
		return text, false, nil
	}
	n := strings.Index(text[from:], "\n"+end)
	if n < 0 {
		return text, false, fmt.Errorf("it has the line %q without %q below: take it out", begin, end)
	}
	to := from + n + 1 + len(end)
	eol := lineEnd(text[from:to])
	before, led := strings.CutSuffix(text[:from], eol)
	after, ended := strings.CutPrefix(text[to:], eol)
	if text[to:] == "" && !ended {
		before = strings.TrimSuffix(before, eol)
	}
	return before + after, !led && before+after == "", nil
}

func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// sameMarks reports whether two texts differ only in the order and the layout of what they say: what is ours may have
// been moved.
func sameMarks(a, b string) bool {
	layout := func(r rune) bool { return strings.ContainsRune(" \t\r\n,{}[]", r) }
	marks := func(s string) []string { return slices.Sorted(strings.FieldsFuncSeq(s, layout)) }
	return slices.Equal(marks(a), marks(b))
}
