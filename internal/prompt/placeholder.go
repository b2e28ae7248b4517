package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/contract"
	"gitwf/internal/plan"
)

// A masker prepares the data that a template runs on: every string is on one line, and a placeholder stands for every
// Text until it is known how much of the text there is room for. A placeholder is a number between two NULs. No other
// string has a NUL, so nobody can forge one.
type masker struct {
	parts   []*part
	cleaned map[Text]cleaned // shared by all maskers of one prompt: a long text is cleaned once
}

type cleaned struct {
	text    string
	removed int
}

const placeholderMark = "\x00"

func (s *masker) text(k kind, t Text, format string, args ...any) Text {
	c, ok := s.cleaned[t]
	if !ok {
		c.text, c.removed = clean(string(t))
		s.cleaned[t] = c
	}
	if strings.TrimSpace(c.text) == "" {
		return ""
	}
	s.parts = append(s.parts, &part{kind: k, name: line(fmt.Sprintf(format, args...)), text: c.text, removed: c.removed})
	return Text(placeholderMark + strconv.Itoa(len(s.parts)-1) + placeholderMark)
}

func (s *masker) data(role contract.Role, d Data) Data {
	d.PlanID, d.Title, d.Contract = plan.ID(line(string(d.PlanID))), line(d.Title), paragraphs(d.Contract)
	top := theTopTask
	if role.TopTask() {
		top = binding
	}
	d.TopTask = s.text(top, d.TopTask, "top task")
	d.Root = mapped(d.Root, func(c RootCriterion) RootCriterion { return RootCriterion{line(c.ID), line(c.Statement)} })
	d.Task = s.task(d.Task)
	d.Inputs = mapped(d.Inputs, s.input)
	d.Rejected = s.rejected(d.Rejected)
	d.Answers = mapped(d.Answers, func(a Answer) Answer {
		return Answer{line(a.ID), line(a.Question), s.text(anAnswer, a.Text, "answer to %s", a.ID)}
	})
	d.Notes = mapped(d.Notes, func(n Note) Note {
		return Note{n.Number, line(n.Category), s.text(aNote, n.Text, "note %d (%s)", n.Number, n.Category)}
	})
	d.Steps = mapped(d.Steps, func(t Step) Step {
		name := t.Name
		t.Name, t.Action, t.Result, t.Problem, t.File = line(t.Name), line(t.Action), line(t.Result),
			line(beginning(t.Problem)), line(t.File)
		t.Output = s.text(aPreparation, t.Output, "output of step %s", name)
		t.Advice = s.text(binding, t.Advice, "step %s", name)
		return t
	})
	d.Candidate = s.candidate(d.Candidate)
	d.Requirements = mapped(d.Requirements, func(f File) File { return s.file(aRequirement, "requirement", f) })
	d.Floors.Reviewers = lines(d.Floors.Reviewers)
	d.Agents = mapped(d.Agents, func(a Agent) Agent { return Agent{line(a.Name), line(a.Kind), line(a.About)} })
	d.Current = s.text(theCurrentPlan, d.Current, "the plan as it is")
	d.Reason = s.text(binding, d.Reason, "reason")
	d.TooLarge = s.text(aJudgement, d.TooLarge, "feasibility of %s", d.Task.ID)
	d.Leaves = mapped(d.Leaves, func(l Leaf) Leaf {
		l.Title, l.Format, l.Files = line(l.Title), line(l.Format), lines(l.Files)
		l.Description = s.text(aCandidate, l.Description, "leaf %s", l.ID)
		l.ID = taskID(l.ID)
		return l
	})
	d.Dependants = mapped(d.Dependants, taskID)
	return d
}

func taskID(id plan.TaskID) plan.TaskID { return plan.TaskID(line(string(id))) }

func (s *masker) task(t Task) Task {
	t.ID, t.Title, t.Covers, t.DependsOn = taskID(t.ID), line(t.Title), lines(t.Covers), mapped(t.DependsOn, taskID)
	t.Description = s.text(binding, t.Description, "task %s", t.ID)
	t.Details = s.text(binding, t.Details, "details of %s", t.ID)
	t.Spec.Format, t.Spec.Dir, t.Spec.Files, t.Spec.LandAt = line(t.Spec.Format), line(t.Spec.Dir), lines(t.Spec.Files),
		line(t.Spec.LandAt)
	t.Spec.Description = s.text(binding, t.Spec.Description, "deliverable of %s", t.ID)
	t.Criteria = mapped(t.Criteria, func(c Criterion) Criterion {
		c.ID, c.Severity, c.Statement, c.Covers = line(c.ID), line(c.Severity), line(c.Statement), lines(c.Covers)
		c.Run = s.text(binding, c.Run, "run line of %s", c.ID)
		return c
	})
	t.Requires = mapped(t.Requires, func(r Requirement) Requirement {
		return Requirement{line(r.Name), line(r.Kind), line(r.Description), lines(r.Formats), r.Count}
	})
	return t
}

func (s *masker) input(in Input) Input {
	name := in.what()
	in.Name, in.Dir = line(in.Name), line(in.Dir)
	in.Files = mapped(in.Files, func(f File) File { return s.file(anInput, name, f) })
	in.Summary = s.text(aSummary, in.Summary, "summary of %s", name)
	return in
}

// what names an input if something of it is missing.
func (in Input) what() string {
	if in.Version == 0 {
		return "input " + in.Name
	}
	return fmt.Sprintf("input %s v%d", in.Name, in.Version)
}

func (s *masker) file(k kind, what string, f File) File {
	f.Path, f.Bundle, f.Mode, f.SHA256 = line(f.Path), line(f.Bundle), line(f.Mode), line(f.SHA256)
	if f.Binary {
		f.Text = ""
	}
	f.Text = s.text(k, f.Text, "%s: %s", what, f.Path)
	return f
}

func (s *masker) rejected(r *Rejection) *Rejection {
	if r == nil {
		return nil
	}
	c := *r
	c.Reviewer, c.Reason = line(c.Reviewer), line(c.Reason)
	c.Failed = mapped(c.Failed, func(f Failed) Failed {
		return Failed{line(f.ID), line(f.Severity), line(f.Result), line(f.Statement), line(f.Evidence)}
	})
	c.Text = s.text(theRejection, c.Text, "rejection of v%d", c.Version)
	return &c
}

func (s *masker) candidate(c *Candidate) *Candidate {
	if c == nil {
		return nil
	}
	v := *c
	v.Dir = line(v.Dir)
	v.Files = mapped(v.Files, func(f File) File { return s.file(aCandidate, fmt.Sprintf("candidate v%d", v.Version), f) })
	v.Diff = s.text(theDiff, v.Diff, "difference from v%d to v%d", v.DiffFrom, v.Version)
	v.Ran = mapped(v.Ran, func(r Ran) Ran {
		return Ran{line(r.ID), line(r.Result), line(r.Exit), s.text(anOutput, r.Output, "output of %s", r.ID)}
	})
	return &v
}

// mapped leaves the caller's list alone.
func mapped[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i := range list {
		list[i] = f(list[i])
	}
	return list
}
