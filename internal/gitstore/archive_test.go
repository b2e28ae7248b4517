package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// prune prunes the test plan.
func prune(t testing.TB, s *Store, keep int) plan.PruneDocument {
	t.Helper()
	doc, _, err := s.Prune(context.Background(), testID, keep, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// addReview adds a review by name only.
func addReview(task plan.TaskID, n, version int, verdict plan.Verdict) event {
	return func(s *plan.State) (plan.Change, error) {
		v, _ := s.Records.Of(task).Version(version)
		rec := plan.ReviewRecord{N: n, Version: version, Score: 100, Reviewer: "checks", Verdict: verdict}
		dir := task.Dir() + "/" + rec.Dir()
		return plan.Change{Subject: "review", Trailers: []plan.Trailer{{Key: "Wf-Event", Value: "review"}}, Add: []plan.Entry{
			{Path: dir + "/" + verdict.File(), Data: []byte("# " + verdict + "\n")},
			{Path: dir + "/review.json", Data: plan.Document(plan.Review{ReviewID: fmt.Sprint("r", n), TaskID: task,
				CheckTaskID: task.CheckID(), ReviewedArtifactID: plan.VersionID(version), Tree: v.Files, Verdict: verdict, Score: 100,
				MinScore: s.MinScore(task), Reviewer: "checks", CreatedAt: plan.Second(testNow), SpecHash: s.Tasks[task].SpecHash(),
				Criteria: []plan.CriterionResult{{ID: "A1", Severity: plan.Must, Result: plan.ResultPass}}})},
		}}, nil
	}
}

func must(t testing.TB, s *Store, ev plan.Event) {
	t.Helper()
	if _, err := s.Append(context.Background(), testID, ev, AppendOptions{Now: testNow}); err != nil {
		t.Fatal(err)
	}
}

func versions(t testing.TB, s *Store, task plan.TaskID, contents ...string) {
	t.Helper()
	for _, c := range contents {
		if _, err := appendVersion(s, task, c); err != nil {
			t.Fatal(err)
		}
	}
}

// A second prune continues from the first, and one ref keeps both histories.
func TestPruneTwice(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 2)
	versions(t, s, "IMPL-1", "one", "two", "three")
	must(t, s, addReview("IMPL-1", 1, 1, plan.Approved))
	must(t, s, addReview("IMPL-1", 2, 2, plan.Rejected))
	versions(t, s, "IMPL-1", "four")
	first := prune(t, s, 1)
	if got := droppedText(first); got != "IMPL-1 v2, IMPL-1 v3" {
		t.Fatalf("the files of %s went", got)
	}
	versions(t, s, "IMPL-1", "five", "six")
	second := prune(t, s, 1)
	if got := droppedText(second); got != "IMPL-1 v4, IMPL-1 v5" {
		t.Fatalf("the files of %s went", got)
	}
	if _, _, err := s.Prune(ctx, testID, 1, testNow); !errors.Is(err, ErrNothingToPrune) {
		t.Errorf("a third prune at once: %v", err)
	}
	commits := strings.Fields(git(t, dir, "rev-list", string(first.Archive), string(second.Archive)))
	if len(commits) != first.Events+second.Events {
		t.Errorf("%d commits are archived, the prunes say %d and %d", len(commits), first.Events, second.Events)
	}
	git(t, dir, "merge-base", "--is-ancestor", string(first.Archive), ArchiveRefName(testID))
	sound(t, dir)
}

func droppedText(d plan.PruneDocument) string {
	var all []string
	for _, v := range d.Dropped {
		all = append(all, string(v.TaskID)+" "+v.ArtifactID)
	}
	return strings.Join(all, ", ")
}

// A recorded event stays, even if another process prunes at the same time.
func TestPruneDuringWrites(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	const writers, each = 3, 8
	start(t, s, testID, writers)
	commits := make(chan plan.OID, writers*each)
	var wg sync.WaitGroup
	for w := range writers {
		own := open(t, dir)
		wg.Go(func() {
			for i := range each {
				done, err := appendVersion(own, testTask(w+1), fmt.Sprintf("%d of %d", i, w))
				if err != nil {
					t.Error(err)
					return
				}
				commits <- done.Commit
			}
		})
	}
	own := open(t, dir)
	wg.Go(func() {
		for range 5 {
			_, _, err := own.Prune(context.Background(), testID, 2, testNow)
			if err != nil && !errors.Is(err, ErrNothingToPrune) {
				t.Error(err)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	wg.Wait()
	close(commits)
	snap, err := open(t, dir).Snapshot(context.Background(), testID)
	if err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		if r := snap.Records.Of(testTask(w + 1)); r.Active() != each || len(r.Artifacts) != each {
			t.Errorf("%s has v%d, of %d versions", testTask(w+1), r.Active(), len(r.Artifacts))
		}
	}
	all := strings.Fields(git(t, dir, "rev-list", RefName(testID), ArchiveRefName(testID)))
	for c := range commits {
		if !slices.Contains(all, string(c)) {
			t.Errorf("%s was reported and is in no history", c)
		}
	}
	sound(t, dir)
}

// If one ref can't move, neither does, and the plan goes on as before.
func TestPruneMovesBothRefsOrNone(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	versions(t, s, "IMPL-1", "one", "two")
	inTheWay := ArchiveRefName(testID) + "/x" // git can't keep a ref of this name next to the archive's
	git(t, dir, "update-ref", inTheWay, "HEAD")
	before := git(t, dir, "for-each-ref")
	if _, _, err := s.Prune(context.Background(), testID, 1, testNow); err == nil {
		t.Error("the archive's ref can't be made, and the prune succeeded")
	}
	if after := git(t, dir, "for-each-ref"); after != before {
		t.Errorf("refs moved:\n%s\nwere\n%s", after, before)
	}
	git(t, dir, "update-ref", "-d", inTheWay)
	versions(t, s, "IMPL-1", "three")
	prune(t, s, 1)
}

// git may be killed between two ref updates; the next command finishes the prune.
func TestPruneGoesOnAfterAKill(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	versions(t, s, "IMPL-1", "one", "two")
	tip := git(t, dir, "rev-parse", RefName(testID))
	git(t, dir, "update-ref", ArchiveRefName(testID), tip) // the archive's ref moves first
	prune(t, s, 1)
	if got := git(t, dir, "rev-parse", ArchiveRefName(testID)); got != tip {
		t.Errorf("the archive is %s, not the tip that was pruned", got)
	}
	// The same with an event after the kill, in a plan that was pruned before.
	versions(t, s, "IMPL-1", "three")
	git(t, dir, "update-ref", ArchiveRefName(testID), git(t, dir, "commit-tree", "-m", "join", "-p", RefName(testID), "-p",
		tip, RefName(testID)+"^{tree}"))
	versions(t, s, "IMPL-1", "four")
	last := prune(t, s, 1)
	for _, c := range []string{tip, string(last.Archive)} {
		git(t, dir, "merge-base", "--is-ancestor", c, ArchiveRefName(testID))
	}
	sound(t, dir)
}

// An archive that is given up is gone with the next gc, and can be given up only once.
func TestGiveUp(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 1)
	versions(t, s, "IMPL-1", "one", "two")
	doc := prune(t, s, 1)
	gone, err := s.GiveUp(ctx, testID)
	if err != nil || gone != doc.Archive {
		t.Fatalf("gave up %s, %v", gone, err)
	}
	git(t, dir, "gc", "-q", "--prune=now")
	if here, err := open(t, dir).HasWhole(ctx, gone); here || err != nil {
		t.Errorf("the archive is still here: %v", err)
	}
	if _, err := s.GiveUp(ctx, testID); !errors.Is(err, ErrNoArchive) {
		t.Errorf("given up twice: %v", err)
	}
	sound(t, dir)
}

// A prune writes the same tree wherever it runs.
func TestPruneTreeFollowsFromTheHistory(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	versions(t, s, "IMPL-1", "one", "two", "three")
	doc := prune(t, s, 2)
	clean := open(t, dir)
	tree, err := clean.PruneTree(context.Background(), clean.NewBatch(), doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "rev-parse", RefName(testID)+"^{tree}"); got != string(tree) {
		t.Errorf("the tree is %s, made again it is %s", got, tree)
	}
	doc.Keep = 1
	if other, err := s.PruneTree(context.Background(), s.NewBatch(), doc); err != nil || other == tree {
		t.Errorf("another choice makes %s, %v", other, err)
	}
}

// A prune keeps nothing of an event, and a gc frees what only the archive reaches.
func TestPruneFrees(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a long history")
	}
	dir := newRepo(t)
	s := open(t, dir)
	const events = 1500
	start(t, s, testID, 1)
	var in bytes.Buffer
	tip := git(t, dir, "rev-parse", RefName(testID))
	for i := range events {
		fmt.Fprintf(&in, "commit %s\ncommitter Ada <ada@example.com> %d +0000\ndata 7\nattempt\n", RefName(testID),
			1800000000+i)
		if i == 0 {
			fmt.Fprintf(&in, "from %s\n", tip)
		}
		fmt.Fprintf(&in, "M 100644 inline %s/attempts/a%d-error.json\ndata 3\n{}\n\n", plan.TaskID("IMPL-1").Dir(), i+1)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	size := func() int64 {
		git(t, dir, "reflog", "expire", "--all", "--expire=now", "--expire-unreachable=now")
		git(t, dir, "repack", "-a", "-d", "-q")
		git(t, dir, "prune", "--expire=now")
		packs, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.pack"))
		if err != nil || len(packs) != 1 {
			t.Fatalf("packs %v, %v", packs, err)
		}
		st, err := os.Stat(packs[0])
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	before := size()
	prune(t, s, 1)
	both := size()
	git(t, dir, "update-ref", "-d", ArchiveRefName(testID))
	after := size()
	t.Logf("%d events: %d bytes, with the archive %d, without %d; an event took %d bytes and takes %d",
		events, before, both, after, before/events, (both-before)/events)
	if each := (both - before) / events; each > 4 {
		t.Errorf("a prune keeps %d bytes of an event", each)
	}
	if after >= before {
		t.Errorf("nothing was freed: %d of %d bytes are left", after, before)
	}
}
