package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/checkout"
	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
	"gitwf/internal/shell"
)

// The exit codes, as docs/format.md and the manual list them.
const (
	exitDone         = 0
	exitRefused      = 1   // the gate said no, a task failed
	exitUsage        = 2   // wrong usage, bad input
	exitWaiting      = 3   // a person has to act
	exitNoRepository = 128 // as git itself
	exitInterrupted  = 130
)

// failure is an error that knows how the command ends because of it.
type failure struct {
	code int
	err  error
	hint string // a command that helps, "" if there is none
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is the error of a command that was called wrongly or given bad input.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// refused is the error of a command that must not do what it was asked to.
func refused(hint, format string, args ...any) error {
	return &failure{code: exitRefused, err: fmt.Errorf(format, args...), hint: hint}
}

// waiting is how a command ends that did what it could and now needs somebody. It prints nothing more.
var errWaiting = &failure{code: exitWaiting, err: errors.New("waiting for a person")}

// errSaid ends a command with code 1 when what is wrong has been printed already.
var errSaid = &failure{code: exitRefused, err: errors.New("refused")}

// explain maps an error to the exit code and to a hint with the command that would mend it. It is the one place that
// does.
func explain(err error) (code int, hint string) {
	var (
		f           *failure
		findings    plan.Findings
		unfinished  *export.UnfinishedError
		stale       *export.StaleError
		busy        *export.BusyError
		unsupported *gitstore.UnsupportedError
		refusedErr  *plan.RefusedError
		collect     *agent.CollectError
		opinion     *check.OpinionError
		identity    *gitstore.IdentityError
		absent      *gitstore.AbsentError
		proof       *gitstore.ProofError
		unproven    *export.UnprovenError
		input       *engine.InputError
		answer      *plan.AnswerError
		lease       *engine.LeaseError
		setting     *agent.ConfigError
		damaged     *gitstore.DamagedError
		unknown     *agent.UnknownError
		template    *prompt.TemplateError
		tooLong     *prompt.BudgetError
		base        *gate.BaseError
		session     *plan.SessionError
		open        *plan.OpenError
		needed      *plan.AbandonError
		planType    *engine.TypeError
		inTheWay    *checkout.InTheWayError
	)
	switch {
	case errors.As(err, &f):
		return f.code, f.hint
	case errors.As(err, &inTheWay):
		return exitRefused, "mv " + shell.Word(inTheWay.Path) + " " + shell.Word(inTheWay.Path+".orig") + ", at the top of the working tree, then git wf checkout"
	case errors.As(err, &base):
		return exitUsage, ""
	case errors.As(err, &session):
		return exitRefused, session.Hint()
	case errors.As(err, &open):
		return exitRefused, open.Hint()
	case errors.As(err, &needed):
		return exitRefused, "abandon what needs it first, or git wf plan --amend, which can change that"
	case errors.As(err, &planType):
		return exitUsage, "git wf plan --type TYPE, one of " + typeNames() + ", or one of your own templates"
	case errors.Is(err, context.Canceled):
		return exitInterrupted, ""
	case errors.Is(err, gitstore.ErrNoRepository):
		return exitNoRepository, "git init"
	case errors.As(err, &absent):
		return exitRefused, absent.Hint
	case errors.As(err, &damaged):
		return exitRefused, "git wf doctor, which shows the way back to what is sound"
	case errors.As(err, &setting):
		return exitUsage, setting.Mend()
	case errors.As(err, &findings):
		return exitUsage, ""
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return exitUsage, "look at who owns the directory, and who may write there"
	case errors.As(err, &unsupported):
		return exitUsage, unsupported.Hint
	case errors.As(err, &identity):
		return exitUsage, identity.Hint
	case errors.As(err, &proof):
		return exitRefused, proof.Hint
	case errors.As(err, &unproven):
		return exitRefused, "git wf review " + string(unproven.Approvals[0].TaskID) + " --approve, by somebody who signs with a key of git wf policy show"
	case errors.Is(err, gitstore.ErrBare):
		return exitUsage, "git worktree add ../tree, and run the command there"
	case errors.Is(err, gitstore.ErrUnborn):
		return exitUsage, "git commit --allow-empty -m 'first commit'"
	case errors.Is(err, gitstore.ErrNoActive):
		return exitUsage, "git wf plan -f FILE, or git wf switch PLAN (git wf plans lists them)"
	case errors.Is(err, gitstore.ErrNoPlan):
		return exitUsage, "git wf plans"
	case errors.As(err, &lease):
		return exitUsage, "git config wf.lease 5m"
	case errors.As(err, &unfinished):
		return exitRefused, "git wf run, or git wf export --partial"
	case errors.As(err, &stale):
		return exitRefused, "git wf review TASK --reject, then git wf run, has it made anew; git wf export --allow-stale takes it as it is"
	case errors.As(err, &busy):
		return exitRefused, "finish it first, or give it up: " + busy.Abort
	case errors.As(err, &refusedErr):
		if refusedErr.Hint == "" && refusedErr.Task != "" {
			return exitRefused, "git wf show " + string(refusedErr.Task) + " shows how it stands"
		}
		return exitRefused, refusedErr.Hint
	case errors.As(err, &input):
		return exitUsage, input.Hint
	case errors.As(err, &answer):
		return exitUsage, answer.Hint
	case errors.As(err, &unknown):
		return exitUsage, "git wf agents"
	case errors.As(err, &template):
		return exitUsage, "mend " + template.File + ", or remove it to get the built-in one; docs/prompts.md lists what a template can use"
	case errors.As(err, &tooLong):
		return exitUsage, fmt.Sprintf("git config wf.agent.NAME.budget %d, or shorten the task", tooLong.Need)
	case errors.As(err, &collect), errors.As(err, &opinion):
		return exitUsage, ""
	}
	return exitRefused, ""
}

// fail prints an error the way git does and returns the exit code.
func (e *env) fail(err error) int {
	code, hint := explain(err)
	if errors.Is(err, errWaiting) || errors.Is(err, errSaid) {
		return code
	}
	prefix := "error: "
	if code == exitNoRepository {
		prefix = "fatal: "
	}
	if code == exitInterrupted {
		fmt.Fprintln(e.stderr, "interrupted")
		return code
	}
	for line := range strings.Lines(plan.Printable(err.Error())) {
		fmt.Fprintln(e.stderr, prefix+strings.TrimRight(line, "\n"))
	}
	if hint != "" {
		fmt.Fprintln(e.stderr, "hint: "+plan.Printable(hint))
	}
	return code
}
