package outline

import (
	"fmt"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func TestStateOf(t *testing.T) {
	for word, want := range map[string]State{
		"TODO": Todo, "todo": Todo, "Not started": Todo, "pending": Todo, "backlog": Todo, "未开始": Todo, "待办": Todo,
		"未完成": Todo, "⬜": Todo, "[ ]": Todo, "0%": Todo, "incomplete": Todo, "⏳ 待开始": Todo, "": "", "计划中": Todo,
		"DOING": Doing, "in progress": Doing, "In_Progress": Doing, "WIP": Doing, "进行中": Doing, "🚧": Doing, "[~]": Doing,
		"DOING 40%": Doing, "VERIFIED (2026-01-02, 0 issues)": Done, "DONE 2026-01-02": Done, "TODO / 未开始": Todo,
		"DOING (blocked by nothing)": Doing, "BLOCKED: waiting for a key, not ours": Blocked, "✅ DONE": Done, "🟡 TODO": Todo,
		"`VERIFIED`": Done, "[DONE]": Done, "完成（2026-01-02）": Done, "部分完成": Doing, "READY_TO_CHECK": Doing,
		"🔄 In Progress": Doing, "TO_BE_MODIFY": Doing,
		"DONE": Done, "VERIFIED": Done, "✅": Done, "`done`": Done, "**Done** 2026-06-12": Done, "[x]": Done, "100%": Done,
		"已完成": Done, "完成": Done, "✅ 完成": Done, "DONE — GO": Done, "4/4": Done,
		"BLOCKED": Blocked, "blocked (waiting)": Blocked, "阻塞": Blocked, "on hold": Blocked, "⛔": Blocked, "0/4": Todo,
		"purple": "", "❌ failed": "", "已取消": "", "代码完成": "", "3/5": "", "40%": "", "DONE?": "", "done?": "",
		"FINISHED-ISH": "", "DONE (but fails)": "", "DONE but flaky": "", "skipped": "", "almost done": "", "已完成？": "",
		"完成了一半": "", "完成（有遗留）": "", "DONE/TODO": "", "DONE 80%": "", "TODO, DOING": "", "DONE -> VERIFIED": "", "❌ DONE": "",
		"DONE ❌": "", "N/A": "", "donee": "", "DONE（部分）": "", "nearly finished": "", "DONE (50%)": "", "大概完成": "",
		"TODO | DOING | DONE": "", "todo/doing/done": "",
	} {
		got, ok := stateOf(word)
		if ok != (want != "") || got != want {
			t.Errorf("stateOf(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

func TestEstimates(t *testing.T) {
	for text, want := range map[string]float64{
		"### Task 1: A (2d)": 2, "### Task 1: A (0.5 person-days)": 0.5, "### Task 1: A（2天）": 2, "### Task 1: A (4h)": 0.5,
		"### Task 1: A (~2-3 days)": 3, "### Task 1: A（半天）": 0.5,
		"### Task 1: A (1 week)": 5, "### Task 1: A [2人日]": 2, "### Task 1: A (v2)": 0, "### Task 1: A (3 files)": 0,
		"### Task 1: A": 0,
	} {
		o, fs := Parse("x.md", []byte("# P\n\n"+text+"\n- status: todo\n"))
		if len(fs) > 0 {
			t.Fatalf("%s: %v", text, fs)
		}
		if got := o.Tasks[0].EstimateDays; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if title := o.Tasks[0].Title; want != 0 && title != "A" {
			t.Errorf("%s: the title is %q", text, title)
		}
	}
}

// TestApproved: a plan made of an outline that has enough in it is approved by the built-in review.
func TestApproved(t *testing.T) {
	const src = `# Create a 2048 game

A game for one page, without a server.

## Requirements
- The board has 4 by 4 cells
- Arrow keys move the tiles

## Milestone 1: Board

### Task 1.1: Draw the board (2d)
- status: DONE
- deliverable: ` + "`index.html`" + `
- acceptance:
  - ` + "`grep -c cell index.html` -> >= 16" + `
  - the board has 4 rows
- evidence: seen on Monday

### Task 1.2: Keys (4h)
- status: todo
- depends on: 1.1
- acceptance: ` + "`node test/keys.js`" + ` -> exit 0
`
	o, fs := Parse("game.md", []byte(src))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	doc, fs := o.Plan()
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	p, err := plandoc.ParseValid("plan.yaml", doc, policy.Floors{})
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	if r := plandoc.ReviewPlan(p, plandoc.Stated); r.Verdict != plan.Approved {
		t.Errorf("%s with %d: %+v\n%s", r.Verdict, r.Score, r.Criteria, doc)
	}
	tasks := map[plan.TaskID]*plan.Task{}
	for _, task := range p.Tasks {
		tasks[task.TaskID] = task
	}
	one, two := tasks["TASK-1.1"], tasks["TASK-1.2"]
	if one.DeliverableSpec.Filename != "index.html" || one.EstimatedPersonDays != 2 || two.EstimatedPersonDays != 0.5 {
		t.Errorf("TASK-1.1 delivers %q in %v days, TASK-1.2 takes %v", one.DeliverableSpec.Filename, one.EstimatedPersonDays,
			two.EstimatedPersonDays)
	}
	if run := one.AcceptanceCriteria[0].Run; strings.Contains(run, "WF_REPO") {
		t.Errorf("a command that names the deliverable runs elsewhere: %s", run)
	}
	if run := two.AcceptanceCriteria[0].Run; run != `cd "$WF_REPO" && node test/keys.js` {
		t.Errorf("run line %q", run)
	}
	if len(two.AcceptanceCriteria) != 2 || !two.AcceptanceCriteria[1].Manual() {
		t.Errorf("a task that only the repository judges has no reviewer: %+v", two.AcceptanceCriteria)
	}
	if got := fmt.Sprint(two.DependsOn); got != "[TASK-1.1]" {
		t.Errorf("depends on %s", got)
	}
	if one.Meta["status"] != "done" || one.Meta["status_word"] != "DONE" {
		t.Errorf("meta %v", one.Meta)
	}
}

// TestCovers: an explicit reference decides which task meets a requirement.
func TestCovers(t *testing.T) {
	o, fs := Parse("x.md",
		[]byte("# P\n\n## 需求\n- R1：读\n- R2：写\n\n### 任务 1：写\n- 对应需求：R1\n- 验收：a 存在\n\n### 任务 2：读\n- 对应需求：R2\n- 验收：b 存在\n"))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	doc, fs := o.Plan()
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	p, err := plandoc.Parse("x", doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range p.Tasks {
		if want := map[plan.TaskID]string{"TASK-1": "[R1]", "TASK-2": "[R2]"}[task.TaskID]; want != "" &&
			fmt.Sprint(task.Covers) != want {
			t.Errorf("%s covers %v, want %s", task.TaskID, task.Covers, want)
		}
	}
}

func TestIDs(t *testing.T) {
	for source, want := range map[string]plan.TaskID{
		"IMPL-1": "IMPL-1", "T1.2": "T-1.2", "1.1": "TASK-1.1", "M0-T1": "M0-T-1", "T001": "T-001", "S0-DB-01": "S0-DB-01",
		"17b": "TASK-17.2", "A": "TASK-1", "PLAN-1": "T-PLAN-1", "CHECK-IMPL-1": "T-CHECK-IMPL-1", "GOAL-1": "T-GOAL-1",
		"": "", "xyz": "",
	} {
		if got := legalID(label{id: source}); got != want {
			t.Errorf("legalID(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	many := "# P\n\n## Milestone 1\n\n" + strings.Repeat("- [ ] one more thing\n", maxTasks+1)
	for name, c := range map[string]struct {
		data string
		code string
		line int
	}{
		"large":   {strings.Repeat("a", MaxBytes+1), "too-large", 0},
		"empty":   {" \n", "empty", 1},
		"nul":     {"# A\n\x00", "nul", 2},
		"bytes":   {"# A\n\n\xff", "not-utf8", 3},
		"nesting": {"# A\n" + strings.Repeat("> ", 41) + "x", "too-deep", 2},
		"lists":   {"# A\n" + strings.Repeat("- ", 41) + "x", "too-deep", 2},
		"tasks":   {many, "too-many-tasks", maxTasks + 4},
	} {
		_, fs := Parse("x.md", []byte(c.data))
		if len(fs) == 0 || fs[0].Code != c.code || fs[0].Line != c.line || fs[0].File != "x.md" {
			t.Errorf("%s: %v, want %s on line %d", name, fs, c.code, c.line)
		}
	}
}

// TestLineEndings: the same outline says the same with every kind of line ending.
func TestLineEndings(t *testing.T) {
	const src = "# P\n\n### Task 1: A\n- status: doing\n- acceptance:\n  - `make x` -> exit 0\n"
	want := golden(t, "x.md", []byte(src))
	for _, end := range []string{"\r\n", "\r"} {
		if got := golden(t, "x.md", []byte("\ufeff"+strings.ReplaceAll(src, "\n", end))); string(got) != string(want) {
			t.Errorf("with %q:\n%s\nwant\n%s", end, got, want)
		}
	}
}
