package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/readmodel"
)

func (e *env) showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show one task: spec, criteria, versions, reviews, evidence, inputs",
		ArgsUsage: "TASK",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			boolFlag("review", "print the newest review file instead"),
			boolFlag("impact", "print instead what a new version would have made again"),
		},
		Action: e.onReadable(nearTask, e.show),
	}
}

// findTask finds a task by its id.
func findTask(s *plan.State, name string) (*plan.TaskState, error) {
	t := s.Tasks[plan.TaskID(name)]
	if t == nil {
		hint, ids := "git wf status", make([]string, len(s.Plan.Tasks))
		for i := range s.Plan.Tasks {
			ids[i] = string(s.Plan.Tasks[i].TaskID)
		}
		if near := plandoc.Nearest(name, ids); near != "" {
			hint = "did you mean " + near + "? " + hint + " lists the tasks"
		}
		return nil, fault.Usage(hint, "no task %q in %s", name, s.Plan.PlanID)
	}
	return t, nil
}

func (e *env) show(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	s, err := e.state(c.Context, store, snap)
	if err != nil {
		return err
	}
	t, err := findTask(s, c.Args().First())
	if err != nil {
		return err
	}
	subject := s.Subject(t.TaskID)
	if c.Bool("review") {
		return e.showReviewFile(c.Context, store, snap, subject)
	}
	if c.Bool("impact") {
		return e.showImpact(s, subject)
	}
	d, err := e.readTask(c.Context, store, snap, s, subject)
	landings := d.Landings
	d.Task, d.Spec = readmodel.TaskOf(s, t), t.Task
	d.Landings = landings
	return errors.Join(e.out(d, func(w io.Writer) { e.printTask(w, s, subject, d) }), err)
}

func (p printer) showReviewFile(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	t *plan.TaskState) error {
	reviews := snap.Records.Of(t.TaskID).Reviews
	if len(reviews) == 0 {
		return fault.Refused("git wf show "+string(t.TaskID), "%s has no review yet", t.TaskID)
	}
	last := reviews[len(reviews)-1]
	data, err := export.DocumentsOf(ctx, store, snap, t.TaskID).ReviewFile(last)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, plain.Text(string(data)))
	return err
}

// readTask reads every document of a task's records.
func (e *env) readTask(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, s *plan.State,
	t *plan.TaskState) (*readmodel.Detail, error) {
	return readmodel.ReadTask(ctx, store, snap, s, t, func() (estimate.Weights, error) { return e.weights(store) })
}

func (st style) printTask(w io.Writer, s *plan.State, t *plan.TaskState, d *readmodel.Detail) {
	fmt.Fprintf(w, "%s %s  %s  %s\n", st.mark(t.Status), st.paint("1", string(t.TaskID)), plain.Line(t.Title),
		st.status(t.Status))
	if why := s.Reason(t); why != "" {
		fmt.Fprintf(w, "%s\n", plain.Line(why))
	}
	if t.Description != "" {
		fmt.Fprintf(w, "\n%s\n", plain.Text(t.Description))
	}
	if spec := t.DeliverableSpec; spec != nil {
		st.heading(w, "Deliverable")
		names := slices.Concat(spec.Files, spec.Paths)
		if spec.Filename != "" {
			names = append([]string{spec.Filename}, names...)
		}
		fmt.Fprintf(w, "  %s: %s\n", spec.Format, plain.Line(strings.Join(names, ", ")))
		assumed := ""
		if d.Assumed != nil {
			assumed = " (assumed, by the rule)"
		}
		fmt.Fprintf(w, "  estimate %g person-days%s, agent %s\n", d.Days, assumed, makerOf(t.Task))
	}
	if len(t.AcceptanceCriteria) > 0 {
		st.heading(w, "Criteria")
	}
	for _, c := range t.AcceptanceCriteria {
		fmt.Fprintf(w, "  %s %s (%s): %s\n", c.ID, c.Severity, c.CheckMethod, plain.Line(c.Statement))
		if c.Run != "" {
			fmt.Fprintf(w, "      $ %s\n", clip(plain.Line(c.Run), 120))
		}
	}
	st.printGoal(w, s, t)
	if inputs := s.Inputs(t.TaskID); len(inputs) > 0 || len(d.Consumers) > 0 {
		st.heading(w, "Inputs and consumers")
		for _, id := range inputs {
			fmt.Fprintf(w, "  from %s %s\n", id, orDash(plan.VersionID(s.Tasks[id].Approved)))
		}
		for _, id := range d.Consumers {
			fmt.Fprintf(w, "  for  %s\n", id)
		}
	}
	st.printSeats(w, t, d.Seats)
	st.printFeasibility(w, t.TaskID, d.Feasibility)
	st.printTaskInput(w, d)
	st.printMoves(w, d.Moves)
	st.printVersions(w, s, t, d)
	if len(d.Notes) > 0 {
		st.heading(w, "Notes")
	}
	for _, n := range d.Notes {
		st.printNote(w, n, "  ")
	}
	if len(d.Others) > 0 {
		st.heading(w, "Other records")
	}
	for _, name := range d.Others {
		fmt.Fprintf(w, "  %s/%s\n", d.LocalPath, plain.Line(name))
	}
}

