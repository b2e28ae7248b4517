package outline

import (
	"fmt"
	"strings"
	"testing"

	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func TestSplitField(t *testing.T) {
	for _, c := range []struct {
		text  string
		key   key
		value string
	}{
		{"status: DONE", keyStatus, "DONE"},
		{"**Status:** DONE", keyStatus, "DONE"},
		{"**Status: DONE**", keyStatus, "DONE"},
		{"`status`: `DONE`", keyStatus, "`DONE`"},
		{"`status=VERIFIED`", keyStatus, "VERIFIED"},
		{"status = DONE", keyStatus, "DONE"},
		{"Status | DONE", keyStatus, "DONE"},
		{"Status - DONE", keyStatus, "DONE"},
		{"状态 DONE", keyStatus, "DONE"},
		{"【状态】DONE", keyStatus, "DONE"},
		{"【验收标准】`make` -> exit 0", keyAcceptance, "`make` -> exit 0"},
		{"Status 状态: DONE", keyStatus, "DONE"},
		{"evidence =", keyEvidence, ""},
		{"Acceptance", keyAcceptance, ""},
		{"**验收标准**", keyAcceptance, ""},
		{"acceptance tests run nightly", "", ""},
		{"status quo", "", ""},
		{"state-of-the-art parser", "", ""},
		{"[Evidence](log.txt)", "", ""},
		{"x = 3", "", ""},
	} {
		k, value := splitField(c.text)
		if k != c.key || value != c.value {
			t.Errorf("splitField(%q) = %q, %q; want %q, %q", c.text, k, value, c.key, c.value)
		}
	}
}

// TestBehindAList: a field right behind a list belongs to what the list stands in, text to the item.
func TestBehindAList(t *testing.T) {
	for src, want := range map[string]string{
		"- a\n- b\nStatus: TODO":                     "list 1 2|text 3",
		"- a\n  Status: TODO":                        "list 1",
		"- a\nand so on":                             "list 1",
		"- a\n  - x\nStatus: TODO\n- b":              "list 1|text 3|list 4",
		"- acceptance:\n  - x\n  status: TODO\n- b":  "list 1 4",
		"- a\n\n- b\n  more\n\nStatus: TODO":         "list 1 3|text 6",
		"```\n- a\nStatus: TODO\n```":                "code 2",
		"some text\n**Task 1: A**\n**Task 2: B**\nx": "text 1|text 2|text 3",
	} {
		var got []string
		for _, b := range newReader([]byte(src)).read() {
			s := map[blockKind]string{paraBlock: "text", listBlock: "list", codeBlock: "code"}[b.kind]
			for _, it := range b.items {
				s += fmt.Sprintf(" %d", it.no)
			}
			if len(b.items) == 0 {
				s += fmt.Sprintf(" %d", b.no)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q: %q, want %q", src, s, want)
		}
	}
}

// TestRefusals: what can't be read as it was meant is refused with its line, never guessed and never dropped.
func TestRefusals(t *testing.T) {
	const head = "# P\n\n## Milestone 1: M\n\n### Task 1: T\n"
	for name, c := range map[string]struct {
		body string
		code string
		line int
	}{
		"a guessed status":    {"- status: done?\n", "unknown-status", 6},
		"a status taken back": {"- status: DONE (but fails)\n", "unknown-status", 6},
		"two statuses": {"- status: DONE\n- acceptance: `a` -> exit 0\n- status: TODO\n", "contradicting-status",
			8},
		"done and verified":        {"- status: DONE\n- status: VERIFIED\n", "contradicting-status", 7},
		"a backtick":               {"- acceptance: `make -> exit 0\n", "unclosed-code", 6},
		"a status in prose":        {"- status: TODO\n\n## History\n\nStatus: DONE\n", "lost-status", 10},
		"a hidden character":       {"- acceptance: `make \u202ex` -> exit 0\n", "hidden-character", 6},
		"a status in a table":      {"- x\n\n| Task | Status |\n|---|---|\n| U | half |\n", "unknown-status", 10},
		"a box against the status": {"\n- [x] **Task 2: U** - status: TODO\n", "contradicting-status", 7},
	} {
		_, fs := Parse("x.md", []byte(head+c.body))
		if len(fs) == 0 || fs[0].Code != c.code || fs[0].Line != c.line {
			t.Errorf("%s: %v, want %s on line %d", name, fs, c.code, c.line)
		}
	}
}

// TestJudged: a threshold that no shell can decide becomes a criterion for a person, with the command and the threshold
// in its statement, and no run line that checks less.
func TestJudged(t *testing.T) {
	o, fs := Parse("x.md",
		[]byte("# P\n\n### Task 1: T\n- status: TODO\n- acceptance:\n  - `make bench` -> p95 < 200 ms\n  - `make` -> exit 0\n  - `POST /users` -> 201\n"))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	doc, fs := o.Plan()
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	p, err := plandoc.ParseValid("plan.yaml", doc, policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range p.Tasks {
		if task.TaskID != "TASK-1" {
			continue
		}
		if c := task.AcceptanceCriteria[0]; !c.Manual() || c.Statement != "Run `make bench` and judge: p95 < 200 ms" {
			t.Errorf("criterion %+v", c)
		}
		if c := task.AcceptanceCriteria[1]; c.Run != `cd "$WF_REPO" && make` {
			t.Errorf("run line %q", c.Run)
		}
		if c := task.AcceptanceCriteria[2]; !c.Manual() || c.Statement != "Run `POST /users` and judge: 201" {
			t.Errorf("criterion %+v", c)
		}
	}
}
