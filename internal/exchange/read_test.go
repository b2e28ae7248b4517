package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// one reads the only thing that is found, or the one with the name.
func one(t *testing.T, fsys fstest.MapFS, path, name string, o Options) *Imported {
	t.Helper()
	found, findings := Find(fsys, path)
	if len(findings) > 0 {
		t.Fatalf("Find: %v", findings)
	}
	for _, f := range found {
		if name == "" && len(found) == 1 || f.Name == name {
			return Read(fsys, f, o)
		}
	}
	t.Fatalf("found %v, want one called %q", found, name)
	return nil
}

// outlineOf shows the tree of a plan: id, kind, title, what it waits for, its files, criteria, estimate.
func outlineOf(p *plan.Plan) string {
	var b strings.Builder
	for _, t := range p.Tasks[1:] {
		if t.NodeType == plan.Check {
			continue
		}
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
		if files := deliverables(t); len(files) > 0 {
			fmt.Fprintf(&b, " makes %s", strings.Join(files, ", "))
		}
		if n := len(t.AcceptanceCriteria); n > 0 {
			fmt.Fprintf(&b, " criteria %d", n)
		}
		if t.EstimatedPersonDays > 0 {
			fmt.Fprintf(&b, " days %g", t.EstimatedPersonDays)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestReadFormats(t *testing.T) {
	there := func(name string) bool { return name == "src/auth/sign.ts" || name == "src/read.go" }
	tests := []struct {
		format system
		name   string
		want   string
		notes  int
		done   string
	}{
		{formatCCW, "", lines(
			"IMPL-1 Tokens GOAL",
			"IMPL-1.1 Sign a token in IMPL-1 makes src/auth/sign.ts criteria 2",
			"IMPL-1.2 Check a token in IMPL-1 after IMPL-1.1 makes src/auth/check.ts, src/pages/*/view.ts",
			"IMPL-002 Explain it after IMPL-1 makes summary.md", ""), 0, "IMPL-1.1:src/auth/sign.ts IMPL-002"},
		{formatTaskMaster, "master", lines(
			"IMPL-1 Set up GOAL",
			"IMPL-1.1 Makefile in IMPL-1 criteria 1",
			"IMPL-1.2 Tests in IMPL-1 after IMPL-1.1",
			"IMPL-2 Serve after IMPL-1",
			"IMPL-3 Ship after IMPL-1.2, IMPL-2 days 0.5", ""), 1, "IMPL-1.1"},
		{formatSpecKit, "", lines(
			"PHASE-1 Phase 1: Setup (Shared Infrastructure) GOAL",
			"T-001 Create the project in src/ in PHASE-1",
			"T-002 Configure linting in `.golangci.yml` in PHASE-1 after T-001 makes .golangci.yml",
			"T-003 Write the test harness in tests/harness_test.go in PHASE-1 after T-001 makes tests/harness_test.go",
			"PHASE-2 Phase 2: User Story 1 - See albums (Priority: P1) GOAL after PHASE-1",
			"T-004 Contract test in tests/contract/albums_test.go in PHASE-2 makes tests/contract/albums_test.go",
			"T-005 Album model in src/models/album.go (depends on T004) in PHASE-2 after T-004 makes src/models/album.go",
			"T-006 Page in src/pages/albums.go in PHASE-2 after T-005 makes src/pages/albums.go",
			"PHASE-3 Phase 3: User Story 2 - Share (Priority: P2) GOAL after PHASE-1",
			"T-007 Link in src/pages/share.go in PHASE-3 makes src/pages/share.go",
			"PHASE-4 Phase 4: Polish GOAL after PHASE-1, PHASE-2, PHASE-3",
			"T-008 Docs in docs/albums.md in PHASE-4 makes docs/albums.md", ""), 0, "T-001"},
		{formatOpenSpec, "", lines(
			"IMPL-1 Parser GOAL",
			"IMPL-1.1 Read the header in `src/read.go` in IMPL-1 makes src/read.go",
			"IMPL-1.2 Read the body in IMPL-1 after IMPL-1.1 criteria 1",
			"IMPL-2 Docs GOAL after IMPL-1",
			"IMPL-2.1 Write `docs/parser.md` in IMPL-2 makes docs/parser.md", ""), 0, "IMPL-1.1:src/read.go"},
		{formatBeads, "", lines(
			"IMPL-1 Checkout GOAL",
			"IMPL-1.1 Cart in IMPL-1 criteria 2",
			"IMPL-1.2 Pay in IMPL-1 after IMPL-1.1 days 0.5",
			"SHOP-7 Receipts & mails", ""), 2, "IMPL-1.1"},
		{formatGitHub, "", lines(
			"IMPL-1 #10",
			"IMPL-2 o/other#7 the port GOAL",
			"IMPL-2.1 on Windows in IMPL-2",
			"IMPL-3 Write `CHANGES.md` makes CHANGES.md", ""), 0, "IMPL-1"},
		{formatMarkdown, "", lines(
			"M-1 Parser GOAL",
			"TASK-1.1 Read in M-1 makes parser.txt criteria 1 days 2",
			"TASK-1.2 Explain in M-1 makes TASK-1.2.md criteria 1", ""), 0, "TASK-1.1"},
		{formatPlan, "", "IMPL-1 Write it\n", 0, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			i := one(t, sample(samples()[tt.format]), pathOf(tt.format), tt.name, Options{Exists: there})
			if i.Format != tt.format {
				t.Errorf("taken for %s", i.Format)
			}
			if len(i.Findings) > 0 || len(i.Notes) != tt.notes {
				t.Errorf("findings:\n%v\nnotes (want %d):\n%v", i.Findings, tt.notes, i.Notes)
			}
			if i.Plan == nil {
				t.Fatal("no plan")
			}
			if diff := cmp.Diff(tt.want, outlineOf(i.Plan)); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			var done []string
			for _, d := range i.Done {
				done = append(done, strings.TrimSuffix(string(d.Task)+":"+strings.Join(d.Files, ","), ":"))
			}
			if got := strings.Join(done, " "); got != tt.done {
				t.Errorf("done: %q, want %q", got, tt.done)
			}
			if _, err := i.Draft(true); err != nil {
				t.Errorf("the draft is no plan file: %v", err)
			}
		})
	}
}

// What is missing is named, task by task, by Gaps, by the comments of the draft and by the rules of plans, and by
// nothing else: a plan without gaps keeps the rules.
func TestGaps(t *testing.T) {
	i := one(t, sample(ccwSample()), ".", "", Options{})
	want := "IMPL-1.2: lacks acceptance_criteria\nIMPL-002: lacks acceptance_criteria"
	var got []string
	for _, g := range i.Gaps() {
		got = append(got, fmt.Sprintf("%s: %s", g.TaskID, g.Message))
	}
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	draft, err := i.Draft(true)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(draft), "# missing: "); n != 2 {
		t.Errorf("%d comments, want 2:\n%s", n, draft)
	}
	_, err = plandoc.ParseValid("draft", draft, policy.Floors{})
	fs, _ := err.(plan.Findings)
	var codes []string
	for _, f := range fs {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	if got := strings.Join(slices.Compact(codes), " "); got != "no-criteria" || len(fs) != 2 {
		t.Errorf("the rules find %q (%d)", got, len(fs))
	}
	full := one(t, sample(map[string]string{"tasks.json": `{"tasks": [{"id": 1, "title": "Write", "testStrategy": "Read it", "files": ["a.md"], "status": "pending"}]}`}), ".", "", Options{EstimateDays: 1})
	draft, err = full.Draft(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plandoc.ParseValid("draft", draft, policy.Floors{}); err != nil || len(full.Gaps()) > 0 {
		t.Errorf("%v, gaps %v", err, full.Gaps())
	}
}

// A thing that is broken is a finding with its place, and the rest is read.
func TestBadInput(t *testing.T) {
	const dir = ".workflow/WFS-user-login/"
	const task = `{"id": %q, "title": "T", "status": "pending", "meta": {"type": "docs"}, "context": {%s}, "flow_control": {"pre_analysis": []}}`
	withFile := func(name, text string) map[string]string {
		files := ccwSample()
		files[name] = text
		return files
	}
	without := func(names ...string) map[string]string {
		files := ccwSample()
		for _, n := range names {
			delete(files, n)
		}
		return files
	}
	utf16 := func(s string) string {
		out := "\xff\xfe"
		for _, r := range s {
			out += string([]byte{byte(r), byte(r >> 8)})
		}
		return out
	}
	issue := func(id, more string) string {
		return fmt.Sprintf(`{"id":%q,"title":"T","status":"open","issue_type":"task"%s}`+"\n", id, more)
	}
	tests := []struct {
		name  string
		files map[string]string
		path  string
		want  string // part of a finding, "" for none
		note  string // part of a note
		tasks int
	}{
		{"half the files", without(dir+"workflow-session.json", dir+"IMPL_PLAN.md", dir+"TODO_LIST.md"), ".",
			"workflow-session.json: is not there", "IMPL_PLAN.md: is not there", 3},
		{"parent that is not there", without(dir + ".task/IMPL-1.json"), ".",
			"IMPL-1.1.json:1: IMPL-1.1 has a parent that is not there", "", 3},
		{"comments", withFile(dir+".task/IMPL-3.json", "{\n  // a remark\n"+fmt.Sprintf(task, "IMPL-3", "")[1:]), ".",
			"IMPL-3.json:2: JSON has no comments", "", 4},
		{"comma too many", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"depends_on": ["IMPL-1",]`)), ".",
			"IMPL-3.json:1: JSON has no comments, and no comma", "", 4},
		{"no JSON", withFile(dir+".task/IMPL-3.json", "{\n\"id\": \"IMPL-3\",\n\"title\" oops"), ".",
			"IMPL-3.json:3: is no JSON", "", 3},
		{"NaN", withFile(dir+".task/IMPL-3.json", "{\"id\": \"IMPL-3\",\n \"x\": NaN}"), ".", "IMPL-3.json:2: is no JSON", "",
			3},
		{"empty file", withFile(dir+".task/IMPL-3.json", ""), ".", "IMPL-3.json:1: is no JSON: the document ends too early",
			"", 3},
		{"a list", withFile(dir+".task/IMPL-3.json", "[1]"), ".", "IMPL-3.json:1: is no JSON object", "", 3},
		{"three levels", withFile(dir+".task/IMPL-1.2.1.json", fmt.Sprintf(task, "IMPL-1.2.1", "")), ".",
			"IMPL-1.2.1.json:1: the id IMPL-1.2.1 has more than two levels", "", 3},
		{"own parent", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"parent": "IMPL-3"`)), ".",
			"IMPL-3.json:1: IMPL-3 names itself as its parent", "", 4},
		{"circle of parents", map[string]string{
			dir + "workflow-session.json": "{}", dir + ".task/A-1.json": fmt.Sprintf(task, "A-1", `"parent": "A-2"`), dir +
				".task/A-2.json": fmt.Sprintf(task, "A-2", `"parent": "A-1"`),
		}, ".", "is below itself", "", 1},
		{"unknown dependency", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"depends_on": ["IMPL-9"]`)),
			".", "IMPL-3 depends on a task that is not there; taken as if it did not (expected the id of a task there; found IMPL-9)", "", 4},
		{"depends on itself", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"depends_on": ["IMPL-3"]`)), ".",
			"IMPL-3 depends on itself", "", 4},
		{"circle", withFile(dir+".task/IMPL-1.1.json", fmt.Sprintf(task, "IMPL-1.1",
			`"parent": "IMPL-1", "depends_on": ["IMPL-1.2"]`)), ".", "waits for itself", "", 3},
		{"circle through a parent", withFile(dir+".task/IMPL-1.1.json",
			fmt.Sprintf(task, "IMPL-1.1", `"parent": "IMPL-1", "depends_on": ["IMPL-002"]`)), ".", "waits for itself", "", 3},
		{"depends on its parent", withFile(dir+".task/IMPL-1.1.json",
			fmt.Sprintf(task, "IMPL-1.1", `"parent": "IMPL-1", "depends_on": ["IMPL-1"]`)), ".", "", "which it is a part of", 3},
		{"one id twice", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "impl-002", "")), ".",
			"IMPL-3.json:1: has the id of another task; left out", "", 3},
		{"names that differ in case", withFile(dir+".task/impl-002.json", fmt.Sprintf(task, "IMPL-5", "")), ".",
			"differs from IMPL-002.json only in its case", "", 3},
		{"no title", withFile(dir+".task/IMPL-3.json", `{"id": "IMPL-3", "meta": {}, "context": {}, "flow_control": {}}`),
			".", "IMPL-3.json:1: IMPL-3 has no title", "", 4},
		{"sections of the wrong type", withFile(dir+".task/IMPL-3.json",
			`{"id": "IMPL-3", "title": "T", "meta": "docs", "context": [], "flow_control": {}}`), ".",
			`IMPL-3 has no meta (expected "meta": {...}; found text)`, "", 4},
		{"a field twice", withFile(dir+".task/IMPL-3.json",
			"{\"id\": \"IMPL-3\", \"title\": \"T\",\n\"title\": \"U\", \"meta\": {}, \"context\": {}, \"flow_control\": {}}"),
			".", "IMPL-3.json:2: has a field twice in one object; the first counts", "", 4},
		{"number out of range", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"n": 1e999`)), ".",
			"has a number out of range; kept as text", "", 4},
		{"NUL", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3", `"n": "a\u0000b"`)), ".",
			"has the character NUL", "", 4},
		{"deep", withFile(dir+".task/IMPL-3.json", fmt.Sprintf(task, "IMPL-3",
			`"n": `+strings.Repeat("[", 100)+strings.Repeat("]", 100))), ".", "is nested more than 60 levels deep", "", 4},
		{"very deep", withFile(dir+".task/IMPL-3.json", strings.Repeat("[", 1<<20)), ".", "nested more than 1000 levels deep",
			"", 3},
		{"UTF-16", withFile(dir+".task/IMPL-3.json", utf16(fmt.Sprintf(task, "IMPL-3", ""))), ".", "",
			"IMPL-3.json:1: is in UTF-16", 4},
		{"byte order mark and CRLF", withFile(dir+".task/IMPL-3.json",
			"\xef\xbb\xbf"+strings.ReplaceAll(fmt.Sprintf(task, "IMPL-3", ""), ", ", ",\r\n")), ".", "", "", 4},
		{"Latin-1", withFile(dir+".task/IMPL-3.json", "{\n\"id\": \"IMPL-3\", \"title\": \"caf\xe9\"}"), ".",
			"IMPL-3.json:2: is not UTF-8", "", 3},
		{"50 MB", withFile(dir+".task/IMPL-3.json", strings.Repeat(" ", 50<<20)), ".",
			"IMPL-3.json: can't be read: has more than 32 MiB", "", 3},
		{"no tasks", map[string]string{dir + "workflow-session.json": "{}"}, ".", ".task: has no task", "", 0},
		{"circle of an epic and its task", map[string]string{"issues.jsonl": issue("b-1",
			`,"dependencies":[{"depends_on_id":"b-1.1","type":"blocks"}]`) + issue("b-1.1", "")}, ".", "", "", 1},
		{"circle of issues", map[string]string{"issues.jsonl": issue("b-1",
			`,"dependencies":[{"depends_on_id":"b-2","type":"blocks"}]`) +
			issue("b-2", `,"dependencies":[{"depends_on_id":"b-1","type":"blocks"}]`)}, ".",
			"issues.jsonl:2: b-2 waits for itself", "", 2},
		{"half a line", map[string]string{"issues.jsonl": issue("b-1", "") + "{\"id\":\"b-2\",\"ti\n" + issue("b-3", "")},
			".", "issues.jsonl:2: is no JSON", "", 2},
		{"an issue twice", map[string]string{"issues.jsonl": issue("b-1", "") + issue("b-1", "")}, ".",
			"issues.jsonl:2: has the id of another task; left out", "", 1},
		{"a task without id", map[string]string{"tasks.json": `{"tasks": [{"title": "T"}, {"id": 2, "title": "U"}, 3]}`}, ".",
			"tasks.json:1: tasks[0] has no id; left out", "", 1},
		{"tasks is no list", map[string]string{"tasks.json": `{"tasks": {"a": 1}}`}, "tasks.json", "has no list of tasks", "",
			0},
		{"an order that explicit words contradict",
			map[string]string{"tasks.md": "- [ ] T001 One (depends on T002)\n- [ ] T002 Two\n"}, ".", "", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := sample(tt.files)
			found, findings := Find(fsys, tt.path)
			var i Imported
			if len(found) == 1 {
				i = *Read(fsys, found[0], Options{})
			}
			findings = append(findings, i.Findings...)
			if tt.want == "" && len(findings) > 0 || !strings.Contains(findings.Error(), tt.want) {
				t.Errorf("findings:\n%v\nwant %q", findings, tt.want)
			}
			if !strings.Contains(i.Notes.Error(), tt.note) {
				t.Errorf("notes:\n%v\nwant %q", i.Notes, tt.note)
			}
			if i.Tasks != tt.tasks {
				t.Errorf("%d tasks, want %d", i.Tasks, tt.tasks)
			}
			if i.Plan == nil {
				return
			}
			draft, err := i.Draft(true)
			if err != nil {
				t.Fatalf("the draft is no plan file: %v", err)
			}
			_, err = plandoc.ParseValid("draft", draft, policy.Floors{})
			fs, _ := err.(plan.Findings)
			for _, f := range fs {
				if !slices.Contains([]string{"no-criteria", "no-spec", plan.CodeMore}, f.Code) {
					t.Errorf("the rules of plans find more than gaps: %v", f)
				}
			}
		})
	}
}

func TestManySessions(t *testing.T) {
	files := map[string]string{}
	for n := range 1000 {
		files[fmt.Sprintf(".workflow/WFS-s%04d/workflow-session.json", n)] = "{}"
	}
	files[".workflow/archives/WFS-old/workflow-session.json"] = "{}"
	found, findings := Find(sample(files), ".")
	if len(found) != 1001 || len(findings) > 0 || found[0].Name != "WFS-s0000" && found[0].Name != "WFS-old" {
		t.Errorf("found %d, %v", len(found), findings)
	}
}

func TestFind(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"older tasks.json", "tasks.json", `{"tasks": []}`, "task-master"},
		{"tags", "tasks.json", taskMasterSample, "task-master task-master"},
		{"a list of issues", "x.json", `[{"number": 1, "title": "T"}]`, "github"},
		{"issues as one list", "x.json", `[{"id": "b-1", "issue_type": "task"}]`, "beads"},
		{"issues without the ending", "x.json", beadsSample, "beads"},
		{"a plan of ours", "x.json", `{"schema_version": 1, "title": "T", "tasks": []}`, "git-wf"},
		{"a list without words", "x.md", "- [ ] one\n- [x] two\n", "github"},
		{"an outline", "x.md", outlineSample, "markdown"},
		{"prose", "x.md", "Nothing to do.\n", "markdown"},
		{"something else", "x.json", `{"name": "left-pad"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, findings := Find(sample(map[string]string{tt.file: tt.text}), tt.file)
			var got []string
			for _, f := range found {
				got = append(got, string(f.Format))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("found %v, want %s; %v", got, tt.want, findings)
			}
			if (len(findings) > 0) != (tt.want == "") {
				t.Errorf("findings: %v", findings)
			}
		})
	}
}