// printGoal shows the parts of a GOAL, and the criteria of the root.
func (st style) printGoal(w io.Writer, s *plan.State, t *plan.TaskState) {
	if t.NodeType != plan.Goal {
		return
	}
	if len(t.RootAcceptanceCriteria) > 0 {
		st.heading(w, "Root criteria")
	}
	for _, c := range t.RootAcceptanceCriteria {
		fmt.Fprintf(w, "  %s: %s\n", plain.Line(c.ID), plain.Line(c.Statement))
	}
	st.heading(w, "Tasks below it")
	for _, below := range s.Plan.Tasks {
		if below.ParentTaskID == t.TaskID && below.NodeType != plan.Check {
			ts := s.Tasks[below.TaskID]
			fmt.Fprintf(w, "  %s %s  %s  %s\n", st.mark(ts.Status), below.TaskID, plain.Line(below.Title),
				st.status(ts.Status))
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (st style) printVersions(w io.Writer, s *plan.State, t *plan.TaskState, d *readmodel.Detail) {
	if len(d.Versions) > 0 {
		st.heading(w, "Versions")
	}
	for _, a := range d.Versions {
		fmt.Fprintf(w, "  %s  %s  by %s at %s, %d bytes\n", a.ArtifactID, a.Said, plain.Line(a.Agent), date(a.CreatedAt),
			a.Size)
		if t.Changes() {
			printSome(w, plandoc.Changed(a.Files), 20, "      and %d more files\n", func(f plandoc.ChangedFile) {
				fmt.Fprintf(w, "      %c %s\n", f.How, plain.Line(f.Path))
			})
			a.Files = nil
		}
		printSome(w, a.Files, 20, "      and %d more files\n", func(f plan.FileInfo) {
			fmt.Fprintf(w, "      %s  %s  sha256 %.12s\n", plain.Line(f.Path), f.Mode, f.SHA256)
		})
		printConcerns(w, a.Concerns)
		printPanel(w, s, t.TaskID, a.Record.Version)
		for _, r := range a.Reviews {
			printReview(w, r.Review)
		}
	}
	if t.Changes() && t.Approved > 0 {
		st.heading(w, "Landing")
		printLandings(w, t, d.Landings)
	}
	if len(d.Tries) > 0 {
		st.heading(w, "Attempts without a result")
	}
	for _, a := range d.Tries {
		fmt.Fprintf(w, "  %s %s of %s by %s at %s, exit %d\n", a.AttemptID, a.Kind, a.TaskID, plain.Line(a.Agent),
			date(a.CreatedAt), a.ExitCode)
		for line := range strings.Lines(plain.Text(strings.TrimSpace(a.Message))) {
			fmt.Fprintf(w, "      %s\n", strings.TrimRight(line, "\n"))
		}
		printConcerns(w, a.Concerns)
		fmt.Fprintf(w, "      git show 'workflow/%s:%s/%s'\n", s.Plan.PlanID, d.LocalPath, a.Path)
	}
}

func printLandings(w io.Writer, t *plan.TaskState, list []plan.Landing) {
	for _, l := range list {
		if l.Commit != "" {
			fmt.Fprintf(w, "  %s  landed on %s as %.12s, by %s at %s\n", l.ArtifactID, plain.Line(l.Branch), l.Commit,
				plain.Line(l.By),
				date(l.CreatedAt))
			continue
		}
		fmt.Fprintf(w, "  %s  did not land on %s (%.12s): %s\n", l.ArtifactID, plain.Line(l.Branch), l.On,
			plain.Line(l.Reason))
		for _, c := range l.Conflicts {
			fmt.Fprintf(w, "      %s\n", plain.Line(c))
		}
		for _, c := range l.Criteria {
			if c.Result == plan.ResultFail {
				fmt.Fprintf(w, "      %s  %s  %s\n", c.ID, c.Result, clip(plain.Line(c.Evidence), 110))
			}
		}
	}
	if len(list) == 0 {
		fmt.Fprintf(w, "  git wf land %s\n", t.TaskID)
	}
}

// printPanel shows what each seat says of a version.
func printPanel(w io.Writer, s *plan.State, id plan.TaskID, version int) {
	for name, r := range s.Panel(id, version) {
		said := "has not spoken"
		if r.N > 0 {
			said = fmt.Sprintf("%s %d", r.Verdict, r.Score)
		}
		fmt.Fprintf(w, "    seat %s  %s\n", plain.Line(name), said)
	}
}

func printReview(w io.Writer, r plan.Review) {
	self := r.Worth()
	if r.For != "" {
		self += ", for " + plain.Line(r.For)
	}
	score := ""
	if r.HasScore() {
		score = fmt.Sprintf(", score %d", r.Score)
	}
	verdict := string(r.Verdict)
	if r.Verdict == plan.Rejected && !r.FindsFault() {
		verdict, r.Criteria = "set aside", nil
	}
	fmt.Fprintf(w, "    %s %s by %s%s%s: %s\n", r.ReviewID, verdict, plain.Line(r.Who()), score, self,
		plain.Line(r.Reason))
	if rated := readmodel.Rated(r); rated != "" {
		fmt.Fprintf(w, "      rated %s\n", plain.Line(rated))
	}
	width := 0
	for _, c := range r.Criteria {
		width = max(width, len(c.ID))
	}
	for _, c := range r.Criteria {
		fmt.Fprintf(w, "      %-*s  %-10s  %s\n", width, c.ID, c.Result, clip(plain.Line(c.Evidence), 110))
	}
}
