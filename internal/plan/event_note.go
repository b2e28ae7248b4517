package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/plain"
)

// Note is something to remember: what was learnt, decided or left to do. It affects no status; those
// who work on the plan are shown it. It is recorded alone, or with the version, attempt or review that
// brought it.
type Note struct {
	Number    int       `json:"number,omitempty"` // assigned when it is recorded
	Category  string    `json:"category,omitempty"`
	TaskID    TaskID    `json:"task_id,omitempty"` // of a concern, which has no category: the task that it is about
	Text      string    `json:"text"`
	By        string    `json:"by,omitempty"` // "" for what the program wrote
	Of        string    `json:"of,omitempty"` // what brought it: IMPL-1 v2
	CreatedAt time.Time `json:"created_at,omitzero"`
	Author    Actor     `json:"-"`
}

// noteCategories are the kinds of note that can be written.
var noteCategories = [...]string{noteLearnings, "decisions", "conventions", "issues", "feedback", "debt"}

const noteLearnings = "learnings"

// maxNote is the size of the longest note, in bytes.
const maxNote = 8 << 10

// Categories are the kinds of note that can be written.
func (Note) Categories() []string { return slices.Clone(noteCategories[:]) }

// Check says why a note can't be recorded, "" if it can.
func (n Note) Check() string {
	switch {
	case !slices.Contains(noteCategories[:], n.Category):
		return fmt.Sprintf("%s is no category of notes; they are %s", plain.Quote(n.Category),
			strings.Join(noteCategories[:], ", "))
	case strings.TrimSpace(n.Text) == "":
		return "the note says nothing"
	case len(n.Text) > maxNote:
		return fmt.Sprintf("the note has %d bytes, more than %d", len(n.Text), maxNote)
	}
	return ""
}

// Apply records the note alone. It is refused for a note of no known category, or that is empty or too long.
func (n Note) Apply(s *State) (Change, error) {
	if why := n.Check(); why != "" {
		return Change{}, s.refuseSession(why, "git wf note CATEGORY TEXT")
	}
	return Change{
		Subject:  "note: " + n.Category + ": " + n.beginning(),
		Body:     n.Text,
		Trailers: []Trailer{{"Wf-Event", eventNote}, {"Wf-Agent", n.By}},
		Author:   n.Author,
		Add:      s.addNotes([]Note{n}),
	}, nil
}

// beginning is the note in one short line.
func (n Note) beginning() string {
	line, _, _ := strings.Cut(strings.TrimSpace(n.Text), "\n")
	return plain.Clip(plain.Line(line), 60)
}

// notesOf are the entries of the notes that a record brings.
func (s *State) notesOf(notes []Note, by, of string, at time.Time) []Entry {
	notes = slices.Clone(notes)
	for i := range notes {
		notes[i].By, notes[i].Of, notes[i].CreatedAt = by, of, at
	}
	return s.addNotes(notes)
}

// addNotes are the entries of notes under the next free numbers.
func (s *State) addNotes(notes []Note) []Entry {
	var add []Entry
	for i, n := range notes {
		rec := noteRecord{N: nextNumber(s.Records.Notes) + i, Category: n.Category}
		add = append(add, Entry{Path: rec.Path(), Data: n.document()})
	}
	return add
}

// The lines before a note's text. Who wrote it stands in quotes, so that no name can end its line.
const (
	noteFence = "---\n"
	noteBy    = "by: "
	noteOf    = "of: "
	noteAt    = "created_at: "
)

// document is the note's file: Markdown, with a head that says who wrote it. What the program itself writes has none.
func (n Note) document() []byte {
	if n.By == "" {
		return []byte(n.Text)
	}
	var b strings.Builder
	b.WriteString(noteFence + noteBy + strconv.Quote(n.By) + "\n")
	if n.Of != "" {
		b.WriteString(noteOf + n.Of + "\n")
	}
	fmt.Fprintf(&b, "%s%s\n%s\n%s\n", noteAt, Second(n.CreatedAt).Format(time.RFC3339), noteFence,
		strings.TrimSpace(n.Text))
	return []byte(b.String())
}

// Read is the note of a record's file. A file without a head is a note by nobody in particular.
func (r noteRecord) Read(data []byte) Note {
	n := Note{Number: r.N, Category: r.Category, Text: string(data)}
	head, text, ok := bytes.Cut(bytes.TrimPrefix(data, []byte(noteFence)), []byte(noteFence))
	if !ok || !bytes.HasPrefix(data, []byte(noteFence)) {
		return n
	}
	read := Note{Number: r.N, Category: r.Category, Text: strings.TrimSpace(string(text))}
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSuffix(line, "\n")
		if quoted, ok := strings.CutPrefix(line, noteBy); ok {
			read.By, _ = strconv.Unquote(quoted)
		}
		if of, ok := strings.CutPrefix(line, noteOf); ok {
			read.Of = of
		}
		if at, ok := strings.CutPrefix(line, noteAt); ok {
			read.CreatedAt, _ = time.Parse(time.RFC3339, at)
		}
	}
	if read.By == "" {
		return n
	}
	return read
}

// Who is who wrote the note, for people to read: claude (IMPL-1 v2). It is "" for what the program wrote.
func (n Note) Who() string {
	if n.Of == "" {
		return n.By
	}
	return n.By + " (" + n.Of + ")"
}

// Is reports whether the note came with a record of the task.
func (n Note) Is(task TaskID) bool { return strings.HasPrefix(n.Of, string(task)+" ") }
