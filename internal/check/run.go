package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/shell"
)

// Setup is what the criteria of one candidate run on.
type Setup struct {
	Candidate func(ctx context.Context, dir string) error // writes a copy of the candidate's files into dir
	Bundle    func(ctx context.Context, dir string) error // writes a preview of the whole bundle into dir
	Dir       string                                      // the candidate's directory that a criterion's file is in
	Outside   []string                                    // of a change: what it changes outside of its paths

	// Expands renders what the plan's workflow makes of the candidate: wrong says what is wrong with it,
	// stays what remains although the candidate differs; "" for nothing. It is nil without a candidate.
	Expands func(ctx context.Context) (wrong, stays string, err error)

	// Checkout replaces Candidate for a change: it returns a clean checkout with the change or, if
	// before, of its base with its tests. It is valid until the next call.
	Checkout func(ctx context.Context, before bool) (dir string, err error)
	Again    bool                     // a line of a change that fails is tried once more
	Wrap     func(line string) string // makes a line one that runs in the user's sandbox; nil if there is none

	// Repo is WF_REPO of the run lines: never the user's working tree. Without one it is the checkout that a line runs
	// in, and unset where there is none.
	Repo string

	Scratch string           // a directory of our own for the copies
	Discard func(dir string) // gives a copy up; nil removes it
	Environ []string         // of the run lines
	Timeout time.Duration    // of one run line
}

// maxEvidence bounds what a review keeps of a run line's output, in bytes.
const maxEvidence = 2000

