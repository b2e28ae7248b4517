package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// eventSync is the event of the one kind of merge that there is: two clones that both appended.
const eventSync = "sync"

// adds says for each kind of event which records it may add, by the first directory below a task's, and whether it may change
// plan.json (docs/format.md, section 6).
var adds = map[string]struct {
	kinds []string
	plan  bool
}{
	plan.EventPlan:     {[]string{"artifacts", "inputs"}, true},
	plan.EventArtifact: {[]string{"artifacts", "resets"}, false},
	plan.EventCheck:    {[]string{"checks"}, false},
	plan.EventReview:   {[]string{"reviews"}, false},
	plan.EventAttempt:  {[]string{"attempts"}, false},
	plan.EventRetry:    {[]string{"resets"}, false},
	plan.EventQuestion: {[]string{"questions", "attempts"}, false},
	plan.EventAnswer:   {[]string{"answers", "inputs"}, false},
	plan.EventInput:    {[]string{"inputs"}, false},
	plan.EventReplan:   {nil, true},
	plan.EventGraft:    {[]string{"feasibility", "questions"}, true},
	plan.EventWaiver:   {[]string{"waivers", "reviews"}, false},
	plan.EventDoctor:   {nil, false},
	plan.EventDeleted:  {nil, false},

	plan.EventPaused:    {nil, false},
	plan.EventResumed:   {nil, false},
	plan.EventCompleted: {nil, false},
	plan.EventAbandoned: {[]string{"marks"}, false},
	plan.EventRestored:  {[]string{"marks"}, false},
}

// readChecks learns which CHECK belongs to which task. A plan that can't be read has none that differ from the rule.
func (a *auditor) readChecks() error {
	a.checkOf = map[plan.TaskID]plan.TaskID{}
	snap, err := a.store.SnapshotAt(a.ctx, a.id, a.tip)
	if err != nil {
		return a.ctx.Err()
	}
	for _, t := range snap.Plan.Tasks {
		if t.NodeType == plan.Check {
			a.checkOf[t.ReviewTargetTaskID] = t.TaskID
		}
	}
	return nil
}

// event checks that a commit is what its trailers say: one event, of a known kind, that adds what such an event adds.
func (a *auditor) event(s *step) {
	kind := s.trailers["Wf-Event"]
	rule, known := adds[kind]
	bad := func(code, format string, args ...any) {
		place := fmt.Sprintf("%.12s", s.commit)
		if !a.many(code, place) {
			a.find(code, place, a.outlaw(s.commit), format, args...)
		}
	}
	switch {
	case a.id == policyID:
		if kind != plan.EventPolicy {
			bad("not-an-event", "has the trailer %q, which names no change of a policy", "Wf-Event: "+kind)
		}
		return
	case len(s.parents) > 1:
		if kind != eventSync && !a.said[string(s.commit)] {
			a.say(string(s.commit))
			bad("bad-merge", "merges %d histories and is no sync", len(s.parents))
		}
		a.versions(s)
		return
	case kind == plan.EventPruned:
		if len(s.parents) > 0 {
			bad("not-an-event", "says that a prune begins a history with it, but it goes on from %.12s", s.parents[0])
		}
		a.versions(s)
		return
	case !known:
		bad("not-an-event", "has the trailer %q, which names no event of a plan", "Wf-Event: "+kind)
		a.versions(s)
		return
	case len(s.parents) == 0 && kind != plan.EventPlan:
		bad("second-beginning", "is an event of the kind %s and has nothing before it", kind)
	case len(s.parents) > 0 && kind == plan.EventPlan:
		bad("second-beginning", "begins a plan that exists already")
	}
	a.versions(s)
	for _, c := range s.changes {
		if c.status != "A" && c.path != planFile {
			continue // it is rewritten, which is worse
		}
		if why := a.mayAdd(s, c, kind, rule.kinds, rule.plan); why != "" {
			bad("wrong-event", "%s: %s", c.path, why)
			return // one is enough to say what is wrong with the commit
		}
	}
}

func (a *auditor) say(place string) {
	if a.said == nil {
		a.said = map[string]bool{}
	}
	a.said[place] = true
}

