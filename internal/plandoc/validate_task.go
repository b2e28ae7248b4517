package plandoc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// checkTask checks what can be said of one task alone, or of it and the tasks that it names.
func (v *validator) checkTask(i int, t *plan.Task) {
	v.checkLine(i, "title", t.Title, "one line of text", "title: Write the report")
	if t.Agent != "" {
		v.checkLine(i, "agent", t.Agent, "the name of an agent", "agent: exec")
	}
	switch t.NodeType {
	case plan.Action:
		v.checkAction(i, t)
	case plan.Check:
		v.checkReviewTask(i, t)
	case plan.Goal:
	default:
		v.add(i, "bad-value", "node_type", "is not a kind of task", "GOAL, ACTION or CHECK",
			plain.Quote(string(t.NodeType)), "node_type: ACTION")
	}
	v.checkFields(i, t)
	v.checkDependencies(i, t)
	v.checkRequirements(i, t)
	v.checkDocument(i, t)
}

// taskField is a field of plan.Task that only some tasks have, as its tag "at" says.
type taskField struct {
	index    int
	name, at string
}

var taskFields = sync.OnceValue(func() (list []taskField) {
	for i, t := 0, reflect.TypeFor[plan.Task](); i < t.NumField(); i++ {
		if at := t.Field(i).Tag.Get("at"); at != "" {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			list = append(list, taskField{i, name, at})
		}
	}
	return list
})

// checkFields refuses the fields of another kind of task: nothing would read them.
func (v *validator) checkFields(i int, t *plan.Task) {
	fields := reflect.ValueOf(*t)
	for _, f := range taskFields() {
		if fields.Field(f.index).IsZero() {
			continue
		}
		var fits bool
		owner := "a " + f.at
		switch f.at {
		case "root":
			fits, owner = t.TaskID == v.plan.RootTaskID, "the root GOAL"
		case "planning":
			fits, owner = t.TaskID.Reserved(), "the tasks of a stored plan that make plans"
		case string(plan.Action):
			fits, owner = t.NodeType == plan.Action, "an ACTION"
		default:
			fits = string(t.NodeType) == f.at
		}
		if !fits {
			v.add(i, "wrong-field", f.name, "does not belong to tasks of type "+string(t.NodeType),
				"at "+owner+" only", f.name, "")
		}
	}
}

func (v *validator) checkDependencies(i int, t *plan.Task) {
	seen := make(map[plan.TaskID]bool, len(t.DependsOn))
	for j, d := range t.DependsOn {
		field := fmt.Sprintf("depends_on[%d]", j)
		dep := v.taskByID(d)
		switch {
		case seen[d]:
			v.add(i, "duplicate-dependency", field, "is listed twice", "each task once", string(d), "")
		case dep == nil:
			v.addUnknown(i, "unknown-dependency", field, d, "the id of a task of this plan", "depends_on: [%s]")
		case d == t.TaskID:
			v.add(i, "self-dependency", field, "the task depends on itself", "another task", string(d), "")
		case t.NodeType == plan.Check && d != t.ReviewTargetTaskID:
			v.add(i, "check-dependency", field, "a CHECK depends on nothing but its target",
				string(t.ReviewTargetTaskID), string(d), "")
		case t.NodeType == plan.Goal:
			v.add(i, "goal-dependency", field, "a GOAL depends on nothing itself", "depends_on at the ACTIONs below it",
				string(d), "")
		case dep.Decides != nil:
			v.add(i, "depends-on-decider", field, "a task that decides ends last, when every other is verified",
				"a task that makes something", string(d), "")
		case dep.NodeType == plan.Check:
			v.add(i, "depends-on-check", field, "names a CHECK; a task that is DONE has passed its CHECK already",
				"an ACTION or a GOAL", string(d), "depends_on: ["+string(dep.ReviewTargetTaskID)+"]")
		case dep.NodeType == plan.Goal && t.NodeType == plan.Action && v.hasAncestorIn(t, d):
			v.add(i, "depends-on-ancestor", field, "a task can't wait for the GOAL that waits for it",
				"a task outside of its own GOALs", fmt.Sprintf("%s -> %s -> %[1]s", t.TaskID, d), "")
		}
		seen[d] = true
	}
}

// hasAncestorIn reports whether one of the ids is an ancestor of t.
func (v *validator) hasAncestorIn(t *plan.Task, ids ...plan.TaskID) bool {
	for above := range tasksAbove(t, v.taskByID) {
		if slices.Contains(ids, above.TaskID) {
			return true
		}
	}
	return false
}

