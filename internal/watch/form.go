package watch

import (
	"cmp"
	"fmt"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// form asks for a review of one version: a ruling and evidence for each criterion that a person judges, a reason, and a
// confirmation.
type form struct {
	task    plan.TaskID
	title   string
	version string
	approve bool
	rulings []ruling
	message string
	at      int // field: two for each ruling, then the message, then the button
	top     int // first visible row
	wrong   string
}

type ruling struct {
	Criterion
	word     string // pass, fail, none, or "" while nothing is chosen
	evidence string
}

// newForm begins a review with what was written in an earlier form for the task, if that led to no decision. What was
// chosen there counts only for the same version.
func newForm(t *Task, approve bool, draft *form) *form {
	f := &form{task: t.ID, title: t.Title, version: t.Review.Version, approve: approve}
	if draft != nil {
		f.message = draft.message
	}
	for _, c := range t.Review.Criteria {
		r := ruling{Criterion: c}
		for _, d := range draft.written() {
			if d.ID == c.ID {
				r.evidence = d.evidence
				if draft.version == f.version {
					r.word = d.word
				}
			}
		}
		f.rulings = append(f.rulings, r)
	}
	return f
}

func (f *form) written() []ruling {
	if f == nil {
		return nil
	}
	return f.rulings
}

// Decided says that a decision on the task was recorded: what was written for it is no draft any more.
func (m *Model) Decided(id plan.TaskID) { delete(m.drafts, id) }

func (f *form) messageField() int { return 2 * len(f.rulings) }
func (f *form) button() int       { return f.messageField() + 1 }

// pressForm handles a key while a review is written.
func (m *Model) pressForm(k terminal.Key) Wish {
	f := m.form
	f.wrong = ""
	switch k {
	case terminal.Escape:
		m.form = nil
		m.said = "nothing is recorded; what you wrote stays in the form"
		return Wish{}
	case terminal.Up, terminal.BackTab:
		f.at = max(f.at-1, 0)
		return Wish{}
	case terminal.Down, terminal.Tab:
		f.at = min(f.at+1, f.button())
		return Wish{}
	case terminal.Enter:
		if f.at < f.button() {
			f.at++
			return Wish{}
		}
		return m.submit()
	}
	switch {
	case f.at == f.button():
	case f.at == f.messageField():
		edit(&f.message, k)
	case f.at%2 == 1:
		edit(&f.rulings[f.at/2].evidence, k)
	default:
		f.rulings[f.at/2].turn(k)
	}
	return Wish{}
}

// turn changes the word on a criterion.
func (r *ruling) turn(k terminal.Key) {
	switch k {
	case "p", "y", "+":
		r.word = "pass"
	case "f", "n", "-":
		r.word = "fail"
	case terminal.Backspace:
		r.word = "none"
	case " ", terminal.Right, terminal.Left:
		r.word = map[string]string{"": "pass", "pass": "fail", "fail": "none", "none": "pass"}[r.word]
	}
}

// outdated says in the form that there is a newer version than the one that it is about.
func (m *Model) outdated() bool {
	f := m.form
	if t := m.byID[f.task]; t != nil && t.Review.Version == f.version {
		return false
	}
	f.wrong = fmt.Sprintf("%s is no longer the newest version of %s: look again (Esc)", f.version, f.task)
	return true
}

// submit makes the decision, if the form is complete.
func (m *Model) submit() Wish {
	f := m.form
	if m.outdated() {
		return Wish{}
	}
	d := &Decision{Task: f.task, Version: f.version, Approve: f.approve, Message: strings.TrimSpace(f.message)}
	for i, r := range f.rulings {
		evidence := strings.TrimSpace(r.evidence)
		if r.word == "" && evidence == "" {
			continue // the command knows what it makes of a criterion that it is not told of
		}
		word := cmp.Or(r.word, "none")
		if f.approve && word == "none" && r.Severity == string(plan.Must) {
			f.at, f.wrong = 2*i, r.ID+" is a MUST: say pass or fail"
			return Wish{}
		}
		d.Rulings = append(d.Rulings, Ruling{Criterion: r.ID, Word: word, Evidence: evidence})
	}
	if !f.approve && d.Message == "" && !someFail(d.Rulings) {
		f.at, f.wrong = f.messageField(), "say why, and what to change"
		return Wish{}
	}
	m.form = nil
	m.said = "recording ..."
	return Wish{Decide: d}
}

func someFail(rulings []Ruling) bool {
	for _, r := range rulings {
		if r.Word == "fail" {
			return true
		}
	}
	return false
}

// lines are the form's rows, and the row of the current field.
func (f *form) lines(columns int, ascii bool) (rows []Line, at int) {
	add := func(field int, style Style, text string) {
		lead := "  "
		if field == f.at {
			lead, at = "> ", len(rows)
		}
		for i, row := range terminal.Wrap(terminal.Text(text, ascii), max(columns-2, 2)) {
			if i > 0 {
				lead = "  "
			}
			rows = append(rows, Line{{lead, Strong}, {row, style}})
		}
	}
	for i, r := range f.rulings {
		add(-1, Plain, fmt.Sprintf("%s %s: %s", r.ID, r.Severity, plain.Line(r.Statement)))
		word, style := "( ) pass  ( ) fail  ( ) not judged", Faint
		switch r.word {
		case "none":
			word = "( ) pass  ( ) fail  (*) not judged"
		case "pass":
			word, style = "(*) pass  ( ) fail  ( ) not judged", Good
		case "fail":
			word, style = "( ) pass  (*) fail  ( ) not judged", Bad
		}
		add(2*i, style, "   "+word)
		add(2*i+1, Plain, "   evidence: "+f.text(2*i+1, r.evidence))
	}
	if len(f.rulings) == 0 {
		add(-1, Faint, "Its criteria are judged by their commands.")
	} else if f.approve {
		add(-1, Faint, "What you leave open passes, recorded as "+plan.AsAWhole+".")
	}
	add(-1, Plain, "")
	label := "Why"
	if !f.approve {
		label = "Why, and what to change"
	}
	add(f.messageField(), Plain, label+": "+f.text(f.messageField(), f.message))
	add(-1, Plain, "")
	button, style := "[ Approve "+f.version+" ]", Good
	if !f.approve {
		button, style = "[ Reject "+f.version+" ]", Bad
	}
	add(f.button(), style, button)
	if f.wrong != "" {
		add(-1, Warn, f.wrong)
	}
	return rows, at
}

// text is a field's content, with a cursor in the current field.
func (f *form) text(field int, value string) string {
	if field == f.at {
		return value + "_"
	}
	return value
}
