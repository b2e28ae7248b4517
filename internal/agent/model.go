package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/backend"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Model is an agent that takes instructions in words and answers under the contract.
type Model struct {
	name    string
	backend backend.Backend
	writes  bool // it can write to Job.Out itself
}

// Run has the agent make a deliverable.
func (m *Model) Run(ctx context.Context, job Job) (Result, error) {
	want := contract.Want{Role: job.Role, FilesElsewhere: m.writes && job.Access == backend.MayWrite,
		Limits: job.Limits, Advisers: job.Task.Advisers()}
	told := false
	reply, res, err := m.ask(ctx, job, job.Access, want, func(r contract.Reply) *contract.Violation {
		if told || r.Type != contract.Artifact || len(r.Files) > 0 || wrote(job.Out) {
			return nil
		}
		told = true
		return contract.NoFiles(job.Out, strays(job))
	})
	if err != nil || res.Kind != Artifact {
		return res, err
	}
	if err := res.take(reply, job.Out); err != nil {
		return Result{Kind: Error, Message: err.Error()}, err
	}
	if res.Kind == Artifact && !wrote(job.Out) {
		res.Kind, res.Message = Noop, "replied ARTIFACT, but gave no files and wrote none to the directory "+
			"that WF_OUT names"
		if there := strays(job); there != nil {
			res.Message += "; the working directory has " + strings.Join(there, ", ")
		}
	}
	return res, nil
}

// Read reads the reply of an agent that nobody here has started, and puts its files into out.
func Read(want contract.Want, text []byte, out string) (res Result, err error) {
	reply, err := contract.Parse(want, text)
	if err == nil {
		err = res.take(reply, out)
	}
	return res, err
}

// take takes over what a reply about a deliverable says, and puts its files into out.
func (r *Result) take(reply contract.Reply, out string) error {
	r.Kind, r.Summary = Artifact, reply.Summary
	switch reply.Type {
	case contract.NeedsInput:
		r.Kind, r.Needs, r.Message = NeedsInput, reply.Needs, reply.Needs[0].Question
	case contract.Noop:
		r.Kind, r.Message = Noop, "said that there is nothing to do: "+reply.Summary
	case contract.Error:
		r.Kind, r.Message = Error, reply.Error
	}
	return writeFiles(out, reply.Files)
}

