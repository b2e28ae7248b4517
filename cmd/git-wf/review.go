package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/check"
	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) reviewOrWalk(c *cli.Context) error {
	if c.Args().Present() {
		return e.onEnginePlan(recordNear, e.review)(c)
	}
	return e.onEngine(e.walkInbox)(c)
}

func (e *env) review(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	store := eng.Store
	s, err := e.state(c.Context, store, snap)
	if err != nil {
		return err
	}
	t, err := findTask(s, c.Args().First())
	if err != nil {
		return err
	}
	if err := s.RefuseContainer(t.TaskID, "git wf review TASK"); err != nil {
		return err
	}
	t = s.Subject(t.TaskID)
	if c.Bool("still-holds") {
		return e.stillHolds(c, eng, snap, t)
	}
	opinion, given, err := opinionFromFlags(c)
	if err != nil {
		return err
	}
	if !given {
		return e.walkTask(c, eng, snap.ID, t.TaskID)
	}
	if err := opinion.Fits(t.Task); err != nil {
		return err
	}
	person, err := store.Person(c.Context)
	if e.inOwnName {
		person, err = e.maker(c.Context, store)
	}
	if err != nil {
		return err
	}
	seat, err := s.SeatFor(t.TaskID, person.Name, c.String("as"))
	if err != nil {
		return err
	}
	ctx, end := e.metered(c) // checks that have not run yet do now
	r, err := eng.BeginReview(ctx, snap.ID, t.TaskID)
	end()
	if err != nil {
		return err
	}
	defer r.End()
	if e.inOwnName && r.Subject.Artifact.Agent == person.Name {
		return fault.Refused("git wf review "+string(t.TaskID)+", by somebody else",
			"%s made this version, and no agent reviews its own", person.Name)
	}
	if want, newest := c.String("artifact"), r.Subject.Artifact.ArtifactID; want != "" && want != newest {
		return fault.Refused("git wf show "+string(t.TaskID),
			"%s: the newest version is %s, not %s", t.TaskID, newest, plain.Line(want))
	}
	if opinion.Reviewer = person.Name; seat != "" {
		opinion.Reviewer, opinion.Agent = seat, person.Name
	}
	if name := c.String("reviewer"); name != person.Name {
		opinion.For = name
	}
	var done *gitstore.Appended
	var rev plan.Review
	if err = checkRemarks(c.Context, store, t, r.Subject.Artifact, opinion); err == nil {
		done, rev, err = r.Record(c.Context, opinion, person)
	}
	if err != nil {
		return err
	}
	unmet, err := eng.Unmet(c.Context, done.Snapshot, t.TaskID)
	if err = errors.Join(err, e.out(rev, func(w io.Writer) {
		fmt.Fprintln(w, plain.Line(done.Change.Subject))
		if ids := rev.AsAWhole(); len(ids) > 0 {
			fmt.Fprintf(w, "%s: %s\n", plan.AsAWhole, plain.Line(strings.Join(ids, ", ")))
		}
		if unmet != "" {
			fmt.Fprintln(w, unmet)
		}
	})); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, snap.ID)
}

// checkRemarks refuses what is said of a line, as PATH:LINE, that a changed file does not have.
func checkRemarks(ctx context.Context, store *gitstore.Store, t *plan.TaskState, a plan.Artifact,
	o check.Opinion) error {
	if !t.Changes() {
		return nil
	}
	said := plan.Review{Reason: o.Message}
	for id, r := range o.Criteria {
		said.Criteria = append(said.Criteria, plan.CriterionResult{ID: id, Evidence: r.Evidence})
	}
	return export.CheckRemarks(ctx, store, a, said)
}

// opinionFromFlags reads a verdict from the command line; given is false when there is none.
func opinionFromFlags(c *cli.Context) (o check.Opinion, given bool, err error) {
	approve, reject := c.Bool("approve"), c.Bool("reject")
	switch {
	case approve:
		o.Verdict = plan.Approved
	case reject:
		o.Verdict = plan.Rejected
	case slices.ContainsFunc([]string{"score", "criterion", "rating", "message", "artifact", "json"}, c.IsSet):
		return o, false, usage("no verdict: add --approve or --reject")
	}
	if c.IsSet("score") {
		n := c.Int("score")
		if n < 0 || n > 100 {
			return o, false, usage("--score: expected 0 to 100, found %d", n)
		}
		o.Score = &n
	}
	for _, text := range c.StringSlice("criterion") {
		id, ruling, ok := strings.Cut(text, "=")
		if !ok {
			return o, false, usage("--criterion %s: expected ID=pass, ID=fail or ID=none, with :EVIDENCE after it",
				text)
		}
		word, evidence, _ := strings.Cut(ruling, ":")
		if err := o.Rule(id, word, strings.TrimSpace(evidence)); err != nil {
			return o, false, usage("--%v", err)
		}
	}
	for _, text := range c.StringSlice("rating") {
		name, value, _ := strings.Cut(text, "=")
		if err := o.Rate(name, value); err != nil {
			return o, false, usage("--%v", err)
		}
	}
	o.Message = c.String("message")
	return o, approve || reject, nil
}

// ask asks a question, and takes everything but yes as no.
func (e *env) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(e.stderr, question)
	line, err := e.readLine(ctx)
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(e.stderr)
		return false, nil
	}
	answer := strings.ToLower(line)
	return answer == "y" || answer == "yes", err
}

// readLine is the next line of what somebody types, without the space around it. It fails with the context's error when
// that ends: nothing else wakes who reads from a terminal.
func (e *env) readLine(ctx context.Context) (string, error) {
	type typed struct {
		line string
		err  error
	}
	answer := make(chan typed, 1)
	go func() {
		line, err := e.typedLine()
		answer <- typed{line, err}
	}()
	select {
	case a := <-answer:
		return a.line, a.err
	case <-ctx.Done():
		fmt.Fprintln(e.stderr)
		return "", ctx.Err()
	}
}

// typedLine reads a line and no further: a command may ask several things.
func (e *env) typedLine() (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := e.stdin.Read(one)
		switch {
		case n > 0 && one[0] == '\n':
			return strings.TrimSpace(string(line)), nil
		case n > 0:
			line = append(line, one[0])
		case err == io.EOF && len(line) > 0:
			return strings.TrimSpace(string(line)), nil
		case err != nil:
			return "", err
		}
	}
}
