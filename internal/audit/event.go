package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// chain is what is known of a history at the commit that was audited last.
type chain struct {
	at     plan.OID
	base   *gitstore.Snapshot // of the commit before the first that was audited; nil where that begins the history
	plan   *plan.Plan         // as it is after the newest; nil if it can't be read
	rules  *rules             // what its records are held against; nil with it
	checks map[plan.TaskID]plan.TaskID
	tasks  map[plan.TaskID]bool
	made   map[string]bool // versions, as "TASK vN", that the audited ones have made
	newer  bool            // plan.json is of a later format: what happens then, a newer program has to judge
}

// setPlan makes p the newest plan.json.
func (c *chain) setPlan(p *plan.Plan) {
	c.plan, c.checks, c.tasks, c.rules = p, map[plan.TaskID]plan.TaskID{}, map[plan.TaskID]bool{}, nil
	if p == nil {
		return
	}
	c.rules = &rules{plan: p}
	for _, t := range p.Tasks {
		c.tasks[t.TaskID] = true
		if t.NodeType == plan.Check {
			c.checks[t.ReviewTargetTaskID] = t.TaskID
		}
	}
}

// hasMade reports whether a version is there at the commit that was audited last.
func (c *chain) hasMade(task plan.TaskID, version string) bool {
	if c.made[string(task)+" "+version] {
		return true
	}
	if c.base == nil {
		return false
	}
	_, ok := c.base.Records.Of(task).Version(plan.VersionNumber(version))
	return ok
}

// followTo makes the chain that of the commit's parent, which mostly is the commit audited before it.
func (a *auditor) followTo(s *step) error {
	parent := plan.OID("")
	if len(s.parents) > 0 {
		parent = s.parents[0]
	}
	if a.chain != nil && a.chain.at == parent && parent != "" {
		return nil
	}
	a.chain = &chain{made: map[string]bool{}}
	a.chain.setPlan(nil)
	if parent == "" {
		return nil
	}
	snap, err := a.store.SnapshotAt(a.ctx, a.id, parent)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return fmt.Errorf("read what came before %.12s: %w", s.commit, err)
	}
	a.chain.newer = errors.As(err, new(*plandoc.VersionError))
	if err == nil {
		a.chain.base = snap
		a.chain.setPlan(snap.Plan)
	}
	return nil
}

