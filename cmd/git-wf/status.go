package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/act"
	"gitwf/internal/engine"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

func (e *env) statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "show the tree of tasks, and what each waits for",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			&cli.StringFlag{Name: "as", Usage: "show it as a document: dev-plan"},
			boolFlag("cost", "show the usage and cost that agents report"),
			boolFlag("watch,w", "keep showing it, with who works for how long, until interrupted"),
		},
		Action: func(c *cli.Context) error {
			switch as := c.String("as"); {
			case as != "" && as != "dev-plan":
				return usage("--as: expected dev-plan, found %s", plain.Quote(as))
			case as != "":
				return e.onReadable(wholePlan, e.showDevPlan)(c)
			case c.Bool("watch"):
				return e.watch(c)
			case c.Bool("cost"):
				return e.onReadable(warmPlan, e.showCost)(c)
			}
			return e.onReadable(warmPlan, e.showStatus)(c)
		},
	}
}

// showDevPlan prints the plan as a document, each task with one of five words for where it stands.
func (e *env) showDevPlan(_ *cli.Context, _ *gitstore.Store, snap *gitstore.Snapshot) error {
	_, err := io.WriteString(e.stdout, act.DevPlan(snap.State()))
	return err
}

func (e *env) showStatus(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	st, err := e.standing(c, store, snap)
	if err != nil {
		return err
	}
	e.warnUnguarded(&st.policy)
	if c.Bool("json") {
		return e.printJSON(st.document())
	}
	w := bufio.NewWriter(e.stdout)
	e.printStanding(w, st)
	return w.Flush()
}

// standing is everything about the state of a plan.
type standing struct {
	explained
	checklist []export.RootCriterion
	stale     map[plan.TaskID]string // why
	landings  map[plan.TaskID][]plan.Landing
	own       map[plan.TaskID]bool // the maker approved it
	evidence  *export.Evidence
	policy    policy.Policy
}

func (e *env) standing(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) (st standing, err error) {
	eng, err := e.engine(c, store)
	if err != nil {
		return st, err
	}
	if st.explained, err = e.explain(c.Context, eng, snap); err != nil {
		return st, err
	}
	st.state = st.state.Repeating(expand.Rounds(c.Context, store, snap))
	if st.checklist, err = export.Checklist(c.Context, store, snap, st.state,
		st.state.Leaves(snap.Plan.RootTaskID)); err != nil {
		return st, err
	}
	if st.stale, err = export.Stale(c.Context, store, snap, st.state); err != nil {
		return st, err
	}
	if st.landings, err = export.Standing(c.Context, store, snap); err != nil {
		return st, err
	}
	st.policy, st.own = eng.Policy, export.SelfReviewed(c.Context, store, snap, st.state)
	st.evidence, err = proofUnder(c.Context, store, snap, eng.Policy)
	return st, err
}

func (st standing) document() statusDocument {
	d := st.describe()
	d.Proof, d.HeldUp, d.Claims = st.evidence.Worth(st.state), heldUp(st.open), st.claims
	d.Seats, d.Unread = st.seats, st.state.Unread()
	d.RootCriteria = st.checklist
	for i := range d.Tasks {
		t := &d.Tasks[i]
		t.Stale, t.Landings, t.SelfReviewed = st.stale[t.TaskID], st.landings[t.TaskID], st.own[t.TaskID]
		if t.Approved != nil {
			t.Approvals, t.Unproven = st.evidence.Of(t.TaskID, *t.Approved), whyNot(st.evidence.Missing(t.TaskID, *t.Approved))
		}
	}
	return d
}

func (st style) printStanding(w io.Writer, at standing) {
	st.printProven(w, at)
	if unread := at.state.Unread(); len(unread) > 0 {
		fmt.Fprintf(w, "\nread by nobody but their commands: %s\n", plan.JoinIDs(unread))
	}
	st.printChecklist(w, at.checklist)
	st.printWaits(w, slices.Concat(at.waits, at.asks))
	st.printHeldUp(w, at.open)
	st.printVacancies(w, at.seats)
	st.printClaims(w, staleClaims(at.claims))
	if _, _, open := export.Kinds(at.state); len(open) > 0 && finished(at.state, at.waits) {
		st.heading(w, "Next")
		for _, command := range at.next {
			fmt.Fprintf(w, "  %s\n", command)
		}
	}
}

