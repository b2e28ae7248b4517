package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gitwf/internal/plan"
)

func TestAppendAndReadBack(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	first := start(t, s, testID, 3)
	done, err := appendVersion(s, "IMPL-2", "hello\n")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := open(t, dir).Snapshot(ctx, testID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh, done.Snapshot, cmp.Comparer(time.Time.Equal),
		cmpopts.IgnoreUnexported(Snapshot{})); diff != "" {
		t.Errorf("what the writer has differs from what is read (-read +writer):\n%s", diff)
	}
	if !fresh.Time.Equal(testNow) || len(fresh.Plan.Tasks) != 7 {
		t.Errorf("time %v, %d tasks", fresh.Time, len(fresh.Plan.Tasks))
	}
	v, ok := fresh.Records.Of("IMPL-2").Version(1)
	if !ok {
		t.Fatalf("no v1: %+v", fresh.Records)
	}
	if data, err := s.ReadFile(ctx, v.Files, "out.txt"); err != nil || string(data) != "hello\n" {
		t.Errorf("files/out.txt: %q, %v", data, err)
	}
	old, err := s.SnapshotAt(ctx, testID, first.Commit)
	if err != nil || len(old.Records.Tasks) != 0 {
		t.Errorf("the first commit has records %v, %v", old.Records, err)
	}
	if now, err := s.Snapshot(ctx, testID); err != nil || now.Commit != done.Commit {
		t.Errorf("after looking back the tip is %v, %v", now, err)
	}
	want := "Bot 1|bot@example.com|Ada|IMPL-2: v1|made\n\nof bytes\n\nWf-Event: artifact\nWf-Task: IMPL-2"
	if got := git(t, dir, "log", "-1", "--format=%an|%ae|%cn|%s|%b", "workflow/WFS-shop"); got != want {
		t.Errorf("git log: %q, want %q", got, want)
	}
	if got := git(t, dir, "reflog", "refs/workflow/WFS-shop"); strings.Count(got, "\n") != 1 {
		t.Errorf("reflog: %q", got)
	}
	sound(t, dir)
}

func TestAppendRefusals(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 1)
	change := func(c plan.Change) event {
		return func(*plan.State) (plan.Change, error) { return c, nil }
	}
	add := func(paths ...string) event {
		c := plan.Change{Subject: "x"}
		for _, p := range paths {
			c.Add = append(c.Add, plan.Entry{Path: p, Data: []byte(p)})
		}
		return change(c)
	}
	for _, tt := range []struct {
		name string
		ev   event
		want string
	}{
		{"existing path", add("notes/0001-decisions.md"), "notes/0001-decisions.md is there already"},
		{"existing directory", add("notes"), "notes is there already"},
		{"below a file", add("notes/0001-decisions.md/x"), "notes/0001-decisions.md is there already"},
		{"twice", add("notes/2", "notes/2"), "notes/2 is there already"},
		{"below itself", add("notes/2", "notes/2/x"), "is below the new path"},
		{"plan.json", add("plan.json"), "plan.json is no record"},
		{"parent", add("notes/../x"), "component .."},
		{"empty component", add("notes//x"), "empty component"},
		{"absolute", add("/x"), "empty component"},
		{"dot git", add("notes/.GIT/x"), "stands for .git"},
		{"nothing", add(), "adds nothing"},
		{"missing object", change(plan.Change{Subject: "x", Add: []plan.Entry{
			{Path: "notes/f", OID: "1111111111111111111111111111111111111111"}}}), "there is no file or tree"},
		{"no subject", change(plan.Change{Add: []plan.Entry{{Path: "notes/3"}}}), "no subject"},
		{"trailer of two lines", change(plan.Change{Subject: "x", Add: []plan.Entry{{Path: "notes/3"}},
			Trailers: []plan.Trailer{{Key: "Wf-Agent", Value: "a\nWf-Verdict: APPROVED"}}}), "is not one line"},
		{"refused", func(*plan.State) (plan.Change, error) { return plan.Change{}, errors.New("not now") }, "not now"},
	} {
		before := git(t, dir, "for-each-ref")
		_, err := s.Append(ctx, testID, tt.ev, AppendOptions{Now: testNow})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if after := git(t, dir, "for-each-ref"); after != before {
			t.Errorf("%s: refs changed", tt.name)
		}
	}
	if _, err := s.Append(ctx, testID, begin(testID, 1), AppendOptions{Now: testNow, Create: true}); !errors.Is(err,
		ErrPlanExists) {
		t.Errorf("second begin: %v", err)
	}
	if _, err := s.Append(ctx, "WFS-other", begin("WFS-other", 1), AppendOptions{Now: testNow}); !errors.Is(err,
		ErrNoPlan) {
		t.Errorf("no plan: %v", err)
	}
	if _, err := s.Snapshot(ctx, "../../heads/main"); !errors.Is(err, ErrNoPlan) {
		t.Errorf("hostile id: %v", err)
	}
	sound(t, dir)
}