// Run tries every criterion that has a run line, each in a fresh copy, so that none sees what another left behind. A
// criterion passes when its line exits with 0; the end of its output is the evidence. A line that ends in no exit of
// its own (time-out, output without end) has not passed; nor has one of a change that says that no test ran. An error
// means that the judging itself failed and nothing is known about the candidate.
func Run(ctx context.Context, criteria []plan.Criterion, s Setup) ([]plan.CriterionResult, error) {
	var results []plan.CriterionResult
	for _, c := range criteria {
		if c.Manual() {
			continue
		}
		r, err := s.try(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("criterion %s: %w", c.ID, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func (s Setup) try(ctx context.Context, c plan.Criterion) (plan.CriterionResult, error) {
	if c.CheckMethod == plan.ChangedPaths {
		return s.within(c), nil
	}
	if c.CheckMethod == plan.Expands {
		return s.expands(ctx, c)
	}
	if c.CheckMethod == plan.SchemaCheck {
		return s.keeps(ctx, c)
	}
	out, ended, err := s.run(ctx, c, false)
	if err == nil && s.Again && ended && !out.Passed() {
		again, _, err := s.run(ctx, c, false)
		if err != nil {
			return out, err
		}
		if again.Passed() {
			again.Evidence = "flaky: it passed when it was tried again. Before, it failed: " + out.Evidence
			out = again
		}
	}
	if err != nil || !c.RedFirst() || !out.Passed() {
		return out, err
	}
	before, ended, err := s.run(ctx, c, true)
	switch {
	case err != nil:
		return out, err
	case before.Passed():
		out.Result = plan.ResultFail
		out.Evidence = "it passes before the work, too, so it proves nothing: " + before.Evidence
	case !ended:
		out.Result = plan.ResultFail
		out.Evidence = "before the work it neither passes nor fails: " + before.Evidence
	default:
		out.Evidence = fmt.Sprintf("%s\nBefore the work: exit %d: %s", out.Evidence, *before.ExitCode, before.Evidence)
		if len(out.Evidence) > maxEvidence {
			out.Evidence = strings.ToValidUTF8(out.Evidence[:maxEvidence], "") + "..."
		}
	}
	return out, nil
}

// expands is the result of rendering what the plan's workflow makes of the candidate.
func (s Setup) expands(ctx context.Context, c plan.Criterion) (plan.CriterionResult, error) {
	if s.Expands == nil {
		return c.NewResult(plan.ReviewerChecks, plan.ResultFail, "there is nothing to go on from"), nil
	}
	wrong, stays, err := s.Expands(ctx)
	if err != nil || wrong != "" {
		return c.NewResult(plan.ReviewerChecks, plan.ResultFail, wrong), err
	}
	if stays == "" {
		stays = "what follows keeps all rules of plans"
	}
	return c.NewResult(plan.ReviewerChecks, plan.ResultPass, stays), nil
}

// within is the result of comparing what a change touches with its paths.
func (s Setup) within(c plan.Criterion) plan.CriterionResult {
	if len(s.Outside) == 0 {
		return c.NewResult(plan.ReviewerChecks, plan.ResultPass, "every changed file is within the paths")
	}
	text := "outside of the paths: " + strings.Join(plain.Some(s.Outside, 50, plain.Line), ", ")
	return c.NewResult(plan.ReviewerChecks, plan.ResultFail, text)
}

// place returns a directory for a criterion's line that nothing has run in, and what gives it up.
func (s Setup) place(ctx context.Context, c plan.Criterion, before bool) (dir string, leave func(), err error) {
	if s.Checkout != nil && c.CheckMethod != plan.RunSmokeTest {
		dir, err = s.Checkout(ctx, before)
		return dir, func() {}, err
	}
	if dir, err = os.MkdirTemp(s.Scratch, "check-"); err != nil {
		return "", nil, err
	}
	fill := s.Candidate
	if c.CheckMethod == plan.RunSmokeTest {
		fill = s.Bundle
	}
	if err := fill(ctx, dir); err != nil {
		s.discard(dir)
		return "", nil, err
	}
	return dir, func() { s.discard(dir) }, nil
}

// run runs a criterion's line in a clean directory, on the candidate or, if before, on its base. ended
// reports whether the command exited by itself: the shell's 126 and 127 say that it could not run.
func (s Setup) run(ctx context.Context, c plan.Criterion, before bool) (out plan.CriterionResult, ended bool,
	err error) {
	dir, leave, err := s.place(ctx, c, before)
	if err != nil {
		return out, false, err
	}
	defer leave()
	var said bytes.Buffer
	cmd := process.Command{
		Line: c.Run, Dir: dir, Env: append(slices.Clone(s.Environ), "PWD="+dir), Timeout: s.Timeout,
		MaxOutput: maxEvidence,
	}
	repo := s.Repo
	if repo == "" && s.Checkout != nil && c.CheckMethod != plan.RunSmokeTest {
		repo = dir
	}
	switch {
	case s.Wrap != nil: // the sandbox's own command sees the repository
		cmd.Line = s.Wrap("unset WF_REPO; " + c.Run)
		if repo != "" {
			cmd.Line = s.Wrap("WF_REPO=" + shell.Quote(repo) + "; export WF_REPO; " + c.Run)
		}
	default:
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "WF_REPO=") })
		if repo != "" {
			cmd.Env = append(cmd.Env, "WF_REPO="+repo)
		}
	}
	if s.Checkout != nil {
		cmd.Output, cmd.MaxOutput = &said, 0
	}
	res, err := process.Run(ctx, cmd)
	if err != nil {
		return out, false, err
	}
	if ctx.Err() != nil {
		return out, false, ctx.Err()
	}
	out = c.NewResult(plan.ReviewerChecks, plan.ResultFail, evidence(res, filepath.ToSlash(dir)))
	out.ExitCode, out.DurationMS = &res.ExitCode, res.Duration.Milliseconds()
	if res.Reason == process.Exited && res.ExitCode == 0 {
		out.Result = plan.ResultPass
	} else if c.CheckMethod == plan.RunSmokeTest {
		out.Evidence = strings.TrimSpace(out.Evidence + "\nran in a preview of the bundle")
	}
	ended = res.Reason == process.Exited && res.ExitCode < 126
	if s.Checkout != nil && ended && res.Dropped == 0 && noTestsRan(process.Printable(said.Bytes())) {
		out.Result, out.Evidence, ended = plan.ResultFail, out.Evidence+"\n"+noTests, false
	}
	return out, ended, nil
}

// noTests is the evidence of a line that is neither red nor green.
const noTests = "no tests ran"

func (s Setup) discard(dir string) {
	if s.Discard != nil {
		s.Discard(dir)
		return
	}
	_ = os.RemoveAll(dir) // whoever made Scratch removes it as a whole
}

// evidence is the end of the output, with the name of the copy, which is another each time, taken out.
func evidence(res process.Result, dir string) string {
	tail := strings.TrimSpace(strings.ReplaceAll(res.Tail, dir, "."))
	if len(tail) > maxEvidence {
		tail = "..." + strings.ToValidUTF8(tail[len(tail)-maxEvidence:], "")
	}
	switch res.Reason {
	case process.TimedOut:
		tail = strings.TrimSpace(fmt.Sprintf("%s\nstopped after %s without an end", tail,
			res.Duration.Round(time.Second)))
	case process.OutputLimit:
		tail = strings.TrimSpace(tail + "\nstopped: it printed without end")
	case process.Signaled:
		tail = strings.TrimSpace(tail + "\nended by a signal")
	}
	if tail == "" {
		tail = fmt.Sprintf("exit %d, no output", res.ExitCode)
	}
	return tail
}
