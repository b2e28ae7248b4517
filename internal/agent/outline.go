package agent

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/contract"
	"gitwf/internal/exchange"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// outliner is the built-in agent that makes a plan from Markdown: from what was handed in last when it asked, from the
// files that came with the top task or, if none of them is Markdown, from the top task. The same text makes the same
// plan. So if the text is unusable or its plan was rejected, it asks for another text instead of failing until its
// attempts are used up.
type outliner struct{}

// mostOutline is how much of a file is read.
const mostOutline = 1 << 20

// Run makes plan.yaml in Job.Out, or asks for Markdown and lists what is wrong with the current text.
func (outliner) Run(_ context.Context, job Job) (Result, error) {
	began := time.Now()
	if job.Role != contract.RolePlan {
		return Result{Kind: Error,
			Message: "outline makes whole plans only; another agent, or git wf split TASK -f FILE, splits a task"}, nil
	}
	src, err := outlineSource(job)
	if err != nil {
		return Result{Kind: Error, Message: err.Error()}, err
	}
	text, findings := Outline(src.name, src.data)
	var res Result
	switch {
	case len(findings) > 0:
		res = askMarkdown(job, "No plan can be made of "+src.name+": "+some(findings))
	case job.Feedback != "" && src.asked != job.Attempt-1:
		res = askMarkdown(job,
			fmt.Sprintf("The plan made of %s was rejected (git wf show %s --review says why), and the same text "+
				"makes the same plan.", src.name, job.Task.TaskID))
	default:
		if err := os.WriteFile(filepath.Join(job.Out, "plan.yaml"), text, 0o666); err != nil {
			return Result{Kind: Error, Message: err.Error()}, err
		}
		res = Result{Kind: Artifact, Summary: "Made from " + plain.Line(src.name)}
	}
	res.Duration = time.Since(began)
	return res, nil
}

// Outline makes the text of a plan from Markdown, or returns everything that is wrong with it, with line numbers.
func Outline(name string, data []byte) ([]byte, plan.Findings) {
	if !fs.ValidPath(name) {
		name = "plan.md"
	}
	fsys := exchange.Text(name, data)
	found, findings := exchange.Find(fsys, name)
	if len(found) == 0 || len(findings) > 0 {
		return nil, findings
	}
	i := exchange.Read(fsys, found[0], exchange.Options{})
	if i.Plan == nil || len(i.Findings) > 0 {
		return nil, i.Findings
	}
	draft, err := i.Draft()
	if err != nil {
		return nil, plan.Findings{{Code: "bad-plan", File: name, Message: plain.Line(err.Error())}}
	}
	return draft, nil
}

// IsMarkdown reports whether an outline is read from a file of this name.
func IsMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdown"}, strings.ToLower(filepath.Ext(name)))
}

// askedName begins the names of what the outliner asks for; the number of the attempt follows.
const askedName = "markdown-"

// askMarkdown ends an attempt by asking for another text.
func askMarkdown(job Job, why string) Result {
	q := plan.Question{
		Name: askedName + strconv.Itoa(job.Attempt), Kind: plan.AskFile,
		Question: plain.Line(why) + " Mend the Markdown and hand the file in.",
	}
	return Result{Kind: NeedsInput, Message: q.Question, Needs: []plan.Question{q}}
}

// some puts findings on one line; if they are many, only the first.
func some(fs plan.Findings) string {
	const most = 5
	var lines []string
	for i, f := range fs {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(fs)-most))
			break
		}
		lines = append(lines, f.Error())
	}
	return strings.Join(lines, "; ")
}

// markdown is a text to make a plan from.
type markdown struct {
	name  string
	data  []byte
	asked int // the attempt that asked for it; zero if nobody did
	n     int // its number among those handed in under one name
}

// outlineSource finds the text: the answer to the last request, the first Markdown file that was handed in, or the top
// task.
func outlineSource(job Job) (markdown, error) {
	var files []markdown
	err := filepath.WalkDir(job.In, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		m := markdown{name: path}
		if rel, err := filepath.Rel(job.In, path); err == nil { // inputs/<name>/<number>/<file>
			if parts := strings.Split(filepath.ToSlash(rel), "/"); len(parts) == 4 {
				m.n, _ = strconv.Atoi(parts[2])
				if k, ok := strings.CutPrefix(parts[1], askedName); ok {
					m.asked, _ = strconv.Atoi(k)
				}
			}
		}
		if m.asked > 0 || IsMarkdown(path) {
			files = append(files, m)
		}
		return nil
	})
	if err != nil {
		return markdown{}, err
	}
	if len(files) == 0 {
		return markdown{name: "the top task", data: []byte(job.TopTask)}, nil
	}
	first := slices.MinFunc(files, func(a, b markdown) int {
		return cmp.Or(cmp.Compare(b.asked, a.asked), cmp.Compare(a.n, b.n), cmp.Compare(a.name, b.name))
	})
	info, err := os.Stat(first.name)
	if err == nil && info.Size() > mostOutline {
		err = os.Truncate(first.name, mostOutline) // it is a copy, and too large in any case
	}
	if err != nil {
		return markdown{}, err
	}
	if first.data, err = os.ReadFile(first.name); err != nil {
		return markdown{}, err
	}
	first.name = plain.Line(filepath.Base(first.name))
	return first, nil
}
