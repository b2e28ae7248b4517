package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitwf/internal/fault"
	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

// m is an object of JSON.
type m = map[string]any

// vendorFlow is a workflow of the program that a vendor's program carries out.
type vendorFlow struct {
	workflow, vendor string
	set              []string
	service          []string // roles that a client of a model service speaks for, which is quicker
	turns            []wiretest.Turn
	person           string // the task that a person approves
	want             []string
}

func says(match string, fields m) wiretest.Turn {
	return wiretest.Turn{Match: match, Text: reply(fields)}
}

// hands is who makes files and says so in the reply.
func hands(task string, files ...string) wiretest.Turn {
	var list []m
	for i := 0; i < len(files); i += 2 {
		list = append(list, m{"path": files[i], "content": files[i+1]})
	}
	return says("# "+task+": ", m{"result_type": "ARTIFACT", "summary": "Made.", "files": list})
}

// uses is who makes files with its own tools.
func uses(task string, calls ...wiretest.Call) (turns []wiretest.Turn) {
	match := "# " + task + ": "
	for _, call := range calls {
		turns = append(turns, wiretest.Turn{Match: match, Text: "I edit it.", Tools: []wiretest.Call{call}})
	}
	return append(turns, says(match, m{"result_type": "ARTIFACT", "summary": "Made."}))
}

// approves is the seats' reviews of a task, of which a criterion is theirs to judge.
func approves(task, criterion string, seats int, ratings m) wiretest.Turn {
	review := m{"result_type": "REVIEW", "verdict": "APPROVED", "score": 90, "summary": "Read.",
		"criteria": []m{}, "suggestions": []m{}}
	if criterion != "" {
		review["criteria"] = []m{{"id": criterion, "pass": true, "evidence": "line 1"}}
	}
	if ratings != nil {
		review["ratings"] = ratings
		delete(review, "score")
	}
	turn := says("# Review of "+task, review)
	turn.Times = seats
	return turn
}

// judge is a judge's verdicts.json, which approves the tasks. A task may have a criterion that is the judge's: TASK CRITERION.
func judge(task string, ratings m, tasks ...string) wiretest.Turn {
	var verdicts []m
	for _, id := range tasks {
		id, criterion, manual := strings.Cut(id, " ")
		v := m{"task_id": id, "artifact_id": "v1", "verdict": "APPROVED", "criteria": []m{}}
		if manual {
			v["criteria"] = []m{{"id": criterion, "pass": true, "evidence": "read"}}
		}
		if ratings != nil {
			v["ratings"] = ratings
		}
		verdicts = append(verdicts, v)
	}
	data, err := json.Marshal(m{"schema_version": 1, "mode": "milestone", "verdicts": verdicts, "summary": "judged"})
	if err != nil {
		panic(err)
	}
	return hands(task, "verdicts.json", string(data))
}

// decides is one decision after the other: ROLE TASK [MODE], or FINISH.
func decides(orders ...string) (turns []wiretest.Turn) {
	for i, order := range orders {
		words := append(strings.Fields(order), "", "")
		d := m{"next_agent": words[0], "reason": "it is next", "task": nil, "dev_plan_next": nil,
			"history_append": fmt.Sprintf("## Iteration %d:\nnext_agent: %s\nreason: it is next\ndev_plan: as it was", i+1, words[0])}
		if words[1] != "" {
			d["task_id"], d["task"] = words[1], "Do what the task says."
		}
		if words[2] != "" {
			d["mode"] = words[2]
		}
		data, err := json.Marshal(d)
		if err != nil {
			panic(err)
		}
		turns = append(turns, hands("MAIN-1", "decision.json", string(data)))
	}
	return turns
}

func flatten(parts ...any) (turns []wiretest.Turn) {
	for _, p := range parts {
		switch p := p.(type) {
		case wiretest.Turn:
			turns = append(turns, p)
		case []wiretest.Turn:
			turns = append(turns, p...)
		}
	}
	return turns
}

const document = "---\ndocument_type: requirements\nversion: 1\ndependencies: []\n---\n"

// ideas are three from each angle.
func ideas(angles ...string) string {
	text := "---\nideas:\n"
	for _, angle := range angles {
		for n := range 3 {
			text += fmt.Sprintf("  - title: Idea %d from %s\n    angle: %[2]s\n    assumption: Somebody wants it this year\n"+
				"    impact: They stop to wait for it\n    first_step: Ask ten of them tomorrow\n", n, angle)
		}
	}
	return text + "---\n"
}

const (
	synthesis = `---
themes: [{name: Less, strength: 8, ideas: [Idea 1]}, {name: Later, strength: 5, ideas: [Idea 2]}]
conflicts: []
coverage: [{aspect: time, covered: true}]
proposals: [{title: Less, ideas: [Idea 1], answers: [], feasibility: 7, innovation: 6, benefits: [time], risks: [none]}]
---
`
	evaluation = `---
weak: false
top_pick: Less
ranking:
  - title: Less
    feasibility: 7
    innovation: 6
    impact: 8
    cost: 6
    score: 6.8
    recommendation: Recommend
    why: It is what was asked for
---
`
)

