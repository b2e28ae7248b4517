package plandoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/glob"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// What a workflow adds to a plan: roles, loops, panels, judges, and a task that decides.

var roleName = pattern.Compile(`^[a-z][a-z0-9-]{0,39}$`)

// checkRoles checks the plan's roles. A role has no name that stands for somebody else among reviewers.
func (v *validator) checkRoles() {
	taken := []string{plan.ReviewerChecks, plan.ReviewerPlan, plan.ReviewerPerson, plan.ReviewerVerdicts,
		plan.ReviewerDecision, plan.AgentExec, plan.AgentManual, plan.AgentOutline, plan.AgentWorkflow}
	for _, name := range slices.Sorted(maps.Keys(v.plan.Roles)) {
		role, at := v.plan.Roles[name], joinPath("roles", name)
		switch {
		case !roleName.Get().MatchString(name):
			v.add(wholePlan, "bad-id", at, "is not the name of a role", "lower-case letters, digits and hyphens",
				plain.Quote(name), "")
		case slices.Contains(taken, name) || isReservedReviewer(name):
			v.add(wholePlan, "bad-id", at, "the name stands for somebody else", "another name", plain.Quote(name), "")
		}
		if strings.TrimSpace(role.Text) == "" {
			v.add(wholePlan, "no-text", at+".text", "the role says nothing",
				"what whoever takes it is told", "nothing", "")
		}
		if role.Agent != "" {
			v.checkLine(wholePlan, at+".agent", role.Agent, "the name of an agent", "")
		}
	}
}

// isReservedReviewer reports whether a reviewer's name stands for what nobody approved, or rejected.
func isReservedReviewer(name string) bool { return name == "accepted" || name == "overtaken" }

// checkFlow checks an ACTION's role, and what it judges or decides.
func (v *validator) checkFlow(i int, t *plan.Task) {
	if t.Role != "" {
		v.checkRoleName(i, "role", t.Role)
	}
	for j, id := range t.OrderOnly {
		if !slices.Contains(t.DependsOn, id) {
			v.add(i, "unknown-dependency", fmt.Sprintf("order_only[%d]", j), "names a task that does not come first",
				"one of depends_on", plain.Quote(string(id)), "depends_on: ["+string(id)+"]")
		}
	}
	format := ""
	if t.DeliverableSpec != nil {
		format = t.DeliverableSpec.Format
	}
	if (t.Judges != nil) != (format == plan.FormatVerdicts) {
		v.add(i, "acts", "deliverable_spec.format", "a task that judges hands in verdicts, and no other does",
			"judges, and the format "+plan.FormatVerdicts, plain.Quote(format),
			"deliverable_spec: {format: verdicts, filename: verdicts.json}")
	}
	if (t.Decides != nil) != (format == plan.FormatDecision) {
		v.add(i, "acts", "deliverable_spec.format", "a task that decides hands in a decision, and no other does",
			"decides, and the format "+plan.FormatDecision, plain.Quote(format),
			"deliverable_spec: {format: decision, filename: decision.json}")
	}
	if t.Judges != nil {
		v.checkJudges(i, t)
	}
	if t.Consults != nil && (t.Decides != nil || t.Planning()) {
		v.add(i, "acts", "consults", "a task that decides, or makes a plan, asks a person", "no consults",
			"consults", "")
	}
	for j, role := range t.Advisers() {
		field := fmt.Sprintf("consults.roles[%d]", j)
		if v.checkRoleName(i, field, role); role == t.Role {
			v.add(i, "bad-value", field, "the task would ask its own role", "another role", plain.Quote(role),
				"consults: {roles: [architect], max: 3}")
		}
	}
	if t.Decides != nil {
		for j, role := range t.Decides.Orders {
			v.checkRoleName(i, fmt.Sprintf("decides.orders[%d]", j), role)
		}
		if first := slices.IndexFunc(v.plan.Tasks, func(t *plan.Task) bool { return t.Decides != nil }); first != i {
			v.add(i, "two-deciders", "decides",
				"another task decides already; each would wait for the end of the other",
				"one task that decides", string(v.plan.Tasks[first].TaskID), "")
		}
		if t.Decides.Max < 1 {
			v.add(i, "no-bound", "decides.max", "the task may decide for ever", "how many decisions at most",
				strconv.Itoa(t.Decides.Max), "max: 250")
		}
	}
}

func (v *validator) checkRoleName(i int, field, name string) {
	if _, ok := v.plan.Roles[name]; !ok {
		known := slices.Sorted(maps.Keys(v.plan.Roles))
		v.add(i, "unknown-role", field, "names a role that the plan does not have", "one of "+strings.Join(known, ", "),
			plain.Quote(name), "")
	}
}