// exampleID is an example, with the known id that is nearest to a misspelt one in the place of %s.
func (v *validator) exampleID(id plan.TaskID, example string) string {
	const enough = 2000 // beyond this many tasks the search costs more than the hint is worth
	if len(v.plan.Tasks) > enough || v.fs.Full() {
		return ""
	}
	known := each.Pick(v.plan.Tasks, func(t *plan.Task) (string, bool) {
		return string(t.TaskID), t.NodeType != plan.Check
	})
	if guess := Nearest(string(id), known); guess != "" {
		return strings.Replace(example, "%s", guess, 1)
	}
	return ""
}

func (v *validator) checkRequirements(i int, t *plan.Task) {
	seen := map[string]bool{}
	for j, r := range t.Requires {
		field := fmt.Sprintf("requires[%d].name", j)
		v.checkLine(i, field, r.Name, "a name on one line", "name: logo")
		if seen[r.Name] {
			v.add(i, "duplicate-input", field, "two inputs have the same name", "a name of its own",
				plain.Quote(r.Name), "")
		}
		seen[r.Name] = true
		if len(r.Options) > 0 && (r.Kind != plan.AskChoice || r.Count > 1 || len(r.Formats) > 0) {
			v.add(i, "bad-choice", fmt.Sprintf("requires[%d].options", j), "only of a choice one option is handed in",
				"kind: choice, without formats and count", "kind: "+plain.Quote(r.Kind), "kind: choice")
		}
	}
}

func (v *validator) checkAction(i int, t *plan.Task) {
	if t.Agent == plan.AgentExec && strings.TrimSpace(t.Run) == "" {
		v.add(i, "no-run", "run", "the agent exec has nothing to run", "a command line, or another agent", "nothing",
			"run: make -s report > $WF_OUT/report.md")
	}
	if t.DeliverableSpec == nil {
		v.add(i, "no-spec", "deliverable_spec", "the ACTION does not say what it produces",
			"format and filename or files", "nothing", "deliverable_spec: {format: md, filename: report.md}")
	} else {
		if t.DeliverableSpec.Format == plan.FormatPlan && !t.TaskID.Reserved() {
			v.add(i, "makes-plan", "deliverable_spec.format",
				"only the program makes tasks whose deliverable is a plan", "another format", plan.FormatPlan,
				"format: yaml")
		}
		v.checkSpec(i, t.DeliverableSpec)
	}
	if len(t.AcceptanceCriteria) == 0 {
		v.add(i, "no-criteria", "acceptance_criteria", "the ACTION does not say what it is judged by",
			"one criterion or more", "none",
			"acceptance_criteria: [{id: A1, statement: report.md has a summary, run: grep -q Summary report.md}]")
	}
	v.checkCriteria(i, t)
	v.checkFlow(i, t)
}

func (v *validator) checkSpec(i int, s *plan.DeliverableSpec) {
	const at = "deliverable_spec."
	if s.Changes() {
		v.checkChange(i, s)
		return
	}
	if len(s.Paths) > 0 || len(s.Tests) > 0 {
		v.add(i, "wrong-field", at+"paths", "only a change has paths and tests", "format: change, or filename or files",
			plain.Quote(s.Format), "format: change")
	}
	if badLine(s.Format) != "" {
		v.add(i, "no-spec", at+"format", "the deliverable has no format", "html, md, json, ...", plain.Quote(s.Format),
			"format: md")
	}
	if s.Filename == "" && len(s.Files) == 0 {
		v.add(i, "no-spec", at+"filename", "the deliverable has no file", "filename or files", "nothing",
			"filename: report.md")
	}
	paths := specPaths(s)
	if s.OutputDir != "" {
		paths = append(paths, specPath{"output_dir", s.OutputDir})
	}
	for _, p := range paths {
		err := relpath.CheckPattern(p.path)
		if p.field == "output_dir" {
			err = relpath.Check(p.path)
		}
		if err != nil {
			v.add(i, "bad-path", at+p.field, pathRule(err), "a relative path inside the artifact", plain.Quote(p.path),
				p.field+": report.md")
		}
	}
	if s.SingleFile && (len(s.Files) > 1 || len(s.Files) == 1 && s.Filename != "" && s.Files[0] != s.Filename) {
		v.add(i, "not-single", at+"single_file", "single_file allows one file only", "false, or one file",
			fmt.Sprintf("%d files", len(s.Files)), "single_file: false")
	}
	if !s.SingleFile && s.BundleMode != plan.BundleManifest {
		v.add(i, "no-bundle-mode", at+"bundle_mode", "several files need a manifest", plan.BundleManifest,
			plain.Quote(s.BundleMode), "bundle_mode: MANIFEST")
	}
}

// pathRule is what a path would have to be.
func pathRule(err error) string {
	if e, ok := err.(*relpath.Error); ok {
		return e.Rule
	}
	return err.Error()
}

// criteriaHeads holds the ids and statements of a list of criteria against the rules for all lists.
type criteriaHeads struct {
	*validator
	i      int
	list   string // the field
	letter string // ids begin with it in examples
	seen   map[string]int
}

