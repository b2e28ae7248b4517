package backend

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"

	"gitwf/internal/process"
	"gitwf/internal/secret"
)

// lookup finds a variable of an environment; the last one wins, as for a process.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return ""
}

// logWriter passes on whole lines, without secrets and control characters, up to a number of bytes.
type logWriter struct {
	out     io.Writer
	secrets secret.Mask
	left    int
	line    []byte
}

// Limits of a log, in bytes: of all of it, and of one line before it is cut in two. A cut through a secret would hide
// it, so the writer keeps back the length of the longest one.
const (
	maxLog  = 1 << 20
	maxLine = 64 << 10
)

func newLog(out io.Writer, secrets secret.Mask) *logWriter {
	return &logWriter{out: out, secrets: secrets, left: maxLog}
}

// Write never fails: a log that can't be written does not end the work.
func (w *logWriter) Write(p []byte) (int, error) {
	n := len(p)
	if w.out == nil || w.left <= 0 {
		return n, nil
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			i = len(p)
		}
		w.line = append(w.line, p[:i]...)
		p = p[i:]
		if w.line[len(w.line)-1] == '\n' {
			w.flush(len(w.line))
		} else if len(w.line) > maxLine {
			w.flush(len(w.line) - w.longest())
		}
	}
	return n, nil
}

func (w *logWriter) longest() int {
	return min(w.secrets.Longest(), maxLine/2)
}

// flush writes the first n bytes of the line. Before it cuts a line, it removes secrets.
func (w *logWriter) flush(n int) {
	text := string(w.line)
	if clean := w.secrets.Text(text); n < len(w.line) && clean != text {
		text, n = clean, max(0, len(clean)-w.longest())
	} else if n == len(w.line) {
		text, n = clean, len(clean)
	}
	out := process.Printable([]byte(text[:n]))
	w.line = append(w.line[:0], text[n:]...)
	if len(out) > w.left {
		out = strings.ToValidUTF8(out[:w.left], "") + "\n[... the rest is not logged ...]\n"
		w.left = 0
	}
	w.left -= len(out)
	io.WriteString(w.out, out)
}

// Close writes the rest of the last line.
func (w *logWriter) Close() {
	if w.out != nil && w.left > 0 && len(w.line) > 0 {
		w.flush(len(w.line))
	}
}