// checkEvent checks that a commit, wherever it comes from, is what its trailers say: one event of a known kind that
// adds what such an event adds, and changes plan.json as it should.
func (a *auditor) checkEvent(s *step) error {
	kind := s.trailers["Wf-Event"]
	known, _ := plan.EventKinds()
	bad := func(code, format string, args ...any) {
		a.report(code, fmt.Sprintf("%.12s", s.commit), a.markIllegal(s.commit), format, args...)
	}
	if a.id == policyID {
		if kind != plan.EventPolicy {
			bad("not-an-event", "has the trailer %q, which names no change of a policy", "Wf-Event: "+kind)
		}
		return nil
	}
	if len(s.parents) > 1 {
		return a.checkJoin(s)
	}
	s.added = make(map[string]bool, len(s.changes))
	for _, c := range s.changes {
		if _, had := s.added[c.path]; had {
			bad("twice", "%s: is in the tree twice, and programs differ in which one they take", c.path)
		}
		s.added[c.path] = c.status == "A"
	}
	if err := a.followTo(s); err != nil {
		return err
	}
	defer func() { a.chain.at = s.commit }()
	why, err := a.checkPlanChange(s, kind)
	if err != nil {
		return err
	}
	if a.chain.newer && why == "" {
		return nil
	}
	a.noteVersions(s)
	a.reportUnknownTasks(s)
	if kind != plan.EventPruned {
		a.remember(s, kind)
	}
	for _, c := range s.changes {
		if ofPrune(c.path) && (kind != plan.EventPruned || len(s.parents) > 0) {
			a.report("bad-prune", fmt.Sprintf("%.12s: %s", s.commit, c.path), "",
				"only a prune, which begins a history, writes this")
		}
	}
	switch {
	case s.twice != "":
		bad("not-an-event", "has the trailer %s more than once", s.twice)
		return nil
	case kind == plan.EventPruned:
		if len(s.parents) > 0 {
			bad("not-an-event", "claims to begin a pruned history, but has the parent %.12s", s.parents[0])
		} else if !slices.ContainsFunc(s.changes, func(c change) bool {
			return strings.HasPrefix(c.path, plan.PrunedDir+"/")
		}) {
			bad("not-an-event", "claims to begin a pruned history, but holds no record of a prune")
		}
		return nil
	case !slices.Contains(known, kind) && onlyNewer(s, kind):
		a.report(Newer, fmt.Sprintf("%.12s", s.commit), fault.UpgradeHint,
			"is an event of the kind %s, which a newer git wf wrote", kind)
		return nil
	case !slices.Contains(known, kind):
		bad("not-an-event", "has the trailer %q, which names no event of a plan", "Wf-Event: "+kind)
		return nil
	case len(s.parents) == 0 && kind != plan.EventPlan:
		bad("second-beginning", "is an event of the kind %s and has nothing before it", kind)
	case len(s.parents) > 0 && kind == plan.EventPlan:
		bad("second-beginning", "begins a plan that exists already")
	}
	if why == "" {
		why = a.mayAddAll(s, kind)
	}
	if why == "" {
		switch kind {
		case plan.EventDecision:
			why, err = a.orWhy(a.checkDecision(s))
		case plan.EventVerdicts:
			why, err = a.orWhy(a.checkVerdicts(s))
		case plan.EventWaiver:
			why, err = a.checkRejudged(s)
		}
		if err != nil {
			return err
		}
	}
	if why != "" {
		bad("wrong-event", "%s", why)
	}
	return nil
}

// onlyNewer reports whether a commit may be an event of a newer program: of a kind that this one does not know, it adds
// nothing but records of such kinds, which have no effect here.
func onlyNewer(s *step, kind string) bool {
	return len(s.parents) == 1 && len(s.changes) > 0 && kind != plan.EventPolicy && plan.IsNewKind(kind, false) &&
		!slices.ContainsFunc(s.changes, func(c change) bool { return c.status != "A" || !plan.WrittenByNewer(c.path) })
}

// mayAddAll says why an event of a kind can't add one of its paths; "" if it can add all. The first one is enough.
func (a *auditor) mayAddAll(s *step, kind string) string {
	for _, c := range s.changes {
		if c.status != "A" || c.path == planFile {
			continue // it is rewritten, which is worse
		}
		if why := a.mayAdd(s, c, kind); why != "" {
			return c.path + ": " + why
		}
	}
	return ""
}

// noteVersions remembers the versions that a commit adds.
func (a *auditor) noteVersions(s *step) {
	for _, c := range s.changes {
		if task, rest, ok := plan.SplitPath(c.path); ok && c.status == "A" {
			if v, ok := strings.CutPrefix(rest, "artifacts/"); ok && strings.HasSuffix(v, "/artifact.json") {
				a.chain.made[string(task)+" "+strings.TrimSuffix(v, "/artifact.json")] = true
			}
		}
	}
}

// reportUnknownTasks reports records of tasks that the plan does not have. An amendment may leave a task out later.
func (a *auditor) reportUnknownTasks(s *step) {
	if a.chain.plan == nil || s.trailers["Wf-Event"] == plan.EventPruned {
		return
	}
	for _, c := range s.changes {
		task, _, ok := plan.SplitPath(c.path)
		if !ok || c.status != "A" || a.chain.tasks[task] || a.said[task] {
			continue
		}
		if a.said == nil {
			a.said = map[plan.TaskID]bool{}
		}
		a.said[task] = true
		a.report("unknown-task", task.Dir(), a.markIllegal(s.commit), "plan.json has no task %s", task)
	}
}