// check checks criterion j; key is what tells it from the others of the list.
func (c *criteriaHeads) check(j int, id, key, statement string) {
	at := fmt.Sprintf("%s[%d].", c.list, j)
	example := "id: " + c.letter + strconv.Itoa(j+1)
	if !validCriterionID(id) {
		c.add(c.i, "bad-id", at+"id", "is not a criterion's id",
			"letters and digits, with . _ - inside, at most 64 bytes", plain.Quote(id), example)
	} else if first, taken := c.seen[key]; taken {
		c.add(c.i, "duplicate-criterion", at+"id", "two criteria have the same id", "an id of its own",
			fmt.Sprintf("%s, also %s[%d]", plain.Quote(id), c.list, first), example)
	}
	c.seen[key] = j
	if strings.TrimSpace(statement) == "" {
		c.add(c.i, "no-statement", at+"statement", "the criterion says nothing", "an outcome that can be observed",
			"nothing", "statement: report.md has a summary")
	}
}

func (v *validator) checkCriteria(i int, t *plan.Task) {
	heads := criteriaHeads{v, i, "acceptance_criteria", "A", map[string]int{}}
	musts := 0
	for j, c := range t.AcceptanceCriteria {
		at := fmt.Sprintf("acceptance_criteria[%d].", j)
		heads.check(j, c.ID, relpath.Fold(c.ID), c.Statement)
		v.checkMethod(i, at, t, c)
		v.checkSupersedes(i, at, t, c)
		v.checkSchemaCriterion(i, at, t, c)
		if c.Severity == plan.Must {
			musts++
		}
	}
	if n := len(t.AcceptanceCriteria); n > 0 && float64(musts) < v.floors.MustShare*float64(n) {
		v.add(i, "looser-than-policy", "acceptance_criteria",
			"has fewer MUST criteria than the repository's policy demands",
			fmt.Sprintf("at least %.0f %%", 100*v.floors.MustShare), fmt.Sprintf("%d of %d", musts, n),
			"severity: MUST")
	}
}

// checkSupersedes checks that a criterion names run lines of other changes, which this one depends on: only then do
// they land first.
func (v *validator) checkSupersedes(i int, at string, t *plan.Task, c plan.Criterion) {
	for j, name := range c.Supersedes {
		id, criterion, _ := strings.Cut(name, ":")
		other := v.plan.Task(plan.TaskID(id))
		named := other != nil && other != t && other.Changes() && t.Changes() &&
			slices.ContainsFunc(other.AcceptanceCriteria, func(k plan.Criterion) bool {
				return k.ID == criterion && k.Run != ""
			})
		if !named {
			v.add(i, "bad-value", fmt.Sprintf("%ssupersedes[%d]", at, j), "names no run line of another change",
				"TASK:CRITERION of another task with format: change", plain.Quote(name), "supersedes: [IMPL-1:A2]")
		}
	}
}

func (v *validator) checkMethod(i int, at string, t *plan.Task, c plan.Criterion) {
	if c.Red != "" && (!c.RedFirst() || c.Run == "" || !t.Changes()) {
		v.add(i, "bad-value", at+"red", "says that the run line of a change fails before the work is done",
			"base, at a criterion with a run line", plain.Quote(c.Red), "red: base")
	}
	if c.Severity != plan.Must && c.Severity != plan.Should {
		v.add(i, "bad-value", at+"severity", "is not a severity", "MUST or SHOULD", plain.Quote(c.Severity),
			"severity: MUST")
	}
	wrong := func(text, expected, instead string) {
		v.add(i, "check-method", at+"check_method", text, expected, c.CheckMethod, "check_method: "+instead)
	}
	switch c.CheckMethod {
	case plan.StaticCheck, plan.SchemaCheck:
	case plan.Expands:
		if c.Run != "" || c.Severity != plan.Must || v.plan.Workflow == nil {
			wrong("renders what the plan's workflow makes of the deliverable",
				"a MUST of a plan that is made from a workflow, without a run line", plan.ManualReview)
		}
	case plan.RunSmokeTest:
		if t.Changes() {
			wrong("a change is in no bundle", "static_check: the line runs in a checkout with the change",
				plan.StaticCheck)
		}
	case plan.ChangedPaths:
		if c.Run != "" || c.Severity != plan.Must || !t.Changes() {
			wrong("compares a change with its paths", "a MUST of a change, without a run line", plan.StaticCheck)
		}
	case plan.ManualReview:
		if c.Run != "" {
			wrong("a criterion with a run line is judged by that line, not by a person",
				"static_check, or no run line", plan.StaticCheck)
		}
	default:
		v.add(i, "bad-value", at+"check_method", "is not a way to check",
			"manual_review, static_check, run_smoke_test or schema_check", plain.Quote(c.CheckMethod),
			"check_method: manual_review")
	}
}

