package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

func (e *env) verify(c *cli.Context, store *gitstore.Store) error {
	rev, required := c.Args().First(), c.Bool("require-commits")
	switch format := c.String("format"); {
	case !slices.Contains([]string{"text", "github", "sarif"}, format): // before anything is judged, which takes time
		return usage("--format: expected text, github or sarif, found %q", format)
	case c.Args().Present() && strings.TrimSpace(rev) == "":
		return usage("%q names no commit or range: is a variable of the job not set?", rev)
	case required && rev == "":
		return usage("--require-commits needs a commit or range: is a variable of the job not set?")
	}
	replaced := make(chan error, 1)
	var note string
	go func() { // beside the judgement, which asks git other questions
		var err error
		note, err = replacedNote(c.Context, store)
		replaced <- err
	}()
	policy, err := store.Policy(c.Context)
	if err == nil && policy.Commit == "" {
		err = mayLackPolicy(c.Context, store)
	}
	if err != nil {
		return err
	}
	ctx, end := e.metered(c)
	report, err := judgeRev(ctx, store, gate.New(store, policy), rev)
	end()
	if err != nil {
		return err
	}
	if err := <-replaced; err != nil {
		return err
	}
	fmt.Fprint(e.stderr, note)
	if err := e.printReport(c, report); err != nil || !report.Empty || !required {
		return err
	}
	return fault.Refused("", "%q selects no commit", rev)
}

// judgeRev judges what is staged, or what a commit or range brings.
func judgeRev(ctx context.Context, store *gitstore.Store, g *gate.Gate, rev string) (*gate.Report, error) {
	switch {
	case rev == "":
		if store.WorkTree() == "" {
			return nil, gitstore.ErrBare
		}
		return g.Index(ctx)
	case strings.Contains(rev, ".."):
		err := g.Whole(ctx, rev, "--end-of-options", rev)
		if err == nil {
			var report *gate.Report
			if report, err = g.Range(ctx, "--end-of-options", rev); err == nil {
				return report, nil
			}
		}
		// Ask only now whether this is a range: asking first would cost one git each time.
		if _, perr := store.Git(ctx, "rev-parse", "--quiet", "--end-of-options", rev); perr != nil && ctx.Err() == nil {
			return nil, noRevision(ctx, store, "range", rev)
		}
		return nil, err
	}
	oid, err := store.CommitOf(ctx, rev)
	if err != nil {
		return nil, err
	}
	if oid == "" {
		return nil, noRevision(ctx, store, "commit", rev)
	}
	return g.Commit(ctx, oid)
}

// mayLackPolicy refuses to judge without a policy, unless this repository is known to have none: a clone gets no such
// ref by itself, and what is missing is no leave.
func mayLackPolicy(ctx context.Context, store *gitstore.Store) error {
	word, _, err := store.Config(ctx, "wf.policy")
	remote, err2 := store.MainRemote(ctx)
	fetched, err3 := store.Ref(ctx, "refs/workflow-remotes/"+remote+"/policy")
	if err := errors.Join(err, err2, err3); err != nil || fetched == "" && word == "none" {
		return err
	}
	hint := "git wf init"
	if _, set, _ := store.Config(ctx, "wf.offline"); set { // init connects to nothing then
		hint = "git wf sync"
	}
	return fault.Usage(hint, "the policy is not here, so nobody knows what it protects")
}

// replacedNote warns that git shows other objects than those that are judged; "" if it does not.
func replacedNote(ctx context.Context, store *gitstore.Store) (string, error) {
	refs, err := audit.Replaced(ctx, store)
	if err != nil || len(refs) == 0 {
		return "", err
	}
	return fmt.Sprintf(
		"note: git shows other content than what was judged, because this repository replaces %s: git replace -d %s\n",
		plain.Count(len(refs), "object"), path.Base(refs[0])), nil
}

// noRevision is the error of a range or commit that is not here; a shallow clone may not have fetched it.
func noRevision(ctx context.Context, store *gitstore.Store, what, rev string) error {
	hint := ""
	if shallow, err := store.Git(ctx, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		hint = gitstore.Unshallow
	}
	return fault.Usage(hint, "%q is no %s of this repository", rev, what)
}

// printReport prints what the gate says and returns the error with which the command ends, the same in every format.
func (p printer) printReport(c *cli.Context, report *gate.Report) error {
	format := c.String("format")
	var err error
	switch {
	case p.json:
		err = writeJSON(p.stdout, "  ", report)
	case format == "sarif":
		err = writeJSON(p.stdout, "  ", report.SARIF(version))
	case format == "github":
		for _, line := range report.Annotations() {
			fmt.Fprintln(p.stdout, line)
		}
		if report.OK() {
			err = p.render(p.stdout, "bundles", gate.Report{Bundles: report.Bundles, Empty: report.Empty})
		}
	default:
		if report.Note != "" {
			fmt.Fprintln(p.stderr, "note: "+plain.Line(report.Note))
		}
		if err = p.printFindings(report, ""); err == nil {
			err = p.render(p.stdout, "bundles", report)
		}
		return err
	}
	if err == nil && !report.OK() {
		err = errSaid
	}
	return err
}

// changeLines say each approved change of protected code once.
func changeLines(all []gate.Landed) (lines []string) {
	for _, c := range all {
		text := fmt.Sprintf("%s: %s %s as approved, %s", c.PlanID, c.TaskID, c.Version, c.Signatures)
		if c.Reverted {
			text = fmt.Sprintf("%s: %s %s taken back", c.PlanID, c.TaskID, c.Version)
		}
		if len(c.SignedBy) > 0 && !c.Reverted {
			text += " by " + strings.Join(c.SignedBy, ", ")
		}
		if c.Overturned {
			text += "; rejected since, and gone"
		}
		lines = each.Add(lines, text)
	}
	return lines
}

// mostFindings is how many findings are printed: a wholly replaced bundle would fill many screens.
const mostFindings = 20

// printFindings says what may not land and how to fix it, and returns the error with which the command ends. If nothing
// is refused, aside says why and what to do, and the findings are warnings.
func (p printer) printFindings(r *gate.Report, aside string) error {
	if r.OK() {
		return nil
	}
	prefix := "error: "
	if aside != "" {
		prefix = "warning: "
	}
	hints := map[string]bool{}
	printSome(p.stderr, r.Findings, mostFindings, prefix+"and %d more\n", func(f gate.Finding) {
		fmt.Fprintln(p.stderr, prefix+plain.Line(f.Where()+": "+f.Message))
		if f.Hint != "" {
			hints[f.Hint] = true
		}
	})
	for _, f := range r.Findings {
		if hints[f.Hint] {
			fmt.Fprintln(p.stderr, "hint: "+plain.Line(f.Hint))
			delete(hints, f.Hint)
		}
	}
	if aside != "" {
		fmt.Fprintln(p.stderr, "hint: "+aside)
		return nil
	}
	return errSaid
}
