package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func (e *env) showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show one task: spec, criteria, versions, reviews, evidence, inputs",
		ArgsUsage: "TASK",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			boolFlag("review", "print the newest review file"),
			boolFlag("impact", "what a new version of the task would have made again"),
		},
		Action: e.onReadable(nearTask, e.show),
	}
}

// taskDocument is what show --json prints.
type taskDocument struct {
	taskSummary
	Task *plan.Task `json:"task"`
	export.Work
	taskInput
	Seats       []seat             `json:"seats,omitempty"`
	Moves       []export.Move      `json:"decisions,omitempty"` // that it took, or that are about it, newest first
	Notes       []plan.Note        `json:"notes,omitempty"`     // that came with its records
	Consumers   []plan.TaskID      `json:"consumers"`
	Feasibility []engine.Judgement `json:"feasibility"`                // oldest first; of a task that makes plans, of each leaf
	Assumed     *estimate.Estimate `json:"assumed_estimate,omitempty"` // by the rule, where the plan gives none
	LocalPath   string             `json:"tree_path"`                  // of the task's records in the plan's tree
	Others      []string           `json:"records"`                    // below it, that nothing above shows
}

// findTask finds a task by its id.
func findTask(s *plan.State, name string) (*plan.TaskState, error) {
	t := s.Tasks[plan.TaskID(name)]
	if t == nil {
		return nil, fault.Usage("git wf status", "no task %q in %s", name, s.Plan.PlanID)
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
		return e.showImpact(c.Bool("json"), s, subject)
	}
	d, err := readTask(c.Context, store, snap, s, subject)
	if err != nil {
		return err
	}
	if t := subject; t.NodeType == plan.Action && !t.Planning() && t.EstimatedPersonDays == 0 {
		weights, err := e.weights(store)
		if err != nil {
			return err
		}
		rule := weights.Estimate(t.Task)
		d.Assumed = &rule
	}
	landings := d.Landings
	d.Seats = seatsOf(s, subject, d.Reviews)
	d.taskSummary, d.Task = describeTask(s, t), t.Task
	d.Landings = landings
	if c.Bool("json") {
		return e.printJSON(d)
	}
	w := bufio.NewWriter(e.stdout)
	e.printTask(w, s, subject, d)
	return w.Flush()
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
func readTask(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, s *plan.State,
	t *plan.TaskState) (taskDocument, error) {
	d := taskDocument{Consumers: []plan.TaskID{}, LocalPath: t.TaskID.Dir(), Others: snap.Listed(t.TaskID)}
	docs := export.DocumentsOf(ctx, store, snap, t.TaskID)
	var err error
	if d.Work, err = docs.Work(); err != nil {
		return d, err
	}
	if d.Landings, err = docs.Landings(); err != nil {
		return d, err
	}
	if d.Questions, err = export.All(snap.Records.Of(t.TaskID).Questions, docs.Question); err != nil {
		return d, err
	}
	if d.HandedIn, err = export.All(docs.Inputs(), docs.Input); err != nil {
		return d, err
	}
	if d.Notes, err = export.Notes(ctx, store, snap, mostNotes); err != nil {
		return d, err
	}
	d.Notes = slices.DeleteFunc(d.Notes, func(n plan.Note) bool { return !n.Is(t.TaskID) && !n.Is(t.TaskID.CheckID()) })
	if d.Moves, err = export.Moves(ctx, store, snap, mostMoves); err != nil {
		return d, err
	}
	d.Moves = slices.DeleteFunc(d.Moves, func(m export.Move) bool { return m.By != t.TaskID && m.Task != t.TaskID })
	if d.Feasibility, err = engine.Judgements(ctx, store, snap, t.TaskID); err != nil {
		return d, err
	}
	if t.NodeType == plan.Action {
		d.Consumers = append(d.Consumers, s.Dependents(t.TaskID)...)
	}
	return d, nil
}

func (st style) printTask(w io.Writer, s *plan.State, t *plan.TaskState, d taskDocument) {
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
		days, assumed := t.EstimatedPersonDays, ""
		if d.Assumed != nil {
			days, assumed = d.Assumed.Days, " (assumed, by the rule)"
		}
		fmt.Fprintf(w, "  estimate %g person-days%s, agent %s\n", days, assumed, makerOf(t.Task))
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
	st.printTaskInput(w, d.taskInput)
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

func (st style) printVersions(w io.Writer, s *plan.State, t *plan.TaskState, d taskDocument) {
	if len(d.Artifacts) > 0 {
		st.heading(w, "Versions")
	}
	for _, a := range d.Artifacts {
		verdict := verdictOn(s, t.TaskID, a.ArtifactID)
		fmt.Fprintf(w, "  %s  %s  by %s at %s, %d bytes\n", a.ArtifactID, verdict, plain.Line(a.Agent), date(a.CreatedAt),
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
		printPanel(w, s, t.TaskID, plan.VersionNumber(a.ArtifactID))
		for _, r := range d.Reviews {
			if r.ReviewedArtifactID == a.ArtifactID {
				printReview(w, r)
			}
		}
	}
	if t.Changes() && t.Approved > 0 {
		st.heading(w, "Landing")
		printLandings(w, t, d.Landings)
	}
	if len(d.Work.Attempts) > 0 {
		st.heading(w, "Attempts without a result")
	}
	for i, a := range d.Work.Attempts {
		fmt.Fprintf(w, "  %s %s of %s by %s at %s, exit %d\n", a.AttemptID, a.Kind, a.TaskID, plain.Line(a.Agent),
			date(a.CreatedAt), a.ExitCode)
		for line := range strings.Lines(plain.Text(strings.TrimSpace(a.Message))) {
			fmt.Fprintf(w, "      %s\n", strings.TrimRight(line, "\n"))
		}
		printConcerns(w, a.Concerns)
		fmt.Fprintf(w, "      git show 'workflow/%s:%s/%s'\n", s.Plan.PlanID, d.LocalPath,
			s.Records.Of(t.TaskID).Attempts[i].Path())
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
	printRatings(w, r)
	width := 0
	for _, c := range r.Criteria {
		width = max(width, len(c.ID))
	}
	for _, c := range r.Criteria {
		fmt.Fprintf(w, "      %-*s  %-10s  %s\n", width, c.ID, c.Result, clip(plain.Line(c.Evidence), 110))
	}
}
