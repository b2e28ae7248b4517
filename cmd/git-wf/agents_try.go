package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// tryLimit is how long git wf agents test waits for an answer.
const tryLimit = 2 * time.Minute

// tried is the result of asking an agent.
type tried struct {
	Agent      string      `json:"agent"` // who answered, or was asked
	Pass       bool        `json:"pass"`
	Message    string      `json:"message,omitempty"`
	DurationMS int64       `json:"duration_ms"`
	Replies    int         `json:"replies"` // replies that broke the contract included
	Usage      *plan.Usage `json:"usage,omitempty"`
	Skipped    []string    `json:"skipped,omitempty"` // why others of its chain did not

	res agent.Result
}

// testAgent asks an agent for the smallest thing in the contract, and prints the result.
func (e *env) testAgent(c *cli.Context, store *gitstore.Store) error {
	name := c.Args().First()
	set := e.agentSet(c, store)
	judge, err := set.Model(name, nil)
	var unknown *agent.UnknownError
	switch {
	case errors.As(err, &unknown) && (name == agent.NameExec || name == agent.NameManual):
		return fault.Usage("git wf agents", "%s is built in and answers nobody: there is nothing to test", name)
	case errors.As(err, &unknown):
		return fault.Usage("git wf agents lists them; git config wf.agent."+plain.Line(name)+".kind KIND sets one up",
			"%w", err)
	case err != nil:
		return err
	}
	e.tell("asking %s, as a reviewer is asked, whether two and two are four; for at most %s", plain.Line(name),
		tryLimit)
	t, err := e.tryAgent(c, judge, name)
	if err != nil {
		return err
	}
	if err := e.print("tried", t); err != nil || t.Pass {
		return err
	}
	hint := "git wf agents says what each agent lacks"
	if t.res.Broken != nil {
		hint = "git wf agents schema prints the form; docs/agents.md explains it"
	}
	return fault.Refused(hint, "%s gave no answer that can be used", plain.Line(t.Agent))
}

// tryAgent makes the round trip in a scratch directory.
func (e *env) tryAgent(c *cli.Context, judge *agent.Model, name string) (t tried, err error) {
	dir, err := process.Scratch()
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	job := agent.Job{
		Task: &plan.Task{TaskID: "TEST-1", Title: "Answer"}, PlanID: "WFS-test", Attempt: 1,
		Role: contract.RoleCheck,
		Dir:  filepath.Join(dir, "work"), Out: filepath.Join(dir, "out"), In: filepath.Join(dir, "in"),
		Prompt: filepath.Join(dir, "prompt.md"),
		Repo:   dir, Environ: e.environ, Timeout: tryLimit,
		Notice: func(text string) { fmt.Fprintln(e.stderr, plain.Line(text)) },
	}
	for _, d := range []string{job.Dir, job.Out, job.In} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return t, err
		}
	}
	text := "This tries the connection. Criterion A1 is: two and two are four. Judge it.\n\nAnswer with one JSON " +
		"object and nothing else, such as:\n\n" +
		string(contract.Example(contract.RoleCheck, contract.Review))
	if err := os.WriteFile(job.Prompt, []byte(text), 0o666); err != nil {
		return t, err
	}
	want := contract.Want{Role: contract.RoleCheck, Criteria: []plan.Criterion{{ID: "A1",
		Statement: "Two and two are four.", Severity: plan.Must, CheckMethod: plan.ManualReview}}}
	_, res, err := judge.Judge(c.Context, job, want)
	if err != nil {
		return t, err
	}
	return tried{
		Agent: res.MadeBy(name), Pass: res.Kind == agent.Artifact, Message: res.Message,
		DurationMS: res.Duration.Milliseconds(),
		Replies:    res.Replies, Usage: res.Usage, Skipped: res.Skipped, res: res,
	}, nil
}

// Said is what is to be shown of an answer that breaks the contract.
func (t tried) Said() []safe {
	switch {
	case t.Replies > 0:
		return linesOf(t.Message)
	case t.res.LogTail == "": // the rest has been said
		return nil
	}
	return append([]safe{"end of its output:"}, linesOf(t.res.LogTail)...)
}

// Answered says how long an answer took, and what it cost if the agent reports that.
func (t tried) Answered() string {
	took := t.res.Duration.Round(time.Millisecond)
	text := fmt.Sprintf("answered in %s", took)
	if t.Replies > 1 {
		text = fmt.Sprintf("answered %d times, as it was told what was wrong, in %s", t.Replies, took)
	}
	if t.Usage == nil {
		return text + "; it reports no tokens and no cost"
	}
	return text + fmt.Sprintf("; %d tokens in, %d out, %s", t.Usage.InputTokens, t.Usage.OutputTokens,
		dollars(t.Usage.CostUSD))
}