// validCriterionID keeps ids fit for --criterion ID=pass and for the name of a waiver.
func validCriterionID(id string) bool {
	const most = 64
	for i, r := range id {
		if !unicode.In(r, unicode.L, unicode.N) && (i == 0 || !unicode.Is(unicode.M, r) &&
			!strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return id != "" && len(id) <= most
}

func (v *validator) checkReviewTask(i int, t *plan.Task) {
	if t.MinScore < 0 || t.MinScore > 100 {
		v.add(i, "bad-value", "min_score", "is not a score", "0 to 100", strconv.Itoa(t.MinScore), "min_score: 90")
	} else if t.MinScore > 0 {
		v.checkFloor(i, "min_score", t.MinScore, v.floors.MinScore)
	}
	if t.Quorum < 0 {
		v.add(i, "bad-value", "quorum", "is negative", "1 or more", strconv.Itoa(t.Quorum), "quorum: 1")
	} else if t.Quorum > 0 {
		v.checkFloor(i, "quorum", t.Quorum, v.floors.Quorum)
	}
	v.checkReviewers(i, t)
	v.checkRounds(i, t)
}

// panelOf is who may review for a CHECK, and how many of them have to approve.
func (v *validator) panelOf(t *plan.Task) (names []string, quorum int) {
	names, quorum = t.Reviewers, cmp.Or(max(t.Quorum, 0), v.limits.Quorum)
	if names == nil {
		names = v.plan.Config.Reviewers
	}
	return names, quorum
}

// checkReviewers checks who may review: names that can be shown, enough of them for the quorum, none that policy
// excludes.
func (v *validator) checkReviewers(i int, t *plan.Task) {
	names, quorum := v.panelOf(t)
	for j, name := range t.Reviewers {
		if isReservedReviewer(name) {
			v.add(i, "bad-id", fmt.Sprintf("reviewers[%d]", j), "the name stands for what nobody approved",
				"another name", plain.Quote(name), "")
		}
		v.checkLine(i, fmt.Sprintf("reviewers[%d]", j), name, "a name", "")
	}
	// The engine approves only what it judges whole. A list of the engine alone is then open to persons.
	target := v.taskByID(t.ReviewTargetTaskID)
	personal := t.Rubric != nil || target != nil &&
		(target.Judges != nil || slices.ContainsFunc(target.AcceptanceCriteria, plan.Criterion.Manual))
	can := slices.Compact(slices.Sorted(slices.Values(names)))
	if personal {
		can = slices.DeleteFunc(can, func(name string) bool { return name == plan.ReviewerChecks })
	}
	open := len(can) == 0 || slices.Contains(can, plan.ReviewerPerson)
	if !open && len(can) < quorum {
		who := "only " + plain.Line(strings.Join(can, ", ")) + " can approve"
		if personal && slices.Contains(names, plan.ReviewerChecks) {
			who += ", for a person is to judge it too"
		}
		v.add(i, "quorum", "quorum", "can never be reached by these reviewers: "+who,
			fmt.Sprintf("at most %d", len(can)), strconv.Itoa(quorum), fmt.Sprintf("quorum: %d", len(can)))
	}
	// The policy's quorum counts people. Which other names are agents differs from machine to machine.
	people := slices.DeleteFunc(can, func(name string) bool { return name == plan.ReviewerChecks })
	if !open && len(people) < v.floors.Quorum && (target == nil || !target.Planning()) {
		v.add(i, "looser-than-policy", "reviewers",
			"can never reach the quorum of the repository's policy, which counts people",
			fmt.Sprintf("at least %d besides %s", v.floors.Quorum, plan.ReviewerChecks),
			plain.Quote(strings.Join(names, ", ")), "reviewers: ["+plan.ReviewerChecks+", "+plan.ReviewerPerson+"]")
	}
	if len(v.floors.Reviewers) == 0 || target != nil && target.Planning() {
		return
	}
	// Anybody may speak for a role, so its name is never that of a reviewer whom the policy knows.
	outside := slices.IndexFunc(names, func(n string) bool {
		return v.plan.HasRole(n) || !slices.Contains(v.floors.Reviewers, n)
	})
	if len(names) > 0 && outside < 0 {
		return
	}
	foundName := "nobody in particular"
	if outside >= 0 {
		foundName = plain.Quote(names[outside])
		if v.plan.HasRole(names[outside]) {
			foundName += ", a role of the plan"
		}
	}
	v.add(i, "looser-than-policy", "reviewers", "is looser than the repository's policy",
		"only "+strings.Join(v.floors.Reviewers, ", "), foundName, "reviewers: ["+v.floors.Reviewers[0]+"]")
}
