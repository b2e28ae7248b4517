package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// isolate keeps the user's configuration, and a hook's GIT_DIR, out of the test.
func isolate(t testing.TB) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	home := t.TempDir()
	config := filepath.Join(home, "gitconfig")
	text := "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n" +
		"[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepo makes a repository with one commit.
func newRepo(t testing.TB) string {
	t.Helper()
	isolate(t)
	dir := filepath.Join(t.TempDir(), "repo")
	git(t, ".", "init", "-q", dir)
	write(t, dir, "README", "hello\n")
	write(t, dir, "sub/file", "below\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Sound = func(context.Context, plan.ID, plan.OID) error { return nil }
	t.Cleanup(func() { s.Close() })
	return s
}

// event is an event made for one test.
type event func(s *plan.State) (plan.Change, error)

func (e event) Apply(s *plan.State) (plan.Change, error) { return e(s) }

const testID plan.ID = "WFS-shop"

var testNow = time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600))

func testTask(i int) plan.TaskID { return plan.TaskID(fmt.Sprintf("IMPL-%d", i)) }

// testPlan has n ACTIONs with their CHECKs.
func testPlan(id plan.ID, n int) *plan.Plan {
	p := &plan.Plan{
		SchemaVersion: 1, PlanID: id, Title: "Shop", TopTask: "build a shop", RootTaskID: "GOAL-1",
		Tasks: []*plan.Task{{TaskID: "GOAL-1", NodeType: plan.Goal, Title: "Shop",
			RootAcceptanceCriteria: []plan.RootCriterion{{ID: "R1", Statement: "it sells"}}}},
	}
	for i := 1; i <= n; i++ {
		id := testTask(i)
		p.Tasks = append(p.Tasks, &plan.Task{
			TaskID: id, NodeType: plan.Action, Title: fmt.Sprintf("Part %d", i), ParentTaskID: "GOAL-1", Agent: "exec",
			Description:         "One of the many parts that the shop is made of, described at the usual length.",
			Meta:                map[string]any{"area": "front", "weight": int64(i), "tags": []any{"a", true, nil}},
			EstimatedPersonDays: 1.5, Run: "make part", Covers: []string{"R1"},
			DeliverableSpec: &plan.DeliverableSpec{Format: "text", Filename: "out.txt", SingleFile: true},
			AcceptanceCriteria: []plan.Criterion{{ID: "A1", Statement: "the part is not empty", CheckMethod: plan.StaticCheck,
				Run: "test -s out.txt", Severity: plan.Must, Covers: []string{"R1"}}},
		}, &plan.Task{TaskID: id.CheckID(), NodeType: plan.Check, Title: "Review", ParentTaskID: "GOAL-1",
			ReviewTargetTaskID: id, Reviewers: []string{"checks"}})
	}
	return p
}

func begin(id plan.ID, n int) event {
	return func(*plan.State) (plan.Change, error) {
		return plan.Change{
			Subject: "begin", Plan: testPlan(id, n), Trailers: []plan.Trailer{{Key: "Wf-Event", Value: "plan"}},
			Add: []plan.Entry{{Path: "notes/0001-decisions.md", Data: []byte("go\n")}},
		}, nil
	}
}

// addVersion adds the next version of a task, with a tree of files if there is one.
func addVersion(task plan.TaskID, files plan.OID) event {
	return func(s *plan.State) (plan.Change, error) {
		return versionChange(task, s.Records.Of(task).Active()+1, files), nil
	}
}

// addExactly adds one given version and is refused if it exists.
func addExactly(task plan.TaskID, version int, files plan.OID) event {
	return func(s *plan.State) (plan.Change, error) {
		if s.Records.Of(task).Active() >= version {
			return plan.Change{}, &plan.RefusedError{Task: task, Reason: "is there"}
		}
		return versionChange(task, version, files), nil
	}
}

func versionChange(task plan.TaskID, version int, files plan.OID) plan.Change {
	dir := fmt.Sprintf("%s/artifacts/v%d", task.Dir(), version)
	return plan.Change{
		Subject: fmt.Sprintf("%s: v%d", task, version), Body: "made\n\nof bytes",
		Author:   plan.Actor{Name: "Bot <1>", Email: "bot@example.com"},
		Trailers: []plan.Trailer{{Key: "Wf-Event", Value: "artifact"}, {Key: "Wf-Task", Value: string(task)}},
		Add: []plan.Entry{
			{Path: dir + "/artifact.json", Data: plan.Document(plan.Artifact{TaskID: task, Tree: files,
				ArtifactID: plan.VersionID(version), Agent: "Bot <1>", CreatedAt: plan.Second(testNow)})},
			{Path: dir + "/files", OID: files},
		},
	}
}

func start(t testing.TB, s *Store, id plan.ID, n int) *Appended {
	t.Helper()
	a, err := s.Append(context.Background(), id, begin(id, n), AppendOptions{Now: testNow, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// appendVersion appends a version of one file.
func appendVersion(s *Store, task plan.TaskID, content string) (*Appended, error) {
	b := s.NewBatch()
	files, _, err := b.AddFiles(map[string][]byte{"out.txt": []byte(content)})
	if err != nil {
		return nil, err
	}
	return s.Append(context.Background(), testID, addVersion(task, files), AppendOptions{Now: testNow, Batch: b})
}

// sound checks the repository, and that each commit of each plan only adds paths, except for plan.json.
func sound(t testing.TB, dir string) {
	t.Helper()
	if out := git(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
	refs := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/workflow")
	for ref := range strings.Lines(refs) {
		out := git(t, dir, "log", "--format=", "--name-status", "--diff-merges=first-parent", "--diff-filter=a", strings.TrimSpace(ref))
		for line := range strings.Lines(out) {
			if strings.TrimSpace(line) != "" && strings.TrimSpace(line) != "M\tplan.json" {
				t.Errorf("%s: a commit does more than add: %s", ref, line)
			}
		}
	}
}

// longPlan imports a plan of n ACTIONs, each with one version and one review, into a pack.
func longPlan(t testing.TB, dir string, n int) {
	t.Helper()
	data, err := plandoc.Encode(testPlan(testID, n))
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	file := func(path, content string) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	fmt.Fprintf(&in, "commit refs/workflow/%s\ncommitter Ada <ada@example.com> 1700000000 +0100\ndata 5\nlong\n\n", testID)
	file(planFile, string(data))
	for i := 1; i <= n; i++ {
		d := testTask(i).Dir()
		file(d+"/artifacts/v1/artifact.json", fmt.Sprintf(`{"task_id": "IMPL-%d", "artifact_id": "v1"}`, i))
		file(d+"/artifacts/v1/files/out.txt", fmt.Sprintf("part %d\n", i))
		file(d+"/reviews/r1-v1-100-checks/APPROVED.md", fmt.Sprintf("# APPROVED\n\nIMPL-%d\n", i))
		file(d+"/reviews/r1-v1-100-checks/review.json", fmt.Sprintf(`{"task_id": "IMPL-%d", "score": 100}`, i))
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	git(t, dir, "repack", "-a", "-d", "-q")
}
