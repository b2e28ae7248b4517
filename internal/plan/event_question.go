package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// The kinds of thing that a question asks for.
const (
	AskText   = "text"
	AskFile   = "file"
	AskChoice = "choice"
)

// Question is the content of questions/qN.json: what a task needs before it can go on.
type Question struct {
	QuestionID          string    `json:"question_id"`
	TaskID              TaskID    `json:"task_id"`
	Name                string    `json:"name"` // what is asked for; of a file, the name of the input that it becomes
	Question            string    `json:"question"`
	Kind                string    `json:"kind"` // text, file or choice
	Options             []Option  `json:"options,omitempty"`
	RecommendedOptionID string    `json:"recommended_option_id,omitempty"`
	By                  string    `json:"by"` // the agent that asks
	CreatedAt           time.Time `json:"created_at"`
	// of a question to a role: which, and the number of the attempt that asks
	To      string `json:"to,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}

// entry is the record of the question under a number.
func (q Question) entry(n int) Entry {
	q.QuestionID = "q" + strconv.Itoa(n)
	return Entry{Path: q.TaskID.Dir() + "/" + (*TaskRecords)(nil).QuestionPath(n), Data: Document(q)}
}

// Option is one of the answers that a question allows.
type Option struct {
	OptionID    string `json:"option_id"`
	Description string `json:"description"`
}

// Answer is the content of answers/qN.json. Which of text, option_id and inputs it has follows from the question's
// kind.
type Answer struct {
	QuestionID string    `json:"question_id"`
	TaskID     TaskID    `json:"task_id"`
	Text       string    `json:"text,omitempty"`
	OptionID   string    `json:"option_id,omitempty"`
	Inputs     []string  `json:"inputs,omitempty"` // NAME/N of the inputs handed in with it
	By         string    `json:"by"`
	Role       string    `json:"role,omitempty"` // for which an agent answers
	CreatedAt  time.Time `json:"created_at"`
	Usage      *Usage    `json:"usage,omitempty"`
}

// Who gave the answer, for people to read.
func (a Answer) Who() string {
	if a.Role == "" {
		return a.By
	}
	return a.Role + " (" + a.By + ")"
}

// InputDocument is the content of inputs/NAME/N.json: one file that somebody handed in, and where it came from.
type InputDocument struct {
	Name      string    `json:"name"`      // of the requirement or question that it is for
	FileName  string    `json:"file_name"` // its own, without directories
	Tree      OID       `json:"tree"`      // of inputs/NAME/N/files, which holds the file
	SHA256    string    `json:"sha256"`
	Size      int64     `json:"size"`             // bytes
	Source    string    `json:"source,omitempty"` // the path that it was read from, or PLAN/TASK/vN/PATH
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// Ask records that an attempt needs answers, and the questions.
type Ask struct {
	Attempt   AddAttempt
	Questions []Question // QuestionID is assigned by Apply
}

// Apply is refused for a task that is no ACTION, and without a question.
func (e Ask) Apply(s *State) (Change, error) {
	id := e.Attempt.Attempt.TaskID
	if _, err := s.actionNamed(id); err != nil {
		return Change{}, err
	}
	if len(e.Questions) == 0 {
		return Change{}, refuse(id, "asks nothing")
	}
	c := Change{Trailers: trailers(eventQuestion, id)}
	if e.Attempt.Attempt.Kind != "" {
		attempt, err := e.Attempt.Apply(s)
		if err != nil {
			return Change{}, err
		}
		c = attempt
		c.Trailers[0].Value = eventQuestion
	}
	for i, q := range e.Questions {
		if q.TaskID = id; q.To != "" {
			q.Attempt = nextNumber(s.Records.Of(id).Attempts)
		}
		c.Add = append(c.Add, q.entry(s.Records.Of(id).nextQuestion()+i))
	}
	c.Subject = fmt.Sprintf("%s: asks %s", id, plain.Count(len(e.Questions), "question"))
	c.Body = e.Questions[0].Question
	return c, nil
}

// HandIn records files that a person hands in for a requirement of a task.
type HandIn struct {
	Task   TaskID
	Files  []InputDocument
	Author Actor
}

// Apply is refused for a task that makes no deliverable, or that has its deliverable already; of a choice it takes one
// option, once.
func (e HandIn) Apply(s *State) (Change, error) {
	t, err := s.actionNamed(e.Task)
	if err != nil {
		return Change{}, err
	}
	if t.Status == StatusDone || t.Status == StatusAbandoned {
		return Change{}, refuse(e.Task, "is %s and takes no more inputs", t.Status)
	}
	if len(e.Files) == 0 {
		return Change{}, refuse(e.Task, "no file was handed in")
	}
	for _, r := range t.Requires {
		switch {
		case r.Name != e.Files[0].Name || len(r.Options) == 0:
		case s.HandedIn(t.Task, r.Name)+len(e.Files) > 1:
			return Change{}, refuse(e.Task, "%s is one option, chosen once", plain.Line(r.Name))
		case !slices.ContainsFunc(r.Options, func(option string) bool {
			name, data := r.ChoiceFile(option)
			return e.Files[0].FileName == name && e.Files[0].SHA256 == fmt.Sprintf("%x", sha256.Sum256(data))
		}):
			return Change{}, fault.Usage("", "%s: %s wants one of the options %v", e.Task, plain.Line(r.Name),
				r.Options)
		}
	}
	add, _ := s.Records.Of(e.Task).inputEntries(e.Task, e.Files)
	return Change{
		Subject: fmt.Sprintf("%s: %s handed in for %s", e.Task, plain.Count(len(e.Files), "file"),
			plain.Line(e.Files[0].Name)),
		Trailers: trailers(eventInput, e.Task),
		Author:   e.Author,
		Add:      add,
	}, nil
}

// inputEntries are the records of files under their next free numbers, and those as an answer names them.
func (r *TaskRecords) inputEntries(id TaskID, files []InputDocument) (add []Entry, names []string) {
	next := map[string]int{}
	for _, f := range files {
		escaped := EscapeName(f.Name)
		if next[escaped] == 0 {
			next[escaped] = r.Inputs[escaped]
		}
		next[escaped]++
		names = append(names, escaped+"/"+strconv.Itoa(next[escaped]))
		at := id.Dir() + "/" + r.InputPath(escaped, next[escaped])
		add = append(add, Entry{Path: at, Data: Document(f)}, Entry{Path: strings.TrimSuffix(at, ".json") + "/files",
			OID: f.Tree})
	}
	return add, names
}

// AnswerQuestion answers one question of a task, with the files that belong to the answer.
type AnswerQuestion struct {
	Task     TaskID
	Number   int
	Question Question // as recorded
	Answer   Answer
	Files    []InputDocument
	Author   Actor
}

// Apply is refused if there is no such question, if it has its answer, or if the answer is of another form.
func (e AnswerQuestion) Apply(s *State) (Change, error) {
	if _, err := s.actionNamed(e.Task); err != nil {
		return Change{}, err
	}
	r := s.Records.Of(e.Task)
	name := "q" + strconv.Itoa(e.Number)
	switch {
	case !slices.Contains(r.Questions, e.Number):
		return Change{}, refuse(e.Task, "has no question %s", name)
	case slices.Contains(r.Answers, e.Number):
		return Change{}, refuse(e.Task, "%s is answered already", name)
	}
	a := e.Answer
	a.QuestionID, a.TaskID = name, e.Task
	add, inputs := r.inputEntries(e.Task, e.Files)
	a.Inputs = inputs
	if why := e.Question.Mismatch(&a); why != "" {
		return Change{}, fault.Usage("", "%s: %s", e.Task, why)
	}
	return Change{
		Subject:  fmt.Sprintf("%s: %s answered", e.Task, name),
		Body:     a.Text,
		Trailers: trailers(eventAnswer, e.Task),
		Author:   e.Author,
		Add:      append(add, Entry{Path: e.Task.Dir() + "/" + r.AnswerPath(e.Number), Data: Document(a)}),
		Beside:   map[string]any{e.Task.Dir() + "/" + r.QuestionPath(e.Number): &e.Question},
	}, nil
}

// answerKind is the kind of a question; one of a kind that is not known is answered with a text.
func (q Question) answerKind() string {
	if q.Kind == AskFile || q.Kind == AskChoice {
		return q.Kind
	}
	return AskText
}

// OpenQuestions are the numbers of the questions that have no answer yet.
func (t *TaskRecords) OpenQuestions() []int {
	return each.If(t.Questions, func(q int) bool { return !slices.Contains(t.Answers, q) })
}