// checkJudges checks that a task judges ACTIONs that come before it, or GOALs.
func (v *validator) checkJudges(i int, t *plan.Task) {
	if len(t.Judges.Tasks) == 0 {
		v.add(i, "judges-nothing", "judges.tasks", "the task judges nothing", "ids of tasks", "none", "tasks: [IMPL-1]")
	}
	for j, id := range t.Judges.Tasks {
		field, other := fmt.Sprintf("judges.tasks[%d]", j), v.taskByID(id)
		switch {
		case other == nil:
			v.addUnknown(i, "unknown-dependency", field, id, "the id of a task of this plan", "tasks: [%s]")
		case other.NodeType == plan.Check || other.Planning() || other.Judges != nil || other.Decides != nil:
			v.add(i, "judges-no-work", field, "names a task whose deliverable is no work",
				"an ACTION that makes something, or a GOAL", string(id), "")
		case !v.dependsOn(t, id):
			v.add(i, "judges-what-comes-later", field, "the task does not depend on what it judges",
				"depends_on with it", string(id), "depends_on: ["+string(id)+"]")
		}
	}
}

// dependsOn reports whether a task depends on another one, or on a GOAL above that.
func (v *validator) dependsOn(t *plan.Task, id plan.TaskID) bool {
	other := v.taskByID(id)
	return other != nil && (slices.Contains(t.DependsOn, id) || v.hasAncestorIn(other, t.DependsOn...))
}

// checkRounds checks how a CHECK comes to its verdict. The floors of the policy bind here, too.
func (v *validator) checkRounds(i int, t *plan.Task) {
	target := v.taskByID(t.ReviewTargetTaskID)
	if !t.AsksExhausted() && target != nil && (target.Planning() || target.Judges != nil || target.Decides != nil) {
		v.add(i, "accepts-act", "on_exhausted",
			"what was rejected would take effect on other tasks, or nobody would judge them", "ask", t.OnExhausted,
			"on_exhausted: ask")
	}
	v.checkAgree(i, t)
	r := t.Rubric
	if r == nil {
		return
	}
	for _, name := range r.Names() {
		if rule := badLine(name); rule != "" || strings.Contains(name, "=") || strings.Contains(name, ":") {
			v.add(i, "bad-text", "rubric.dimensions", cmp.Or(rule, "is no name for a dimension"),
				"one line without = and :", plain.Quote(name), "")
		}
	}
	for _, f := range r.Faults() {
		v.add(i, f.Code, "rubric."+f.Path, f.Message, f.Expected, f.Found, f.Example)
	}
	v.checkFloor(i, "rubric.pass", r.Pass, v.floors.MinScore)
	if r.Clear > 0 && r.Clear < r.Pass {
		v.add(i, "bad-value", "rubric.clear", "what is clear has passed",
			fmt.Sprintf("at least %d, as pass is", r.Pass), strconv.Itoa(r.Clear), fmt.Sprintf("clear: %d", r.Pass))
	}
}

func (v *validator) checkAgree(i int, t *plan.Task) {
	a := t.Agree
	if a == nil {
		return
	}
	names, quorum := v.panelOf(t)
	seats := len(a.Seats(names))
	if need := max(a.Approvals, quorum); need > seats {
		v.add(i, "agree-unreachable", "agree.approvals", "can never be reached by these reviewers",
			fmt.Sprintf("at most %d", seats), strconv.Itoa(need), fmt.Sprintf("approvals: %d", seats))
	}
	v.checkFloor(i, "agree.approvals", a.Approvals, max(v.floors.Quorum, 1))
}

// checkSchemaCriterion checks a criterion that holds a file of the deliverable against a schema.
func (v *validator) checkSchemaCriterion(i int, at string, t *plan.Task, c plan.Criterion) {
	if c.CheckMethod != plan.SchemaCheck {
		if c.Schema != nil || c.File != "" {
			v.add(i, "check-method", at+"schema", "only schema_check reads a schema", "check_method: schema_check",
				c.CheckMethod, "check_method: schema_check")
		}
		return
	}
	if c.Run != "" || t.Changes() {
		v.add(i, "check-method", at+"check_method", "holds a file of the deliverable against a schema",
			"no run line, and files", c.CheckMethod, "check_method: static_check")
	}
	text, err := json.Marshal(c.Schema)
	if err == nil {
		_, err = schema.Read(text)
	}
	if len(c.Schema) == 0 || err != nil {
		found := "nothing"
		if err != nil {
			found = plain.Line(err.Error())
		}
		v.add(i, "bad-schema", at+"schema", "is not a schema that can be checked here",
			"a JSON Schema without references to other documents", found, "schema: {type: object, required: "+
				"[pass_rate]}")
	}
	if d := t.DeliverableSpec; d != nil && (c.File == "" && !d.SingleFile || c.File != "" && !deliversFile(d, c.File)) {
		v.add(i, "unknown-file", at+"file", "names no file of the deliverable", "a file of deliverable_spec",
			plain.Quote(c.File), "file: "+d.Filename)
	}
}

// deliversFile reports whether a deliverable may have the file.
func deliversFile(d *plan.DeliverableSpec, file string) bool {
	return slices.ContainsFunc(append([]string{d.Filename}, d.Files...), func(p string) bool {
		return p != "" && glob.Match(p, file)
	})
}
