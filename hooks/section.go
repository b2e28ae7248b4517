package hooks

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"gitwf/internal/pattern"
)

// A stripped is a hook file without our section.
type stripped struct {
	rest  []byte
	found bool
	made  string // what the begin line said
}

// stripSection removes our section from a hook file. If only one of the two marks is left it fails: nobody can tell
// then which lines are whose.
func stripSection(content []byte) (stripped, error) {
	begin, end := -1, -1
	var made string
	for at := 0; at < len(content); {
		next := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := string(content[at:next])
		if begin < 0 && strings.HasPrefix(line, beginMark) {
			begin = at
			made, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, beginMark)), ",")
		}
		if begin >= 0 && strings.HasPrefix(line, endMark) {
			end = next
			break
		}
		at = next
	}
	if begin < 0 {
		return stripped{rest: content}, nil
	}
	if end < 0 {
		return stripped{}, fmt.Errorf("the section that starts with %q has lost its last line, %q: "+
			"delete the section by hand", beginMark, endMark)
	}
	rest := append(bytes.Clone(content[:begin]), content[end:]...)
	return stripped{rest: rest, found: true, made: made}, nil
}

// insertSection puts a section after the shebang line of a script.
func insertSection(script []byte, section string) []byte {
	at := bytes.IndexByte(script, '\n') + 1
	out := append(bytes.Clone(script[:at]), section...)
	return append(out, script[at:]...)
}

// isShell reports whether an interpreter runs the section correctly.
func isShell(name string) bool {
	switch strings.TrimSuffix(name, ".exe") {
	case "sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh":
		return true
	}
	return false
}

// plainOptions are the shell options under which the section still works.
var plainOptions = pattern.Compile(`^-[efux]+$`)

// endsInExec matches a last command that replaces the shell.
var endsInExec = pattern.Compile(`(^|[;&|{(]\s*|\b(then|else|do)\s+)exec(\s|$)`)

// uneditable says why a hook with this content can't take a section; it is empty for a plain shell script.
func uneditable(content []byte) string {
	if bytes.IndexByte(content, 0) >= 0 {
		return "is not a script"
	}
	line, rest, ok := bytes.Cut(content, []byte("\n"))
	if !ok || !bytes.HasPrefix(line, []byte("#!")) {
		return "has no line that names a shell"
	}
	if bytes.HasSuffix(line, []byte("\r")) {
		return "has a carriage return after its shell's name"
	}
	words := strings.Fields(string(line[2:]))
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) == 0 || !isShell(path.Base(words[0])) {
		return "is in a language other than the shell's"
	}
	for _, w := range words[1:] {
		if !plainOptions.Get().MatchString(w) {
			return "starts its shell with options"
		}
	}
	if endsInExec.Get().MatchString(lastCommand(string(rest))) {
		return "ends in exec"
	}
	return ""
}

// lastCommand returns the last line of a script that is not a comment, with the lines that it continues.
func lastCommand(script string) string {
	script = strings.ReplaceAll(script, "\r\n", "\n")
	script = strings.ReplaceAll(script, "\\\n", " ")
	last := ""
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			last = line
		}
	}
	return last
}