// strays are files that the agent left in its working directory instead of Out, at most five. A checkout has none: its
// files were there before.
func strays(job Job) (names []string) {
	const most = 5
	if job.InCheckout {
		return nil
	}
	err := walk(job.Dir, func(_ *os.Root, name string, _ fs.FileInfo) error {
		if len(names) == most {
			return errFound
		}
		names = append(names, plain.Line(name))
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil // the names are a help, no finding
	}
	return names
}

// Judge asks for what want describes, in a role that makes no deliverable, and, a few times, tells the agent what was
// wrong with a reply that breaks the contract. It uses nothing of such a reply. Who judges writes nothing, and is
// offered only what reads. A Result of kind ARTIFACT means that there is a reply; else it says why not, as Run does.
func (m *Model) Judge(ctx context.Context, job Job, want contract.Want) (contract.Reply, Result, error) {
	return m.ask(ctx, job, max(job.Access, backend.MayRead), want,
		func(contract.Reply) *contract.Violation { return nil })
}

// ask is Judge with what the agent may do, and with one more rule for replies.
func (m *Model) ask(ctx context.Context, job Job, access Access, want contract.Want,
	rule func(contract.Reply) *contract.Violation) (contract.Reply, Result, error) {
	text, err := os.ReadFile(job.Prompt)
	if err != nil {
		return contract.Reply{}, Result{Kind: Error, Message: err.Error()}, err
	}
	req := backend.Request{
		Prompt: string(text), Head: job.Head, Again: job.Again, Session: job.Thread, SessionOf: m.name,
		Dir: job.Dir, Access: access,
		Environ: job.Environ, Vars: job.vars(), Timeout: job.Timeout, Log: job.Log, Notice: job.Notice,
	}
	if access == backend.MayWrite {
		req.Writable = slices.DeleteFunc([]string{job.Out, job.Tmp}, func(dir string) bool { return dir == "" })
	}
	if access != backend.MayAnswer {
		req.Readable = []string{job.In, job.Repo}
	}
	res := Result{Kind: Artifact}
	usage := usage{counted: job.Spent}
	for try := 0; ; try++ {
		answer, err := m.backend.Ask(ctx, req)
		res.Duration += answer.Duration
		if err != nil {
			if res.fail(err); ctx.Err() != nil {
				return contract.Reply{}, res, fmt.Errorf("%s: interrupted: %w", job.Task.TaskID, context.Cause(ctx))
			}
			return contract.Reply{}, res, nil // it failed by itself
		}
		usage.add(answer)
		res.Replies, res.Skipped = try+1, answer.Skipped
		res.Agent, res.Thread, res.ExitCode, res.LogTail, res.Usage = answer.Agent, answer.Session, answer.ExitCode,
			answer.LogTail, usage.total
		reply, err := parse(want, answer)
		if err == nil {
			if wrong := rule(reply); wrong != nil {
				err = wrong
			}
		}
		res.Notes, res.Concerns = reply.Notes, reply.Concerns
		var broken *contract.Violation
		switch {
		case err == nil && reply.Type == contract.Error && want.Role.Usual() != contract.Artifact:
			res.Kind, res.Message = Error, reply.Error
			return reply, res, nil
		case err == nil:
			return reply, res, nil
		case !errors.As(err, &broken):
			return contract.Reply{}, Result{Kind: Error, Message: err.Error()}, err
		case try == cmp.Or(job.Limits.MaxContractRetries, plan.DefaultConfig().MaxContractRetries):
			res.Kind, res.Broken = Error, broken
			res.Message = fmt.Sprintf("gave no reply that keeps the contract in %d tries; %s", try+1,
				violations(broken))
			return contract.Reply{}, res, nil
		}
		req.Refused = append(req.Refused, backend.Refusal{Reply: answer.Text, Wrong: broken.Feedback()})
		req.Session, req.SessionOf = answer.Session, answer.Agent
	}
}

// violations lists, one per line, how a reply breaks the contract: for people, who read no schema.
func violations(v *contract.Violation) string {
	return strings.Join(append([]string{v.Error()}, each.Of(v.Also, (*contract.Violation).Error)...), "\n")
}

func parse(want contract.Want, answer backend.Reply) (contract.Reply, error) {
	if answer.Truncated {
		return contract.Reply{}, contract.CutOff("the model stopped at its limit of output")
	}
	return contract.Parse(want, []byte(answer.Text))
}

// fail turns a backend's error into the result.
func (r *Result) fail(err error) {
	r.Kind, r.Message, r.Skipped = Error, err.Error(), nil
	if all, ok := err.(interface{ Unwrap() []error }); ok { // of a chain, the last first
		for _, one := range all.Unwrap() {
			r.Skipped = append([]string{one.Error()}, r.Skipped...)
		}
	} else {
		r.Skipped = []string{err.Error()}
	}
	if e, ok := errors.AsType[*backend.Error](err); ok {
		if e.Reason == backend.Unavailable || e.Reason == backend.Transient {
			r.Down = &Outage{Lasting: e.Reason == backend.Unavailable, After: e.RetryAfter}
		}
		r.ExitCode, r.LogTail = e.ExitCode, e.LogTail
		if e.LogTail != "" {
			r.Message += "\nend of its output:\n" + e.LogTail
		}
	}
	r.Message = plain.Text(r.Message)
}

// writeFiles puts the files of a reply into out, and nowhere else, whatever links the agent has left there.
func writeFiles(out string, files []contract.File) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if dir := path.Dir(f.Path); dir != "." {
			if err := root.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
				return fmt.Errorf("write the reply's file: %w", err)
			}
		}
		mode := os.FileMode(0o666)
		if f.Executable {
			mode = 0o777
		}
		if err := root.WriteFile(name, f.Content, mode); err != nil {
			return fmt.Errorf("write the reply's file: %w", err)
		}
	}
	return nil
}

// usage adds up the cost of one attempt's replies.
type usage struct {
	total   *plan.Usage // nil if unknown
	counted plan.Usage  // of the session that goes on
}

func (u *usage) add(r backend.Reply) {
	if !r.Usage.Known {
		return
	}
	sum := plan.Usage{}
	if u.total != nil {
		sum = *u.total
	}
	sum.Model = r.Model
	now := plan.Usage{InputTokens: r.Usage.InputTokens, CachedTokens: r.Usage.CachedTokens,
		OutputTokens: r.Usage.OutputTokens, CostUSD: r.Usage.CostUSD}
	before := plan.Usage{}
	if r.Usage.Session { // the numbers include earlier ones
		if r.Resumed {
			before = u.counted
		}
		u.counted = now
	}
	sum.InputTokens += max(0, now.InputTokens-before.InputTokens)
	sum.CachedTokens += max(0, now.CachedTokens-before.CachedTokens)
	sum.OutputTokens += max(0, now.OutputTokens-before.OutputTokens)
	sum.CostUSD += max(0, now.CostUSD-before.CostUSD)
	u.total = &sum
}
