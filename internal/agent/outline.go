package agent

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/outline"
	"gitwf/internal/plan"
)

// outliner is the agent that makes a plan from Markdown, by itself: from the files that came with the top task or, if
// none of them is Markdown, from the top task.
type outliner struct{}

// mostOutline is the most that is read of one file, a byte more than an outline may have.
const mostOutline = outline.MaxBytes + 1

// Run makes plan.yaml in Job.Out, or fails with all that is wrong with the Markdown.
func (outliner) Run(_ context.Context, job Job) (Result, error) {
	began := time.Now()
	if job.Role != RolePlan {
		return Result{Kind: Error, Message: "outline makes whole plans only; another agent, or git wf split TASK -f FILE, splits a task"}, nil
	}
	name, data, err := outlineSource(job)
	if err != nil {
		return Result{Kind: Error, Message: err.Error()}, err
	}
	o, findings := outline.Parse(name, data)
	var text []byte
	if len(findings) == 0 {
		text, findings = o.Plan(outline.Defaults{})
	}
	if len(findings) > 0 {
		return Result{Kind: Error, Message: plan.Printable(findings.Error()), Duration: time.Since(began)}, nil
	}
	if err := os.WriteFile(filepath.Join(job.Out, "plan.yaml"), text, 0o666); err != nil {
		return Result{Kind: Error, Message: err.Error()}, err
	}
	return Result{Kind: Artifact, Summary: "Made from " + plan.OneLine(name), Duration: time.Since(began)}, nil
}

// outlineSource is the first Markdown file among what was handed in, by path, or else the top task.
func outlineSource(job Job) (string, []byte, error) {
	var files []string
	err := filepath.WalkDir(job.In, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(path))) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if len(files) == 0 {
		return "the top task", []byte(job.TopTask), nil
	}
	slices.Sort(files)
	info, err := os.Stat(files[0])
	if err == nil && info.Size() > mostOutline {
		err = os.Truncate(files[0], mostOutline) // it is a copy, and too large in any case
	}
	if err != nil {
		return "", nil, err
	}
	data, err := os.ReadFile(files[0])
	return filepath.Base(files[0]), data, err
}