func TestAppendRaces(t *testing.T) {
	dir := newRepo(t)
	start(t, open(t, dir), testID, 8)
	const writers, each = 8, 5
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[int]int{}
	for w := range writers {
		s := open(t, dir)
		wg.Go(func() {
			for v := 1; v <= each; v++ {
				if _, err := appendVersion(s, testTask(w+1), fmt.Sprintf("%d %d", w, v)); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
				b := s.NewBatch()
				files, _, err := b.AddFiles(map[string][]byte{"f": fmt.Appendf(nil, "%d", w)})
				if err != nil {
					t.Error(err)
				}
				_, err = s.Append(context.Background(), testID, addExactly("IMPL-9", v, files),
					AppendOptions{Now: testNow, Batch: b})
				var refused *plan.RefusedError
				switch {
				case err == nil:
					mu.Lock()
					won[v]++
					mu.Unlock()
				case !errors.As(err, &refused):
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	for v := 1; v <= each; v++ {
		if won[v] != 1 {
			t.Errorf("v%d was written %d times", v, won[v])
		}
	}
	if n := git(t, dir, "rev-list", "--count", "workflow/WFS-shop"); n != fmt.Sprint(1+writers*each+each) {
		t.Errorf("%s commits", n)
	}
	sound(t, dir)
}

// A power cut can leave an empty object file. It must not pass for the object.
func TestAppendMendsEmptyObject(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	b := s.NewBatch()
	oid := b.AddBlob([]byte("the same content"))
	if err := os.MkdirAll(filepath.Dir(s.loosePath(oid)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.loosePath(oid), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := appendVersion(s, "IMPL-1", "the same content"); err != nil {
		t.Fatal(err)
	}
	sound(t, dir)
}

// Without the lock, the compare-and-swap of the ref keeps the history whole.
func TestAppendWithForeignWriter(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	first := start(t, s, testID, 2)
	applied := 0
	ev := event(func(st *plan.State) (plan.Change, error) {
		applied++
		if applied == 1 {
			other := git(t, dir, "commit-tree", "-p", string(first.Commit), "-m", "foreign", string(first.Snapshot.Tree))
			git(t, dir, "update-ref", "refs/workflow/WFS-shop", other)
		}
		return plan.Change{Subject: "ours", Add: []plan.Entry{{Path: "notes/2", Data: []byte("x")}}}, nil
	})
	if _, err := s.Append(context.Background(), testID, ev, AppendOptions{Now: testNow}); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "log", "--format=%s", "workflow/WFS-shop"); got != "ours\nforeign\nbegin" || applied != 2 {
		t.Errorf("log %q after %d tries", got, applied)
	}
	sound(t, dir)
}

// Two `git pack-refs` within a second can leave a file that git, which caches the first one, can't tell from it.
func TestAppendSeesReplacedPackedRefs(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	first := start(t, s, testID, 1)
	git(t, dir, "pack-refs", "--all")
	packed := filepath.Join(s.CommonDir(), "packed-refs")
	start(t, s, "WFS-other", 1) // git has read the file by now
	if _, err := s.Snapshot(context.Background(), testID); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(packed)
	if err != nil {
		t.Fatal(err)
	}
	other := git(t, dir, "commit-tree", "-p", string(first.Commit), "-m", "foreign", string(first.Snapshot.Tree))
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(first.Commit), []byte(other))
	if err := os.WriteFile(packed, text, 0o644); err != nil {
		t.Fatal(err)
	}
	// The same second, size and inode number.
	when := before.ModTime().Truncate(time.Second).Add(time.Duration(before.ModTime().Nanosecond()+1) % time.Second)
	if err := os.Chtimes(packed, when, when); err != nil {
		t.Fatal(err)
	}
	if _, err := appendVersion(s, "IMPL-1", "x"); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "rev-list", "--count", "workflow/WFS-shop"); got != "3" {
		t.Errorf("%s commits: the event was put on a tip that was no longer the newest", got)
	}
}

func TestAppendDuringGC(t *testing.T) {
	dir := newRepo(t)
	start(t, open(t, dir), testID, 4)
	stop := make(chan struct{})
	var cleaner, wg sync.WaitGroup
	cleaner.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, args := range [][]string{{"gc", "-q", "--prune=now"}, {"pack-refs", "--all"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = dir
				cmd.Run() // it may meet a lock
			}
		}
	})
	const writers, each = 2, 20
	for w := range writers {
		s := open(t, dir)
		wg.Go(func() {
			for i := range each {
				if _, err := appendVersion(s, testTask(w+1), fmt.Sprintf("%d %d", w, i)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	cleaner.Wait()
	snap, err := open(t, dir).Snapshot(context.Background(), testID)
	if err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		if n := snap.Records.Of(testTask(w + 1)).Active(); n != each {
			t.Errorf("%s has %d versions", testTask(w+1), n)
		}
	}
	sound(t, dir)
}

// Append rewrites objects that a gc deletes between the flush and the ref update.
func TestAppendRestoresLostObjects(t *testing.T) {
	for _, lost := range []string{"names", "temporary files"} {
		dir := newRepo(t)
		s := open(t, dir)
		start(t, s, testID, 1)
		src := t.TempDir()
		write(t, src, "big", strings.Repeat("0123456789abcdef", 10000))
		b := s.NewBatch()
		files, infos, err := b.AddDir(context.Background(), src, []FileRef{{Path: "big", Mode: modeFile}})
		if err != nil || infos[0].Size != 160000 {
			t.Fatal(infos, err)
		}
		if lost == "names" {
			if err := b.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "prune", "--expire=now")
		if lost == "names" {
			// The batch believes that its objects exist; awaitGC has to find out.
			if _, err := os.Lstat(s.loosePath(infos[0].OID)); !errors.Is(err, fs.ErrNotExist) {
				t.Fatal("git prune left the object")
			}
		}
		if _, err := s.Append(context.Background(), testID, addVersion("IMPL-1", files),
			AppendOptions{Now: testNow, Batch: b}); err != nil {
			t.Fatalf("%s: %v", lost, err)
		}
		sound(t, dir)
	}
}

func TestAppendReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	s.Close()
	before := git(t, dir, "for-each-ref")
	setMode := func(mode fs.FileMode) {
		filepath.WalkDir(filepath.Join(dir, ".git"), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return os.Chmod(p, mode)
			}
			return err
		})
	}
	setMode(0o555)
	defer setMode(0o755)
	s = open(t, dir)
	if _, err := appendVersion(s, "IMPL-1", "x"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("append: %v", err)
	}
	if _, err := s.Snapshot(context.Background(), testID); err != nil {
		t.Errorf("reading: %v", err)
	}
	if after := git(t, dir, "for-each-ref"); after != before {
		t.Error("refs changed")
	}
}
