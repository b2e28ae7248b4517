package prompt

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// TaskOf is a task of a plan as a prompt shows it. minScore is the least score that approves it.
func TaskOf(t *plan.Task, minScore int) Task {
	v := Task{
		ID: t.TaskID, Title: t.Title, Description: Text(t.Description), Details: details(t),
		Days: t.EstimatedPersonDays, Covers: t.Covers, DependsOn: t.DependsOn, MinScore: minScore,
	}
	if s := t.DeliverableSpec; s != nil {
		v.Spec = Spec{Format: s.Format, Dir: s.OutputDir, Files: specFiles(s), Single: s.SingleFile, Paths: s.Paths,
			Tests: s.Tests, Description: Text(s.Description)}
	}
	for _, c := range t.AcceptanceCriteria {
		v.Criteria = append(v.Criteria, Criterion{
			ID: c.ID, Severity: c.Severity, Statement: c.Statement, Run: Text(c.Run),
			Bundle: c.CheckMethod == plan.RunSmokeTest, Covers: c.Covers, Schema: schemaText(c.Schema), File: c.File,
		})
	}
	for _, r := range t.Requires {
		v.Requires = append(v.Requires, Requirement{r.Name, r.Kind, r.Description, r.Formats, max(r.Count, 1)})
	}
	return v
}

func schemaText(schema map[string]any) Text {
	if len(schema) == 0 {
		return ""
	}
	return Text(plan.Document(schema))
}

// RubricOf is a rubric as a prompt shows it, nil for nil.
func RubricOf(r *plan.Rubric) *Rubric {
	if r == nil {
		return nil
	}
	v := &Rubric{Scale: r.Scale, Veto: r.Veto, Counts: r.Counts()}
	for _, name := range r.Names() {
		d := Dimension{Name: name, Weight: r.Weights()[name]}
		if limit, limited := r.Limits[name]; limited {
			d.Limit = &limit
		}
		v.Dimensions = append(v.Dimensions, d)
	}
	return v
}

func specFiles(s *plan.DeliverableSpec) []string {
	if s.Filename == "" {
		return s.Files
	}
	others := slices.DeleteFunc(slices.Clone(s.Files), func(f string) bool { return f == s.Filename })
	return append([]string{s.Filename}, others...)
}

// details are the free-form parts of a task.
func details(t *plan.Task) Text {
	all := map[string]any{}
	for key, part := range map[string]map[string]any{"meta": t.Meta, "context": t.Context,
		"flow_control": t.FlowControl} {
		if len(part) > 0 {
			all[key] = part
		}
	}
	if len(all) == 0 {
		return ""
	}
	return Text(plan.Document(all))
}

// LeafOf is a leaf as its estimator sees it. It leaves out what a rule estimates: two estimates are worth more than one
// only if they are independent.
func LeafOf(t *plan.Task) Leaf {
	l := Leaf{
		ID: t.TaskID, Title: t.Title, Days: t.EstimatedPersonDays, Criteria: len(t.AcceptanceCriteria),
		Inputs: len(t.DependsOn), Description: Text(t.Description),
	}
	if s := t.DeliverableSpec; s != nil {
		l.Format, l.Files = s.Format, specFiles(s)
		l.Description = Text(strings.TrimSpace(t.Description + "\n\n" + s.Description))
	}
	return l
}

// binarySample is how much of a file decides whether it is text. As in git, text has no NUL there.
const binarySample = 8000

// MaxInputText is the size, in bytes, of the largest input whose text a prompt shows: larger ones need not be read.
const MaxInputText = 16 << 10

// MaxFileText is the size, in bytes, up to which other files are shown whole. Larger ones show both ends.
const MaxFileText = 128 << 10

// FileOf is a file with its content; nil means that it was not read. The content of an empty file is empty but not nil.
func FileOf(info plan.FileInfo, content []byte) File {
	f := File{Path: info.Path, Mode: info.Mode, Size: info.Size, SHA256: info.SHA256, Unread: content == nil}
	f.Binary = bytes.IndexByte(content[:min(len(content), binarySample)], 0) >= 0
	if !f.Binary {
		f.Text = Text(content)
	}
	return f
}

// mostEvidence is how much of a reason or evidence is binding, in characters. The review has the rest.
const mostEvidence = 300

// RejectionOf is a rejecting review with its REJECTED.md.
func RejectionOf(r plan.Review, file []byte) *Rejection {
	why, _, _ := strings.Cut(strings.TrimSpace(r.Reason), "\n") // the review has the rest
	j := &Rejection{
		Version: plan.VersionNumber(r.ReviewedArtifactID), Reviewer: r.Reviewer, Score: r.Score, MinScore: r.MinScore,
		Reason: plain.Clip(why, mostEvidence), Text: Text(file),
	}
	if !r.FindsFault() {
		j.Again = r.For
	}
	for _, c := range r.Criteria {
		if c.Result == plan.ResultFail {
			j.Failed = append(j.Failed, Failed{c.ID, c.Severity, c.Result, c.Statement, end(c.Evidence)})
		}
	}
	return j
}

// end is the end of a text, the most telling part of an output.
func end(s string) string {
	if r := []rune(strings.TrimSpace(s)); len(r) > mostEvidence {
		return "..." + string(r[len(r)-mostEvidence:])
	}
	return s
}

// RanOf is what the engine itself saw, from run lines or its own review of a plan, without what others say.
func RanOf(results []plan.CriterionResult) []Ran {
	var ran []Ran
	for _, r := range results {
		if r.By != plan.ReviewerChecks && r.By != plan.ReviewerPlan {
			continue
		}
		v := Ran{ID: r.ID, Result: r.Result, Output: Text(r.Evidence)}
		if r.ExitCode != nil {
			v.Exit = strconv.Itoa(*r.ExitCode)
		}
		ran = append(ran, v)
	}
	return ran
}

// LimitsOf are a plan's limits.
func LimitsOf(p *plan.Plan) Limits {
	c := p.Limits()
	return Limits{c.MaxDecompositionDepth, c.OneShotThresholdPersonDays, c.MaxLeafTasks, c.MinScore}
}