// statusDocument is what status --json prints.
type statusDocument struct {
	PlanID plan.ID     `json:"plan_id"`
	Title  string      `json:"title"`
	Status plan.Status `json:"status"`
	sessionSummary
	Done         int                    `json:"done"`                 // deliverables that are approved
	Total        int                    `json:"total"`                // deliverables
	Proof        string                 `json:"signatures,omitempty"` // only where it was found out
	RootCriteria []export.RootCriterion `json:"root_criteria,omitempty"`
	Tasks        []taskSummary          `json:"tasks"`
	WaitsUpon    []engine.Wait          `json:"waits"`
	HeldUp       []engine.Wait          `json:"held_up,omitempty"` // by a task that waits, and how
	Claims       []engine.ClaimState    `json:"claims,omitempty"`
	Seats        []engine.Vacancy       `json:"open_seats,omitempty"`
	Asks         []engine.Wait          `json:"outdated,omitempty"` // persons' versions whose inputs have changed
	Unread       []plan.TaskID          `json:"unread,omitempty"`   // approved deliverables that only commands have judged
	Next         []string               `json:"next,omitempty"`     // commands with which it goes on or lands
}

type taskSummary struct {
	TaskID       plan.TaskID   `json:"task_id"`
	NodeType     plan.NodeType `json:"node_type"`
	Title        string        `json:"title"`
	ParentTaskID plan.TaskID   `json:"parent_task_id,omitempty"`
	DependsOn    []plan.TaskID `json:"depends_on,omitempty"`
	Target       plan.TaskID   `json:"review_target_task_id,omitempty"`
	Role         string        `json:"role,omitempty"`
	Status       plan.Status   `json:"status"`
	Reason       string        `json:"reason"`
	WaitsFor     []plan.TaskID `json:"waits_for,omitempty"`
	Active       *string       `json:"active_artifact_id"`
	Approved     *string       `json:"approved_artifact_id"`
	Attempts     int           `json:"attempts"`
	Lost         int           `json:"lost"`                      // workers in a row that did not come back
	Stale        string        `json:"stale,omitempty"`           // why the approved version is
	Waived       []string      `json:"waived_criteria,omitempty"` // of the newest version
	// of the approved version, that are signed under a policy with keys
	Approvals []export.Approval `json:"approvals,omitempty"`
	Unproven  []string          `json:"unproven,omitempty"` // its approvals that do not count, and why
	Review    *reviewSummary    `json:"review"`
	standingSummary
	Landings     []plan.Landing `json:"landings,omitempty"`      // of the approved version; show: of all
	SelfReviewed bool           `json:"self_reviewed,omitempty"` // the approved version, by who made it
}

type reviewSummary struct {
	ReviewID           string       `json:"review_id"`
	Verdict            plan.Verdict `json:"verdict"`
	Score              int          `json:"score"`
	ReviewedArtifactID string       `json:"reviewed_artifact_id"`
	Reviewer           string       `json:"reviewer"`
}

func describe(s *plan.State, waits []engine.Wait) statusDocument {
	d := statusDocument{PlanID: s.Plan.PlanID, Title: s.Plan.Title, Status: s.Root().Status, sessionSummary: sessionOf(s),
		Tasks: []taskSummary{}, WaitsUpon: waits}
	if waits == nil {
		d.WaitsUpon = []engine.Wait{}
	}
	d.Done, d.Total = s.Progress()
	reasons := map[plan.TaskID]string{}
	for _, w := range waits {
		reasons[w.Task] = w.Text
	}
	for _, task := range s.Plan.Tasks {
		sum := describeTask(s, s.Tasks[task.TaskID])
		if r := reasons[task.TaskID]; r != "" {
			sum.Reason = r
		}
		d.Tasks = append(d.Tasks, sum)
	}
	return d
}

func (x explained) describe() statusDocument {
	d := describe(x.state, x.waits)
	d.Asks, d.Next = x.asks, x.next
	return d
}

func describeTask(s *plan.State, t *plan.TaskState) taskSummary {
	return taskSummary{
		standingSummary: standingOf(s, t),
		TaskID:          t.TaskID, NodeType: t.NodeType, Title: t.Title, ParentTaskID: t.ParentTaskID, DependsOn: t.DependsOn,
		Target: t.ReviewTargetTaskID, Status: t.Status, Reason: s.Reason(t), WaitsFor: s.WaitsFor(t), Attempts: t.Attempts,
		Lost: t.Lost, Role: t.Role,
		Active: versionOrNull(t.Active), Approved: versionOrNull(t.Approved), Review: lastReview(s, t),
		Waived: s.Records.Of(t.TaskID).WaivedCriteria(t.Active),
	}
}

// proofUnder finds out which approvals count. Without keys all do, and the policy is not read again.
func proofUnder(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, p policy.Policy) (*export.Evidence,
	error) {
	if len(p.Keys) == 0 {
		return &export.Evidence{}, nil
	}
	policy, err := store.Policy(ctx)
	if err != nil {
		return nil, err
	}
	return export.Prove(ctx, store, snap, policy)
}

func whyNot(list []export.Unproven) []string {
	var all []string
	for _, u := range list {
		all = append(all, fmt.Sprintf("%s by %s: %s", u.ReviewID, u.Reviewer, u.Why))
	}
	return all
}

// versionOrNull is a version's id, or null.
func versionOrNull(v int) *string {
	if v == 0 {
		return nil
	}
	id := plan.VersionID(v)
	return &id
}

