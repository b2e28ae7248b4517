package outline

import (
	"bytes"
	"cmp"
	"strings"
	"unicode"

	"gitwf/internal/pattern"
)

// audit holds what was read against the source, line by line, and refuses a line that was lost: a command with a
// threshold that nobody would run, and a status that belongs to no task. It looks at plain lines only, so that it
// shares no mistake with what it checks. Code blocks, comments, and sections that speak of no task, such as a legend,
// are let alone.
func (b *builder) audit(src []byte, o *Outline) {
	kept, known := o.everything()
	at, ids := map[int]bool{}, map[string]bool{}
	o.Walk(func(t *Task) {
		at[t.Line], ids[norm(t.SourceID)], ids[norm(string(t.ID))] = true, true, true
	})
	no, fence, comment := 0, "", false
	for text := range bytes.Lines(src) {
		no++
		l := line{strings.TrimSpace(string(text)), no}
		m := fenceLine.Get().FindStringSubmatch(l.text)
		comment = comment || strings.HasPrefix(l.text, "<!--")
		switch {
		case fence != "":
			if closesFence(l.text, fence) {
				fence = ""
			}
		case m != nil:
			fence = m[1]
		case !comment && !b.exempted(l.no):
			b.auditCommands(l, kept, known)
			b.auditStatus(l)
			if !at[l.no] {
				b.auditTask(l, ids)
			}
		}
		comment = comment && !strings.Contains(l.text, "-->")
	}
}

var (
	fenceLine  = pattern.Compile("^(?:[ >\t]|[-*+] |\\d{1,9}[.)] )*(`{3,}|~{3,})([^`]*)$")
	markerLine = pattern.Compile(`^(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$)`)
)

func closesFence(s, fence string) bool {
	s = strings.TrimLeft(s, " \t>")
	return strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]+" \t") == ""
}

func (b *builder) exempted(no int) bool {
	for _, e := range b.exempt {
		if no >= e[0] && no <= e[1] {
			return true
		}
	}
	return false
}

func (b *builder) auditCommands(l line, kept string, known map[string]bool) {
	if !strings.Contains(l.text, "`") || len(b.fs) > 50 {
		return
	}
	for _, f := range commandsIn(spans(comment.Get().ReplaceAllString(l.text, " ")), false) {
		if is := bareText(f.command); f.pointed && isThreshold(f.expect) && !known[is] && !strings.Contains(kept, is) {
			b.find("lost-command", l.no, "the command belongs to no task", "an acceptance criterion of a task", l.text,
				"- acceptance: `go test ./...` -> exit 0")
		}
	}
}

// dressedStatus is a status in brackets in front of a name, or in code behind a bold one, which is no field.
var dressedStatus = pattern.Compile("^【([^】]{1,16})】\\s*\\S|\\*\\*\\s+`(?:status|状态)\\s*[:：=]\\s*([^`]+)`")

// auditStatus looks for a status on a line of its own, or one that is dressed like that.
func (b *builder) auditStatus(l line) {
	if b.seen[l.no] || strings.HasPrefix(l.text, "|") {
		return
	}
	text := strings.TrimSpace(strings.TrimLeft(l.text, "> "))
	text = strings.TrimPrefix(text, markerLine.Get().FindString(text))
	k, value := splitField(text)
	if m := dressedStatus.Get().FindStringSubmatch(text); m != nil {
		k, value = keyStatus, cmp.Or(m[1], m[2])
	}
	if _, is := stateOf(value); k != keyStatus || !is {
		return
	}
	b.find("lost-status", l.no, "the status belongs to no task", "a status below the heading or the item of a task",
		l.text, "### Task 1: Parse the file")
}

// auditTask looks for a line that names a task by its id and says what its status is, where no task was read, nor one
// of that id anywhere: a log speaks of tasks, too.
func (b *builder) auditTask(l line, ids map[string]bool) {
	if b.seen[l.no] || strings.HasPrefix(l.text, "|") || len(l.text) > maxLine {
		return
	}
	text := strings.TrimSpace(strings.TrimLeft(l.text, ">#*+-• \t"))
	name := readLabel(text)
	if !name.strong || name.id == "" || name.title == "" || ids[norm(name.id)] || !hasLetter(name.status.Word) ||
		name.status.isBox() {
		return
	}
	b.find("lost-task", l.no, "the task that this line names was not read", "a heading or an item for each task", l.text,
		"### Task 1: Parse the file")
}

// everything is all text that was kept, without what may differ from the source, and the commands by themselves.
func (o *Outline) everything() (string, map[string]bool) {
	var s strings.Builder
	known := map[string]bool{}
	add := func(texts ...string) {
		for _, t := range texts {
			s.WriteString(bareText(t))
			s.WriteByte('\n')
		}
	}
	add(o.Title, o.TopTask)
	for _, q := range o.Requirements {
		known[bareText(q.Command)] = true
		add(q.Text)
	}
	o.Walk(func(t *Task) {
		add(t.Title, t.Description, t.Needs)
		add(t.Evidence...)
		for _, c := range t.Acceptance {
			known[bareText(c.Command)] = true
			add(c.Text, c.Before)
		}
	})
	return s.String(), known
}

func bareText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\\' || r == '`' || hostile(r) {
			return -1
		}
		return r
	}, s)
}