const (
	discovery = `{"problem": "Nobody can buy seeds of old kinds.", "target_users": ["Ada"], "domain": "shops", "constraints": [],
		"dimensions": ["who", "what", "when"], "complexity": "simple", "codebase": null, "focus_areas": [], "risks": [], "open_questions": []}`
	confirmed = `{"source": "auto", "rounds": 0, "problem": "Nobody can buy seeds of old kinds.", "domain": "shops",
		"users": [{"name": "Ada", "needs": [], "pains": []}], "features": [
			{"name": "buy", "description": "Members buy old seeds", "criteria": [], "edge_cases": [], "priority": "must"},
			{"name": "give", "description": "Members give seeds away", "criteria": [], "edge_cases": [], "priority": "unset"}],
		"nfrs": [], "boundaries": {"in_scope": [], "out_of_scope": [], "constraints": []}, "integrations": [], "assumptions": [], "log": []}`
	brief        = "## Vision\nAll.\n## Problem\nNone.\n## Personas\n- Ada\n## Goals\n### G-001 Half order alone\n### G-002 Few ask\n"
	requirements = `## REQ-001 Buy (Must)
Traces: G-001
- [ ] It is bought
- [ ] Without a name it is not
## REQ-002 Sell (Must)
Traces: G-002
- [ ] It is sold
- [ ] Without a price it is not
## REQ-003 Return (Could)
Traces: G-002
- [ ] It comes back
- [ ] Not when it was sown
`
	architecture = `## ADR-001 Files
Traces: REQ-001, REQ-002, REQ-003
- Option: files
- Option: tables
## ADR-002 One program
Traces: REQ-001
- Option: one
- Option: two
## Stack
A shell.
## Diagram
One box.
`
)

// epics are three, each with two stories.
func epics() (text string) {
	for n := range 3 {
		text += fmt.Sprintf("## EPIC-00%d Order (MVP)\nTraces: REQ-001, REQ-002, REQ-003, ADR-001, ADR-002\n", n+1)
		for k := range 2 {
			text += fmt.Sprintf("### STORY-EPIC-00%d-00%d Order (S)\nTraces: REQ-001, REQ-002\n", n+1, k+1)
		}
	}
	return text
}

func writes(path string) wiretest.Call {
	return toolCall("write", m{"filePath": path, "content": "hello\n"})
}

func scheme(lane string) string {
	task := func(n int) string {
		return fmt.Sprintf(`{"title": "Page %d", "change": "Write something into the page.", "done": ["the page is not empty"],
			"lane": %q, "files": ["page-%[1]d"], "after": []}`, n, lane)
	}
	return `{"approach": "Each page by itself, and both of them at once.", "contract": "", "conflicts": [], "tasks": [` +
		task(1) + ", " + task(2) + "]}"
}