// lastReview is the newest review of the task's newest version; a CHECK shows that of its target.
func lastReview(s *plan.State, t *plan.TaskState) *reviewSummary {
	id := t.TaskID
	if t.NodeType == plan.Check {
		id = t.ReviewTargetTaskID
	}
	reviews := s.Records.Of(id).Reviews
	if len(reviews) == 0 {
		return nil
	}
	r := reviews[len(reviews)-1]
	return &reviewSummary{fmt.Sprintf("r%d", r.N), r.Verdict, r.Score, plan.VersionID(r.Version),
		plan.UnescapeName(r.Reviewer)}
}

// printTree prints the plan as a tree of goals and actions. A CHECK has no line of its own: its target's line shows
// what it says.
func (st style) printTree(w io.Writer, s *plan.State, stale map[plan.TaskID]string) {
	st.printProven(w, standing{explained: explained{state: s}, stale: stale, evidence: &export.Evidence{}})
}

// printProven prints the tree with what the policy's keys prove and where changes landed.
func (st style) printProven(w io.Writer, at standing) {
	s := at.state
	done, all := s.Progress()
	fmt.Fprintf(w, "%s  %s\n%s, %d of %d done%s, %s\n", st.paint("1", string(s.Plan.PlanID)), plain.Line(s.Plan.Title),
		st.status(s.Root().Status), done, all, s.VerifiedLine(), at.evidence.Worth(s))
	printSession(w, s)
	fmt.Fprintln(w)
	treePrinter{style: st, w: w, s: s, at: at, seen: map[plan.TaskID]bool{}}.task(s.Plan.RootTaskID, "", "")
}

// printWaits lists what only a person can do, and the commands for it.
func (st style) printWaits(w io.Writer, waits []engine.Wait) {
	if len(waits) == 0 {
		return
	}
	st.heading(w, "Waits for you")
	printSome(w, waits, mostShown, "  and %d more\n", func(wait engine.Wait) {
		fmt.Fprintf(w, "  %s: %s\n", wait.Task, plain.Line(wait.Text))
		if wait.Spent != "" {
			fmt.Fprintf(w, "    %s\n", wait.Spent)
		}
		if wait.Command != "" {
			fmt.Fprintf(w, "    %s\n", wait.Command)
		}
	})
}

// printChecklist says which items of the top task's checklist are met, and by what.
func (st style) printChecklist(w io.Writer, list []export.RootCriterion) {
	if len(list) == 0 {
		return
	}
	st.heading(w, "Checklist")
	for _, c := range list {
		mark, by := "[ ]", ""
		switch {
		case c.Met:
			mark, by = "[x]", "  ("+clip(plain.Line(strings.Join(c.MetBy, ", ")), 60)+")"
		case c.Waived():
			mark, by = "[~]", "  (waived: "+clip(plain.Line(strings.Join(c.WaivedBy, ", ")), 60)+")"
		}
		fmt.Fprintf(w, "  %s %s  %s%s\n", mark, plain.Line(c.ID), clip(plain.Line(c.Statement), 80), by)
	}
}

type treePrinter struct {
	style
	w    io.Writer
	s    *plan.State
	at   standing
	seen map[plan.TaskID]bool // tasks of a plan that no rule has checked may be below themselves
}

func (p treePrinter) task(id plan.TaskID, lead, under string) {
	t := p.s.Tasks[id]
	if t == nil || p.seen[id] {
		return
	}
	p.seen[id] = true
	fmt.Fprintf(p.w, "%s%s %s  %s  %s", lead, p.mark(t.Status), id, clip(plain.Line(t.Title), 60), p.status(t.Status))
	if notes := p.notes(t); notes != "" {
		fmt.Fprintf(p.w, "  %s", notes)
	}
	fmt.Fprintln(p.w)
	children := p.s.Children(id)
	for i, c := range children {
		if i == len(children)-1 {
			p.task(c, under+"└─ ", under+"   ")
		} else {
			p.task(c, under+"├─ ", under+"│  ")
		}
	}
}

// notes are what follows the status on a task's line.
func (p treePrinter) notes(t *plan.TaskState) string {
	var proof []string
	if version := plan.VersionID(t.Approved); version != "" {
		if signed := p.at.evidence.Of(t.TaskID, version); len(signed) > 0 {
			proof = append(proof, "signed by "+signedBy(signed))
		}
		for _, u := range p.at.evidence.Missing(t.TaskID, version) {
			proof = append(proof, plain.Line(u.ReviewID+" by "+u.Reviewer+" does not count: "+u.Why))
		}
	}
	if p.at.own[t.TaskID] {
		proof = append(proof, "self-reviewed")
	}
	proof = append(proof, export.LandingNotes(p.s, t, p.at.landings[t.TaskID])...)
	return p.s.Notes(t, proof, p.at.stale[t.TaskID])
}
