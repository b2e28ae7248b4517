package exchange

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func sample(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// outlineOf shows the tree of a plan: id, kind, title, what it waits for, its paths, criteria, what is done.
func outlineOf(p *plan.Plan) string {
	var b strings.Builder
	for _, t := range p.Tasks[1:] {
		fmt.Fprintf(&b, "%s %s", t.TaskID, t.Title)
		if t.NodeType == plan.Goal {
			b.WriteString(" GOAL")
		}
		if t.ParentTaskID != "" && t.ParentTaskID != plan.RootID {
			fmt.Fprintf(&b, " in %s", t.ParentTaskID)
		}
		if len(t.DependsOn) > 0 {
			fmt.Fprintf(&b, " after %s", joined(t.DependsOn))
		}
		if t.DeliverableSpec != nil {
			fmt.Fprintf(&b, " changes %s", strings.Join(t.DeliverableSpec.Paths, ", "))
		}
		for _, c := range t.AcceptanceCriteria {
			if !strings.HasPrefix(c.Statement, "The change does what") {
				fmt.Fprintf(&b, " wants %q", c.Statement)
			}
		}
		if t.DoneElsewhere != "" {
			fmt.Fprintf(&b, " was %s", t.DoneElsewhere)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Each system's documented form gives the tasks, edges and statuses that its author meant; whatever looks like a command
// in it is a word; the plan keeps the rules as it is, and every line has a home.
func TestReadFormats(t *testing.T) {
	tests := []struct {
		name, path string
		files      map[string]string
		want       string
	}{
		{"spec-kit", "specs", map[string]string{"specs/1/tasks.md": lines("# Tasks: Album", "", "## Phase 1: Setup", "",
			"- [x] T001 Create `models/__init__.py`", "- [ ] T002 [P] Lint in `.golangci.yml`", "  - `rm -rf .git`",
			"- [ ] T003 [P] Harness in app/[id]/page.tsx", "", "**Checkpoint**: It builds", "",
			"## Phase 2: User Story 1 - See", "", "### Tests", "", "- [ ] T004 [US1] Test (depends on T002)",
			"## Phase 3: User Story 2 - Share", "- [ ] T005 Node.js/Express.js link", "## Phase 4: Polish",
			"- [ ] **T006** Docs", "", "## Notes", "Commit often.")},
			lines("PHASE-1 Phase 1: Setup GOAL", "T-001 Create `models/__init__.py` in PHASE-1 changes models/__init__.py was x",
				"T-002 [P] Lint in `.golangci.yml` in PHASE-1 after T-001 changes .golangci.yml",
				`T-003 [P] Harness in app/[id]/page.tsx in PHASE-1 after T-001 changes app/\[id\]/page.tsx wants "It builds"`,
				"PHASE-2 Phase 2: User Story 1 - See GOAL after PHASE-1",
				"T-004 [US1] Test (depends on T002) in PHASE-2 after T-002 changes **",
				"PHASE-3 Phase 3: User Story 2 - Share GOAL after PHASE-1", "T-005 Node.js/Express.js link in PHASE-3 changes **",
				"PHASE-4 Phase 4: Polish GOAL after PHASE-1, PHASE-2, PHASE-3", "T-006 Docs in PHASE-4 changes **")},
		{"kiro", ".kiro/specs/a/requirements.md", map[string]string{".kiro/specs/a/tasks.md": lines("# Implementation Plan", "",
			"## Tasks", "In this order.", "- [ ] 1. Form", "- [x] 1.1 Fields", "  - in src/form.ts", "- [ ]* 1.2 Check", "  - _Requirements: 1.2, 2_",
			"- [-] 2. Page"), ".kiro/specs/a/requirements.md": lines("### Requirement 1: In", "#### Acceptance Criteria",
			"1. a", "2. WHEN x THEN y", "### Requirement 2: Out")},
			lines("IMPL-1 Form GOAL", "IMPL-1.1 Fields in IMPL-1 changes src/form.ts was x",
				`IMPL-1.2 Check in IMPL-1 after IMPL-1.1 changes ** wants "Requirement 1.2: WHEN x THEN y" wants "Requirement 2: Out"`,
				"IMPL-2 Page after IMPL-1 changes **")},
		{"openspec", "openspec", map[string]string{"openspec/changes/a/tasks.md": lines("## 1. Parser", "- [ ] 1.1 Read",
			"- [x] 1.2 Write", "", "## 2. Docs", "- [ ] 2.1 Say", "- [ ] loose"), "openspec/changes/a/proposal.md": "Why.\n"},
			lines("IMPL-1 Parser GOAL", "IMPL-1.1 Read in IMPL-1 changes **", "IMPL-1.2 Write in IMPL-1 after IMPL-1.1 changes ** was x",
				"IMPL-2 Docs GOAL after IMPL-1", "IMPL-2.1 Say in IMPL-2 changes **", "IMPL-2.2 loose in IMPL-2 after IMPL-2.1 changes **")},
		{"task-master", ".taskmaster", map[string]string{".taskmaster/tasks/tasks.json": `{"master": {"tasks": [
			{"id": 1, "title": "Set up", "status": "done", "testStrategy": "run \"make x\"", "subtasks": [{"id": 1, "title": "A", "status": "done"}, {"id": 2, "title": "B", "status": "cancelled", "dependencies": [1]}]},
			{"id": 2, "title": "Serve", "status": "odd", "dependencies": [1, "1.2"], "testStrategy": "It answers."},
			{"id": 3, "title": "Tell", "subtasks": [{"id": 1, "title": "Who", "dependencies": [2]}]}]}}`},
			lines("IMPL-1 Set up GOAL", "IMPL-1.1 A in IMPL-1 changes ** was done", "IMPL-1.2 B in IMPL-1 after IMPL-1.1 changes ** was cancelled",
				`IMPL-2 Serve after IMPL-1, IMPL-1.2 changes ** wants "It answers."`, "IMPL-3 Tell GOAL",
				"IMPL-3.1 Who in IMPL-3 after IMPL-2 changes **")},
		{"backlog", "backlog", map[string]string{"backlog/config.yml": "project_name: Board\n", "backlog/milestones/m-1 - One.md": "---\nid: m-1\ntitle: One\n---\n",
			"backlog/tasks/task-1 - a.md":         "---\nid: TASK-1\ntitle: 'A: b'\nstatus: Done\nmilestone: m-1\n---\n\n## Description\n\nDo it.\n",
			"backlog/tasks/task-1.5 - Old-one.md": "# Old\n\nWords.\n", "backlog/tasks/task-1.6 - n.md": "---\nid: doc-1\n---\nA note.\n",
			"backlog/tasks/task-2 - b.md": "---\nid: TASK-2\ntitle: B\nstatus: To Do\ndependencies:\n  - task-1\n---\n## Acceptance Criteria\n- [ ] #1 It is b\n"},
			lines("TASK-1 A: b in M-1 changes ** was Done", "TASK-1.5 Old one changes **", `TASK-2 B after TASK-1 changes ** wants "It is b"`, "M-1 One GOAL")},
		{"beads", "issues.jsonl", map[string]string{"issues.jsonl": lines(`{"id":"b-1","title":"E","status":"open","issue_type":"epic"}`,
			`{"id":"b-1.1","title":"A","status":"closed","issue_type":"task","acceptance_criteria":"- it is a"}`,
			`{"id":"b-1.2","title":"B","status":"open","issue_type":"task","dependencies":[{"issue_id":"b-1.2","depends_on_id":"b-1.1","type":"blocks"}]}`)},
			lines("B-1 E GOAL", `B-1.1 A in B-1 changes ** wants "it is a" was closed`, "B-1.2 B in B-1 after B-1.1 changes **")},
		{"github", "i.json", map[string]string{"i.json": `[{"number": 7, "title": "A", "state": "CLOSED", "stateReason": "COMPLETED", "body": "x"}, {"number": 8, "title": "B", "state": "OPEN", "body": "- [ ] c\n- [x] d"}]`},
			lines("ISSUE-7 A changes ** was completed", "ISSUE-8 B GOAL", "ISSUE-8.1 c in ISSUE-8 changes **", "ISSUE-8.2 d in ISSUE-8 changes ** was x")},
		{"boxes", "TODO.md", map[string]string{"TODO.md": lines("# Left", "", "Words.", "", "## Server", "- [ ] port", "  - [x] pipe", "  more",
			"- just words", "## Nothing", "- words", "## Client", "- [✅] page")},
			lines("IMPL-1 Server GOAL", "IMPL-1.1 port GOAL in IMPL-1", "IMPL-1.1.1 pipe in IMPL-1.1 changes ** was x",
				"IMPL-2 Client GOAL", "IMPL-2.1 page in IMPL-2 changes ** was ✅")},
		{"dev-plan", "p.md", map[string]string{"p.md": lines("# P", "## Milestone M1: Parser", "### M1-T1: Read", "- status: VERIFIED",
			"- acceptance: `go test ./...` exits 0", "- evidence: r", "M1-T2: Write", "- **状态**：TODO", "- 验收：", "  - it writes", "- depends on: M1-T1", "### M1-T3: Test", "- acceptance:", "- it runs", "- evidence:", "#### Run", "- status: DOING", "#### Review",
			"- status: DONE", "## Rules", "- status: TODO / DONE", "## Milestone M2: Later", "- status: TODO")},
			lines("M-1 Milestone M1: Parser GOAL", "M1-T-1 Read in M-1 changes ** wants \"`go test ./...` exits 0\" was VERIFIED",
				`M1-T-2 Write in M-1 after M1-T-1 changes ** wants "it writes"`,
				`M1-T-3 Test in M-1 changes ** wants "it runs" was DONE`, "M-2 Milestone M2: Later changes **")},
		{"ccw", ".", map[string]string{".workflow/WFS-a/.task/IMPL-1.json": `{"id": "IMPL-1", "title": "A", "status": "completed"}`,
			".workflow/WFS-a/.task/IMPL-2.json": `{"title": "B", "context": {"depends_on": ["IMPL-1"], "acceptance": ["b"]}, "flow_control": {"pre_analysis": [{"step": "s", "command": "touch pwned"}], "target_files": ["src/b.go:f:1-2"]}}`},
			lines("IMPL-1 A changes ** was completed", `IMPL-2 B after IMPL-1 changes src/b.go wants "b"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := sample(tt.files)
			found, findings := Find(fsys, tt.path)
			if len(found) != 1 || len(findings) > 0 || string(found[0].Format) != tt.name {
				t.Fatalf("found %v, %v", found, findings)
			}
			i := Read(fsys, found[0], Options{Check: "make check"})
			if len(i.Findings) > 0 || i.Plan == nil {
				t.Fatal(i.Findings)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(outlineOf(i.Plan), ` wants "The repository's own check passes."`, "")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, l := range plandoc.CommandLines(i.Plan) {
				if l.Line != "make check" {
					t.Errorf("would run %q", l.Line)
				}
			}
			if len(i.Homeless) > 0 {
				t.Errorf("homeless: %v", i.Homeless)
			}
			draft, err := i.Draft()
			if err != nil {
				t.Fatal(err)
			}
			p, err := plandoc.ParseValid("draft", draft, policy.Floors{})
			if err != nil {
				t.Fatal(err)
			}
			if r := plandoc.ReviewPlan(p, plandoc.Stated); r.Verdict != plan.Approved {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Whatever the bytes are, reading them neither panics nor makes a command of them.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"tasks.md", "tasks.json", "issues.jsonl", "x.md"} {
		f.Add(name, "- [ ] T001 a\n- [ ] 1.1 b\n# x\n- status: TODO\n```\n")
		f.Add(name, `{"tasks": [{"id": 1, "title": "a", "dependencies": [1]}]}`)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		known, own := Known(name, []byte(text))
		if !known || own || strings.ContainsRune(name, 0) { // no file is called so
			return
		}
		fsys := Text(name, []byte(text))
		found, _ := Find(fsys, name)
		for _, f := range found {
			i := Read(fsys, f, Options{})
			if i.Plan == nil {
				continue
			}
			if l := plandoc.CommandLines(i.Plan); len(l) > 0 {
				t.Errorf("would run %v", l)
			}
			if draft, err := i.Draft(); err != nil {
				t.Errorf("%v\n%s", err, draft)
			}
		}
	})
}

// A document beside the tasks that can't be read stays where it is: nothing of the tasks is lost.
func TestBesideUnreadable(t *testing.T) {
	fsys := sample(map[string]string{
		"specs/001-x/tasks.md": lines("# Tasks: X", "", "- [ ] T001 Add a.go"),
		"specs/001-x/plan.md":  "a\x00b",
		"specs/001-x/spec.md":  "\xff\xfe\xfa",
	})
	found, findings := Find(fsys, "specs/001-x")
	if len(found) != 1 || len(findings) > 0 {
		t.Fatalf("found %v, %v", found, findings)
	}
	i := Read(fsys, found[0], Options{})
	if len(i.Findings) > 0 || i.Plan == nil || len(i.Notes) != 2 {
		t.Fatalf("findings %v, notes %v", i.Findings, i.Notes)
	}
	if top := i.Plan.Task(i.Plan.RootTaskID).Description + i.Plan.TopTask; !strings.Contains(top, "specs/001-x/plan.md") {
		t.Errorf("the plan does not name the document: %q", top)
	}
}

// A spec.json of Kiro has "tasks" among what was approved; that is no tag of task-master.
func TestSpecIsNoTaskList(t *testing.T) {
	fsys := sample(map[string]string{
		".kiro/specs/x/spec.json": `{"feature_name": "x", "approvals": {"tasks": {"generated": true}}}`,
		".kiro/specs/x/tasks.md":  lines("# Implementation Plan", "", "- [ ] 1. Add a.go"),
	})
	for _, path := range []string{".", ".kiro/specs/x", ".kiro/specs/x/spec.json"} {
		found, _ := Find(fsys, path)
		for _, f := range found {
			if f.Path != ".kiro/specs/x/tasks.md" {
				t.Errorf("%s: found %v", path, found)
			}
		}
	}
}

// What only looks like a plan is none: boxes in code, a report with a status, a list that beads keeps beside its issues.
func TestFindNothing(t *testing.T) {
	for name, text := range map[string]string{
		"how.md":             lines("# How", "```md", "- [ ] a box", "```"),
		"report.md":          lines("# Checked", "## Server", "Status: VERIFIED", "Evidence: a log"),
		"interactions.jsonl": lines(`{"id": "int-1", "kind": "field_change"}`, `{"id": "int-2", "kind": "field_change"}`),
	} {
		if found, findings := Find(sample(map[string]string{name: text}), name); len(found) > 0 || len(findings) != 1 {
			t.Errorf("%s: found %v, %v", name, found, findings)
		}
	}
}

// What is to be done is the text of a task, wherever its author put it: in steps, behind a title that is too long.
func TestWholeText(t *testing.T) {
	long := strings.Repeat("word ", 60) + "end"
	fsys := sample(map[string]string{
		"specs/1/tasks.md": lines("# Tasks", "", "- [ ] T001 "+long),
		".workflow/WFS-a/.task/IMPL-1.json": `{"id": "IMPL-1", "title": "A", "implementation": [{"step": 1, "title": "Cut",
			"changes": ["a.go: x", "b.go: y"], "command": "rm -rf /"}], "risks": "None."}`,
	})
	for dir, want := range map[string]string{
		"specs":     long,
		".workflow": "implementation: - Cut\n  changes: \n    - a.go: x\n    - b.go: y\n\nrisks: None.",
	} {
		found, _ := Find(fsys, dir)
		i := Read(fsys, found[0], Options{})
		if got := i.Plan.Tasks[1].Description; got != want || len(i.Homeless) > 0 {
			t.Errorf("%s: %q, homeless %v", dir, got, i.Homeless)
		}
	}
}