// mayAdd says why an event of a kind can't add a path; "" if it can.
func (a *auditor) mayAdd(s *step, c change, kind string) string {
	const notIts = " adds no such record"
	task, rest, ofTask := plan.SplitPath(c.path)
	if !ofTask {
		rest = c.path
	}
	dir, name, _ := strings.Cut(rest, "/")
	k := plan.KindOf(dir, !ofTask)
	switch {
	case k == nil && (!ofTask || plan.WrittenByNewer(c.path)):
		return "" // it is foreign, or a newer program's, which is found among the records
	case k == nil, !slices.Contains(k.Events, kind), k.Named && k.Known(name) && k.Word(name) != kind:
		return "an event of the kind " + kind + notIts
	case dir == plan.NotesDir && kind == "note" && !s.named(s.trailers["Wf-Agent"], s.by):
		return fmt.Sprintf("is said to be by %s, and was recorded by %s", strconv.Quote(s.trailers["Wf-Agent"]),
			strconv.Quote(s.by))
	case !ofTask, kind == plan.EventVerdicts, kind == plan.EventDecision: // what an act comes to is compared as a whole
		return ""
	}
	t := s.trailers
	if of := plan.TaskID(t["Wf-Task"]); of != task && kind != plan.EventGraft && dir != "marks" &&
		of != a.chain.checks[task] && of != task.CheckID() {
		return fmt.Sprintf("belongs to %s, but the event is about %q", task, string(of))
	}
	switch dir {
	case "artifacts":
		if v, _, _ := strings.Cut(name, "/"); v != t["Wf-Artifact"] {
			return fmt.Sprintf("is of %s, but the event is about %q", v, t["Wf-Artifact"])
		}
		if !s.named(t["Wf-Agent"], s.by) {
			return fmt.Sprintf("is said to be by %s, and was recorded by %s", strconv.Quote(t["Wf-Agent"]),
				strconv.Quote(s.by))
		}
	case "reviews":
		if why := a.mayReview(s, task, name); why != "" {
			return why
		}
	case "holds":
		if t["Wf-Agent"] == plan.ReviewerChecks && a.chain.plan != nil {
			return a.mayHold(s, task, name)
		}
	case "marks":
		if kind == "dropped" || kind == "closed" {
			return a.mayMark(s, kind, c.path)
		}
	case "checks":
		_, v, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
		if !a.chain.hasMade(task, v) {
			return fmt.Sprintf("is about %s, which nobody had made", v)
		}
	}
	if doc := k.DocumentOf(rest); doc != "" && !s.added[task.Dir()+"/"+doc] {
		return "belongs to a record that the event does not make; records are written once, and whole"
	}
	return ""
}

// mayMark says why a task can't be dropped, or closed; "" if its rounds are used up or it has nothing else to build on,
// or it is an open one of a register.
func (a *auditor) mayMark(s *step, kind, mark string) string {
	snap, err := a.before(s)
	if err != nil {
		return plain.Line(err.Error())
	}
	made, err := plan.Abandon{Task: plan.TaskID(s.trailers["Wf-Task"]), Drops: kind == "dropped",
		Closes: kind == "closed"}.Apply(snap.State())
	if err != nil && kind == "closed" {
		return plain.Line(err.Error())
	}
	if err != nil || !slices.ContainsFunc(made.Add, func(e plan.Entry) bool { return e.Path == mark }) {
		return "drops what has rounds left, or something else to build on"
	}
	return ""
}