// versions remembers the versions that a commit adds.
func (a *auditor) versions(s *step) {
	for _, c := range s.changes {
		if task, rest, ok := taskPath(c.path); ok && c.status == "A" {
			if v, ok := strings.CutPrefix(rest, "artifacts/"); ok && strings.HasSuffix(v, "/artifact.json") {
				a.made[string(task)+" "+strings.TrimSuffix(v, "/artifact.json")] = true
			}
		}
	}
}

// taskPath divides the path of a record into its task and the rest.
func taskPath(path string) (task plan.TaskID, rest string, ok bool) {
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 4 || parts[0] != "tasks" {
		return "", "", false
	}
	task = plan.TaskID(parts[2])
	return task, parts[3], task.Valid() && task.Dir() == strings.Join(parts[:3], "/")
}

// mayAdd says why an event of a kind can't add a path, or change plan.json; "" if it can.
func (a *auditor) mayAdd(s *step, c change, kind string, kinds []string, mayPlan bool) string {
	if c.path == planFile {
		if !mayPlan {
			return "only a graft or a re-plan changes it, and this is an event of the kind " + kind
		}
		return ""
	}
	task, rest, ok := taskPath(c.path)
	if !ok {
		top, _, _ := strings.Cut(c.path, "/")
		_, known := placeOf(c.path)
		if !known {
			return "" // it is foreign, which is found in the newest tree
		}
		if top == plan.DoctorDir && kind != plan.EventDoctor || top == plan.PrunedDir && kind != plan.EventDeleted {
			return "an event of the kind " + kind + " adds no such record"
		}
		if rec, ok := plan.ParseSessionName(strings.TrimPrefix(c.path, plan.SessionDir+"/")); ok && top == plan.SessionDir && rec.Kind != kind {
			return "an event of the kind " + kind + " adds no such record"
		}
		return ""
	}
	dir, name, _ := strings.Cut(rest, "/")
	if !slices.Contains(kinds, dir) {
		return "an event of the kind " + kind + " adds no such record"
	}
	t := s.trailers
	if of := plan.TaskID(t["Wf-Task"]); of != task && kind != plan.EventGraft && dir != "marks" && of != a.checkOf[task] && of != task.CheckID() {
		return fmt.Sprintf("belongs to %s, but the event is about %q", task, string(of))
	}
	switch dir {
	case "artifacts":
		if v, _, _ := strings.Cut(name, "/"); v != t["Wf-Artifact"] {
			return fmt.Sprintf("is of %s, but the event is about %q", v, t["Wf-Artifact"])
		}
	case "reviews":
		return a.mayReview(task, name, t)
	case "marks":
		if !strings.HasSuffix(name, "-"+kind+".json") {
			return "an event of the kind " + kind + " adds no such mark"
		}
	case "checks":
		_, v, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
		if !a.made[string(task)+" "+v] {
			return fmt.Sprintf("is about %s, which nobody had made", v)
		}
	}
	return ""
}

// mayReview compares the name of a review with what its commit says, and asks whether there was something to review.
func (a *auditor) mayReview(task plan.TaskID, name string, t map[string]string) string {
	dir, file, _ := strings.Cut(name, "/")
	parts := strings.SplitN(dir, "-", 4)
	if len(parts) < 4 {
		return ""
	}
	verdict, isVerdict := strings.CutSuffix(file, ".md")
	switch {
	case !a.made[string(task)+" "+parts[1]]:
		return fmt.Sprintf("reviews %s, which nobody had made", parts[1])
	case parts[0] != t["Wf-Review"] || parts[1] != t["Wf-Artifact"] || parts[2] != t["Wf-Score"] || parts[3] != plan.EscapeName(t["Wf-Agent"]):
		return fmt.Sprintf("is not the review that the event is about (%s of %s by %s, score %s)", t["Wf-Review"], t["Wf-Artifact"],
			strconv.Quote(t["Wf-Agent"]), t["Wf-Score"])
	case isVerdict && verdict != t["Wf-Verdict"]:
		return fmt.Sprintf("says another verdict than the event (%s)", t["Wf-Verdict"])
	}
	return ""
}
