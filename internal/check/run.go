package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// Setup is what the criteria of one candidate run on.
type Setup struct {
	Candidate func(ctx context.Context, dir string) error // writes a copy of the candidate's files into dir
	Bundle    func(ctx context.Context, dir string) error // writes a preview of the whole bundle into dir
	Scratch   string                                      // a directory of our own for the copies
	Discard   func(dir string)                            // gives a copy up; nil removes it
	Environ   []string                                    // of the run lines
	Timeout   time.Duration                               // of one run line
}

// maxEvidence bounds what a review keeps of a run line's output, in bytes.
const maxEvidence = 2000

// Run tries every criterion that has a run line, each in a fresh copy, so that none sees what another left behind. A
// criterion passes when its line exits with 0; the end of its output is the evidence. A line that ends in no exit of
// its own (time-out, output without end) has not passed. An error means that the judging itself failed and nothing is
// known about the candidate.
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
	dir, err := os.MkdirTemp(s.Scratch, "check-")
	if err != nil {
		return plan.CriterionResult{}, err
	}
	defer s.discard(dir)
	fill := s.Candidate
	if c.CheckMethod == plan.RunSmokeTest {
		fill = s.Bundle
	}
	if err := fill(ctx, dir); err != nil {
		return plan.CriterionResult{}, err
	}
	res, err := process.Run(ctx, process.Command{
		Line: c.Run, Dir: dir, Env: append(s.Environ, "PWD="+dir), Timeout: s.Timeout, MaxOutput: maxEvidence,
	})
	if err != nil {
		return plan.CriterionResult{}, err
	}
	if ctx.Err() != nil {
		return plan.CriterionResult{}, ctx.Err()
	}
	out := NewResult(c, plan.ReviewerChecks, plan.ResultFail, evidence(res, filepath.ToSlash(dir)))
	out.ExitCode, out.DurationMS = &res.ExitCode, res.Duration.Milliseconds()
	if res.Reason == process.Exited && res.ExitCode == 0 {
		out.Result = plan.ResultPass
	}
	return out, nil
}

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
		tail = strings.TrimSpace(fmt.Sprintf("%s\nstopped after %s without an end", tail, res.Duration.Round(time.Second)))
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

// NewResult is the result of one criterion.
func NewResult(c plan.Criterion, by, result, evidence string) plan.CriterionResult {
	return plan.CriterionResult{
		ID: c.ID, Statement: c.Statement, Severity: c.Severity, Result: result, Evidence: evidence, By: by,
	}
}
