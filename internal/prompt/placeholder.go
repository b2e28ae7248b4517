package prompt

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"gitwf/internal/contract"
	"gitwf/internal/plain"
)

// A masker prepares the data that a template runs on: every string is on one line, and a placeholder stands for every
// Text until it is known how much of the text there is room for. A placeholder is a number between two NULs. No other
// string has a NUL, so nobody can forge one.
type masker struct {
	parts []*part
}

const placeholderMark = "\x00"

func (s *masker) text(k kind, t Text, format string, args ...any) Text {
	text, removed := clean(string(t))
	if strings.TrimSpace(text) == "" {
		return ""
	}
	s.parts = append(s.parts, &part{kind: k, name: line(fmt.Sprintf(format, args...)), text: text, removed: removed})
	return Text(placeholderMark + strconv.Itoa(len(s.parts)-1) + placeholderMark)
}

// data is a copy of the data in which every string is on one line and every Text is a placeholder.
func (s *masker) data(role contract.Role, d Data) Data {
	way := d.Way
	formOfAnswer, _ := clean(d.Contract) // it has paragraphs
	d = onLines(reflect.ValueOf(d)).Interface().(Data)
	d.Contract, d.Way = formOfAnswer, way
	top := theTopTask
	if role.TopTask() {
		top = binding
	}
	d.TopTask = s.text(top, d.TopTask, "top task")
	s.task(&d.Task)
	for i := range d.Inputs {
		in := &d.Inputs[i]
		s.files(anInput, in.what(), in.Files)
		in.Summary = s.text(aSummary, in.Summary, "summary of %s", in.what())
	}
	if r := d.Rejected; r != nil {
		r.Text = s.text(theRejection, r.Text, "rejection of v%d", r.Version)
	}
	for i, a := range d.Answers {
		d.Answers[i].Text = s.text(anAnswer, a.Text, "answer to %s", a.ID)
	}
	for i, n := range d.Notes {
		d.Notes[i].Text = s.text(aNote, n.Text, "note %d (%s)", n.Number, n.Category)
	}
	for i, r := range d.Rules {
		d.Rules[i].Text = s.text(aRule, r.Text, "rule %s", r.ID)
	}
	s.files(aConvention, "conventions", d.Conventions)
	if d.Order != nil {
		d.Order.Text = s.text(binding, d.Order.Text, "order of %s", d.Order.By)
	}
	if j := d.Judging; j != nil {
		for i, r := range j.Ran {
			j.Ran[i].Output = s.text(anOutput, r.Output, "output of %s", r.ID)
		}
		for i := range j.Tasks {
			of := &j.Tasks[i]
			s.task(&of.Task)
			for k, r := range of.Ran {
				of.Ran[k].Output = s.text(anOutput, r.Output, "output of %s of %s", r.ID, of.ID)
			}
		}
	}
	if b := d.Board; b != nil {
		b.Plan = s.text(theCurrentPlan, b.Plan, "the plan as it stands")
		b.Reports = s.text(aCandidate, b.Reports, "what became of the last order")
		b.Asked = s.text(anAnswer, b.Asked, "questions and answers")
		b.History = s.text(aSummary, b.History, "the last history_append")
		b.Given = s.text(aSummary, b.Given, "what the plan is made from")
		b.Tree = s.text(aSummary, b.Tree, "paths of the repository")
	}
	d.Question = s.text(aCandidate, d.Question, "question")
	if f := d.Failed; f != nil {
		f.Why = s.text(anOutput, f.Why, "attempt %d without a result", f.Number)
	}
	d.Tree = s.text(aSummary, d.Tree, "paths of the repository")
	if d.Role != nil {
		d.Role.Text = s.text(binding, d.Role.Text, "role %s", d.Role.Name)
	}
	for i, t := range d.Steps {
		d.Steps[i].Problem = plain.Clip(t.Problem, mostEvidence)
		d.Steps[i].Output = s.text(aPreparation, t.Output, "output of step %s", t.Name)
		d.Steps[i].Advice = s.text(binding, t.Advice, "step %s", t.Name)
	}
	if c := d.Candidate; c != nil {
		s.files(aCandidate, fmt.Sprintf("candidate v%d", c.Version), c.Files)
		c.Change = s.text(aCandidate, c.Change, "change v%d", c.Version)
		c.Diff = s.text(theDiff, c.Diff, "difference from v%d to v%d", c.DiffFrom, c.Version)
		for i, r := range c.Ran {
			c.Ran[i].Output = s.text(anOutput, r.Output, "output of %s", r.ID)
		}
	}
	s.files(aRequirement, "requirement", d.Requirements)
	d.Current = s.text(theCurrentPlan, d.Current, "the plan as it is")
	d.Reason = s.text(binding, d.Reason, "reason")
	d.TooLarge = s.text(aJudgement, d.TooLarge, "feasibility of %s", d.Task.ID)
	for i, l := range d.Leaves {
		d.Leaves[i].Description = s.text(aCandidate, l.Description, "leaf %s", l.ID)
	}
	return d
}

func (s *masker) task(t *Task) {
	t.Description = s.text(binding, t.Description, "task %s", t.ID)
	t.Details = s.text(binding, t.Details, "details of %s", t.ID)
	t.Spec.Description = s.text(binding, t.Spec.Description, "deliverable of %s", t.ID)
	for i, c := range t.Criteria {
		t.Criteria[i].Run = s.text(binding, c.Run, "run line of %s", c.ID)
	}
}

func (s *masker) files(k kind, what string, files []File) {
	for i, f := range files {
		if f.Binary {
			f.Text = ""
		}
		files[i].Text = s.text(k, f.Text, "%s: %s", what, f.Path)
	}
}

// what names an input if something of it is missing.
func (in Input) what() string {
	if in.Version == 0 {
		return "input " + in.Name
	}
	return fmt.Sprintf("input %s v%d", in.Name, in.Version)
}

// onLines is a copy of a value in which every string but a Text is on one line.
func onLines(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[Text]() {
			to.SetString(line(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to.Set(onLines(v.Elem()).Addr())
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			to.Index(i).Set(onLines(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			to.Field(i).Set(onLines(v.Field(i)))
		}
	}
	return to
}