var vendorFlows = []vendorFlow{
	{workflow: "iterdev", vendor: "claude", set: []string{"variant=patch", "sprints=1"}, want: []string{"DEV-0.*v1 approved.*verified"},
		turns: flatten(uses("DEV-0", edits["claude"]...), judge("VERIFY-0", nil, "DEV-0"))},
	{workflow: "spec", vendor: "claude", set: []string{"talk=auto", "views=user"},
		service: []string{"product", "technical", "quality", "risk", "coverage"}, want: []string{"EPICS-1.*verified", "REPORT-1.*done"},
		turns: flatten(
			hands("RESEARCH-1", "discovery.json", discovery), approves("RESEARCH-1", "", 3, m{"rating": 4}),
			hands("CONFIRM-1", "refined-requirements.json", confirmed), hands("VIEW-1", "view.md", "- one\n- two\n- three\n"),
			hands("BRIEF-1", "product-brief.md", document+brief), approves("BRIEF-1", "B1", 4, m{"rating": 4}),
			hands("REQ-1", "requirements.md", document+requirements), approves("REQ-1", "", 3, m{"rating": 4}),
			hands("ARCH-1", "architecture.md", document+architecture), approves("ARCH-1", "", 2, m{"rating": 4}),
			hands("EPICS-1", "epics.md", document+epics()), approves("EPICS-1", "", 4, m{"rating": 4}),
			judge("READY-1", m{"completeness": 85, "consistency": 85, "traceability": 80, "depth": 90}, "BRIEF-1 B1", "REQ-1", "ARCH-1", "EPICS-1"),
			approves("REPORT-1", "", 5, m{"rating": 4}))},
	{workflow: "blackboard", vendor: "codex", service: []string{"test", "dev", "review"}, person: "SCHEME-1",
		want: []string{"DEV-1.2.*verified", "MAIN-1.*done.*v6"},
		turns: flatten(
			hands("SCHEME-1", "dev_plan.json", `{"milestones": [{"title": "Pages", "tasks": [
				{"title": "One", "goal": "The first page says hello.", "points": ["hello"]},
				{"title": "Two", "goal": "The second page says hello.", "points": ["hello"]}]}]}`),
			decides("test TEST-1.1", "test TEST-1.2", "dev DEV-1.1", "dev DEV-1.2", "review REVIEW-1 milestone", "FINISH"),
			hands("TEST-1.1", "tests/1.1.sh", "grep -q hello src/one\n"), hands("TEST-1.2", "tests/1.2.sh", "grep -q hello src/two\n"),
			hands("DEV-1.1", "src/one", "hello\n"), hands("DEV-1.2", "src/two", "hello\n"),
			judge("REVIEW-1", nil, "TEST-1.1", "TEST-1.2", "DEV-1.1", "DEV-1.2"))},
	{workflow: "brainstorm", vendor: "gemini", set: []string{"mode=deep"}, want: []string{"SYNTH-1.*done", "EVAL-1.*v1 approved 90"},
		turns: flatten(
			hands("IDEA-1", "ideas.md", ideas("technical", "product", "risk")),
			judge("CHALLENGE-1", m{"critical": 0, "high": 0, "medium": 2, "low": 1}, "IDEA-1"),
			hands("SYNTH-1", "synthesis.md", synthesis), approves("SYNTH-1", "S1", 3, m{"rating": 4}),
			hands("EVAL-1", "evaluation.md", evaluation), approves("EVAL-1", "E1", 1, nil))},
	{workflow: "lifecycle", vendor: "opencode", set: []string{"pipeline=fe-only"}, person: "SCHEME-1",
		want: []string{"DEV-FE-1.*verified", "DEV-FE-2.*verified", "QA-FE-1.*done"},
		turns: flatten(
			hands("EXPLORE-1", "exploration.json", `{"angle": "patterns", "relevant_files": [], "patterns": [], "constraints": [], "questions": []}`),
			hands("SCHEME-1", "plan.json", scheme("frontend")), approves("SCHEME-1", "", 1, nil),
			uses("DEV-FE-1", writes("page-1")), uses("DEV-FE-2", writes("page-2")), judge("TEST-1", nil, "DEV-FE-1", "DEV-FE-2"),
			judge("QA-FE-1", m{"code": 9, "accessibility": 9, "design": 9, "ux": 9, "delivery": 9}, "DEV-FE-1", "DEV-FE-2"),
			judge("REVIEW-1", m{"critical": 0, "high": 0, "medium": 1, "low": 0}, "DEV-FE-1", "DEV-FE-2"))},
}

// The agents that people have carry out the workflows of the program: they make documents and changes, have seats with
// ratings, write verdicts and decide.
func TestVendorsWorkflow(t *testing.T) {
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	for _, f := range vendorFlows {
		r := repotest.New(t) // sets variables, which a parallel test must not do
		t.Run(f.workflow, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("skipped: a real agent takes seconds for each question")
			}
			program := vendorTool(t, tools, f.vendor)
			server := wiretest.Start(t, append(f.turns, wiretest.Turn{Text: "{}", Times: -1})...)
			home := t.TempDir()
			for _, v := range vendors {
				if v.kind == f.vendor {
					w := newVendorRun(t, r, v.env, home)
					w.configure(r, v.kind, v.model, server.URL+v.path, program)
					w.flow(r, f, server)
				}
			}
		})
	}
}

// flow carries a workflow out and looks at what came of it.
func (w *vendorRun) flow(r *repotest.Repo, f vendorFlow, server *wiretest.Server) {
	w.t.Helper()
	r.Git("config", "wf.reviewer", "bot")
	for key, value := range map[string]string{"kind": "openai", "model": "m-1", "baseurl": server.URL + "/v1", "keyenv": "WF_KEY"} {
		r.Git("config", "wf.agent.service."+key, value)
	}
	for _, role := range f.service {
		r.Git("config", "wf.role."+role, "service")
	}
	writeFile(w.t, filepath.Join(r.Dir, "src", "greet.sh"), "echo hello friend\n")
	writeFile(w.t, filepath.Join(r.Dir, "test.sh"), "sh src/greet.sh | grep -q dear || test -s page-1 || test -s page-2\n")
	r.Git("add", ".")
	r.Git("commit", "-q", "-m", "Greet")
	args := []string{"plan", "--workflow", f.workflow, "hello to everybody"}
	for _, set := range f.set {
		args = append(args, "--set", set)
	}
	w.run("init", "--no-strict")
	w.run("trust", "--code", "--yes")
	w.run(args...)
	if f.person != "" {
		w.ends(fault.ExitWaiting, "run", "--jobs", "4")
		w.run("review", f.person, "--approve")
	}
	w.run("run", "--jobs", "4")
	status := w.run("status")
	for _, want := range f.want {
		if !regexp.MustCompile(want).MatchString(status) {
			w.t.Errorf("status lacks %s:\n%s", want, status)
		}
	}
	w.run("doctor")
	left := 0
	for _, q := range server.Requests() {
		if q.Turn == len(f.turns) && strings.Contains(string(q.Body), "result_type") {
			left++
		}
	}
	if left > 0 {
		w.t.Errorf("%d questions had no answer in the script", left)
	}
}