// mayHold says why only a reviewer can decide that a version still holds for another version of its
// input; "" if both are changes and its diff applies unchanged.
func (a *auditor) mayHold(s *step, task plan.TaskID, name string) string {
	const wrong = "says without a reviewer that a version holds, and its diff is not the same there"
	at := max(strings.LastIndex(name, "-v"), 0)
	parts := strings.SplitN(name[:at], "-", 3) // hN-vV-TASK
	if len(parts) < 3 {
		return wrong
	}
	var trees [2]plan.OID
	for i, of := range [][2]string{{string(task), parts[1]}, {parts[2], strings.TrimSuffix(name[at+1:], ".json")}} {
		t := a.chain.plan.Task(plan.TaskID(of[0]))
		if t == nil || !t.Changes() {
			return wrong
		}
		var err error
		trees[i], err = a.store.Resolve(a.ctx, string(s.commit)+":"+t.TaskID.Dir()+"/artifacts/"+of[1]+"/files")
		if err != nil {
			return wrong
		}
	}
	if fits, err := a.store.FitsOn(a.ctx, trees[0], trees[1]); err != nil || !fits {
		return wrong
	}
	return ""
}

// mayReview compares the name of a review with what its commit says, and checks that there was
// something to review. The reviewer must be the commit's author: nobody can review in another's name.
func (a *auditor) mayReview(s *step, task plan.TaskID, name string) string {
	t := s.trailers
	dir, file, _ := strings.Cut(name, "/")
	parts := strings.SplitN(dir, "-", 4)
	if len(parts) < 4 {
		return ""
	}
	verdict, isVerdict := strings.CutSuffix(file, ".md")
	seat := t["Wf-Seat"]
	switch {
	case seat != "" && a.chain.plan != nil && !a.chain.plan.HasRole(seat):
		return fmt.Sprintf("is a review in the seat %s, and the plan has no such role", strconv.Quote(seat))
	case !a.chain.hasMade(task, parts[1]):
		return fmt.Sprintf("reviews %s, which nobody had made", parts[1])
	case a.chain.plan != nil && a.chain.plan.Judges(parts[3]):
		return fmt.Sprintf("is a review by %s, which judges, without the act that would apply its verdicts", parts[3])
	case parts[0] != t["Wf-Review"] || parts[1] != t["Wf-Artifact"] || parts[2] != t["Wf-Score"] ||
		parts[3] != plan.EscapeName(cmp.Or(seat, t["Wf-Agent"])):
		return fmt.Sprintf("is not the review that the event is about (%s of %s by %s, score %s)", t["Wf-Review"],
			t["Wf-Artifact"], strconv.Quote(cmp.Or(seat, t["Wf-Agent"])), t["Wf-Score"])
	case isVerdict && verdict != t["Wf-Verdict"]:
		return fmt.Sprintf("says another verdict than the event (%s)", t["Wf-Verdict"])
	case !s.named(t["Wf-Agent"], s.reviewer):
		return fmt.Sprintf("is a review by %s, and was recorded by %s", strconv.Quote(t["Wf-Agent"]),
			strconv.Quote(s.reviewer))
	case (plan.Review{Reviewer: plan.UnescapeName(parts[3]), Verdict: plan.Approved}).Taken():
		return a.mayAccept(s, task, parts)
	}
	return ""
}

// mayAccept says why a rejected version can't be accepted, as when its rounds are not used up; "" if it can.
func (a *auditor) mayAccept(s *step, task plan.TaskID, name []string) string {
	snap, err := a.before(s)
	if err != nil {
		return plain.Line(err.Error())
	}
	if snap.Plan.SchemaVersion < 2 {
		return "" // the name of somebody
	}
	for _, due := range snap.State().ToAccept() {
		if due.TaskID == task && plan.VersionID(due.Active) == name[1] {
			score := ""
			for _, r := range snap.Records.Of(task).Reviews {
				if r.Version == due.Active {
					score = strconv.Itoa(r.Score)
				}
			}
			if score == name[2] && s.trailers["Wf-Verdict"] == string(plan.Approved) {
				return ""
			}
		}
	}
	return fmt.Sprintf("accepts %s, whose rounds were not used up, or whose CHECK asks a person then", name[1])
}
