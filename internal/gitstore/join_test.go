package gitstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// clones are two clones of a plan of n tasks.
func clones(t testing.TB, n int) (a, b *Store) {
	t.Helper()
	a = open(t, newRepo(t))
	start(t, a, testID, n)
	b = open(t, newRepo(t))
	git(t, b.dir, "update-ref", RefName(testID), string(fetchFrom(t, b, a)))
	return a, b
}

// fetchFrom fetches what the other clone has of the plan, and its archive.
func fetchFrom(t testing.TB, s, from *Store) plan.OID {
	t.Helper()
	git(t, s.dir, "fetch", "-q", from.dir, "+refs/workflow/*:refs/workflow-remotes/origin/*",
		"+refs/workflow-archive/*:refs/workflow-archive/*")
	return plan.OID(git(t, s.dir, "rev-parse", "refs/workflow-remotes/origin/"+string(testID)))
}

func join(t testing.TB, s *Store, first plan.OID) Joined {
	t.Helper()
	done, err := s.Join(context.Background(), testID, first, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := s.Tip(context.Background(), testID); err != nil || now != done.Tip {
		t.Fatalf("the plan is at %s, %v, after %+v", now, err, done)
	}
	return done
}

func tip(t testing.TB, s *Store) plan.OID {
	t.Helper()
	oid, err := s.Tip(context.Background(), testID)
	if err != nil {
		t.Fatal(err)
	}
	return oid
}

// computedAgain checks that another clone computes the same tree.
func computedAgain(t testing.TB, s *Store, commit plan.OID) {
	t.Helper()
	first, second := git(t, s.dir, "rev-parse", string(commit)+"^1"), git(t, s.dir, "rev-parse", string(commit)+"^2")
	tree, err := s.JoinTree(context.Background(), s.NewBatch(), testID, plan.OID(first), plan.OID(second))
	if want := git(t, s.dir, "rev-parse", string(commit)+"^{tree}"); err != nil || string(tree) != want {
		t.Errorf("computed again it is %s, %v, not %s", tree, err, want)
	}
}

func TestJoinWholeTasks(t *testing.T) {
	a, b := clones(t, 4)
	versions(t, a, "IMPL-1", "one")
	versions(t, a, "IMPL-2", "mine")
	versions(t, b, "IMPL-2", "yours", "again")
	versions(t, b, "IMPL-3", "three")
	own, first := tip(t, b), fetchFrom(t, b, a)
	done := join(t, b, first)
	if got := git(t, b.dir, "log", "-1", "--format=%P%n%B", string(done.Tip)); got != string(first)+" "+string(own)+
		"\njoined: IMPL-3\n\nIMPL-2 was set aside: both worked on it: git wf submit IMPL-2 --from "+string(own[:8])+
		"\n\nWf-Event: joined\nWf-Join: 1" {
		t.Errorf("the join is %s", got)
	}
	if len(done.Aside) != 1 || done.Aside[0].TaskID != "IMPL-2" || done.Aside[0].Code != "both" ||
		len(done.Aside[0].Paths) != 3 || done.Second != own {
		t.Errorf("set aside: %+v", done)
	}
	if got := git(t, b.dir, "diff", "--name-status", string(first), string(done.Tip)); strings.Contains(got, "M\t") ||
		strings.Count(got, "IMPL-3") != 2 || strings.Count(got, "\n") != 1 {
		t.Errorf("the join changes %s", got)
	}
	if got := git(t, b.dir, "show", string(done.Tip)+":"+plan.TaskID("IMPL-2").Dir()+"/artifacts/v1/files/out.txt"); got != "mine" {
		t.Errorf("the first history's version is %q now", got)
	}
	computedAgain(t, a, func() plan.OID { fetchFrom(t, a, b); return done.Tip }())
	if back := join(t, a, done.Tip); back.Second != "" || back.Tip != done.Tip || len(back.Aside) > 0 {
		t.Errorf("the other clone moves to it: %+v", back)
	}
	if again := join(t, b, first); again.Second != "" || again.Tip != done.Tip {
		t.Errorf("what is there is joined again: %+v", again)
	}
	versions(t, a, "IMPL-2", "next")
	versions(t, b, "IMPL-4", "four")
	if done = join(t, b, fetchFrom(t, b, a)); len(done.Aside) > 0 || done.Second == "" {
		t.Errorf("a second join: %+v", done)
	}
	computedAgain(t, b, done.Tip)
	sound(t, a.dir)
	if out := git(t, b.dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Error(out)
	}
}

// What a join writes does not grow with the plan.
func TestJoinCostsWhatDiffers(t *testing.T) {
	var objects []int
	for _, n := range []int{10, 1000} {
		a, b := clones(t, n)
		versions(t, a, "IMPL-1", "one")
		versions(t, b, "IMPL-2", "two")
		first := fetchFrom(t, b, a)
		before := strings.Fields(git(t, b.dir, "count-objects"))[0]
		join(t, b, first)
		objects = append(objects, atoi(t, strings.Fields(git(t, b.dir, "count-objects"))[0])-atoi(t, before))
	}
	if objects[1] > objects[0] || objects[0] > 6 {
		t.Errorf("a join wrote %v objects in plans of 10 and of 1000 tasks", objects)
	}
}

func atoi(t testing.TB, s string) (n int) {
	t.Helper()
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

func TestJoinRefusals(t *testing.T) {
	ctx := context.Background()
	refused := func(t *testing.T, s *Store, first plan.OID, want string) {
		t.Helper()
		before := git(t, s.dir, "for-each-ref")
		_, err := s.Join(ctx, testID, first, testNow)
		var why fault.Fault
		if !errors.As(err, &why) || !strings.Contains(err.Error(), want) {
			t.Fatalf("refused with %v, want %q", err, want)
		}
		if _, hint := why.Exit(); hint == "" {
			t.Errorf("%v: no hint", err)
		}
		if after := git(t, s.dir, "for-each-ref"); after != before {
			t.Errorf("refs moved from\n%s\nto\n%s", before, after)
		}
	}
	merge := func(t *testing.T, s *Store, rule string, parents ...plan.OID) plan.OID {
		args := []string{"commit-tree", "-m", "joined: x", "-m", "Wf-Event: joined\nWf-Join: " + rule}
		for _, p := range parents {
			args = append(args, "-p", string(p))
		}
		return plan.OID(git(t, s.dir, append(args, string(parents[0])+"^{tree}")...))
	}
	t.Run("nothing in common", func(t *testing.T) {
		a, b := open(t, newRepo(t)), open(t, newRepo(t))
		start(t, a, testID, 2)
		start(t, b, testID, 3)
		refused(t, b, fetchFrom(t, b, a), "another plan is called WFS-shop, too")
	})
	t.Run("a rule from the future", func(t *testing.T) {
		a, b := clones(t, 3)
		versions(t, a, "IMPL-1", "one")
		versions(t, b, "IMPL-2", "two")
		x := fetchFrom(t, b, a)
		later := merge(t, b, "2", x, tip(t, b))
		git(t, b.dir, "update-ref", RefName(testID)+"-x", string(later))
		own := tip(t, b)
		versions(t, b, "IMPL-3", "three")
		refused(t, b, later, "nothing recorded in it")
		git(t, b.dir, "update-ref", RefName(testID), string(own))
		git(t, b.dir, "update-ref", RefName(testID), string(later))
		if _, err := appendVersion(open(t, b.dir), "IMPL-3", "x"); err == nil || !strings.Contains(err.Error(),
			"newer") {
			t.Errorf("appended behind such a join: %v", err)
		}
	})
}

// Two clones that joined each other, each as the first, are joined by where they parted along first parents. Neither
// takes a record for a masked one because the other has it otherwise.
func TestJoinCrossed(t *testing.T) {
	a, b := clones(t, 3)
	versions(t, a, "IMPL-1", "one")
	versions(t, b, "IMPL-1", "other")
	versions(t, b, "IMPL-2", "two")
	x, y := fetchFrom(t, b, a), tip(t, b)
	join(t, b, x)
	git(t, a.dir, "fetch", "-q", b.dir, string(y))
	join(t, a, y)
	versions(t, a, "IMPL-1", "other again")
	done := join(t, b, fetchFrom(t, b, a))
	if len(done.Aside) != 1 || done.Aside[0].TaskID != "IMPL-1" || done.Aside[0].Code != "both" {
		t.Errorf("set aside: %+v", done.Aside)
	}
	computedAgain(t, b, done.Tip)
	for version, want := range map[string]string{"v1": "other", "v2": "other again"} {
		file := plan.TaskID("IMPL-1").Dir() + "/artifacts/" + version + "/files/out.txt"
		if got := git(t, b.dir, "show", string(done.Tip)+":"+file); got != want {
			t.Errorf("%s is %q, not %q", file, got, want)
		}
	}
	// What another history has as the second of a join is no part of its own: the remote's tip is joined as the first.
	c, d := clones(t, 3)
	versions(t, c, "IMPL-1", "theirs")
	versions(t, d, "IMPL-1", "mine")
	remote, peer := tip(t, d), fetchFrom(t, d, c)
	join(t, d, peer)
	if done = join(t, d, remote); done.Second == "" || len(done.Aside) != 1 || git(t, d.dir, "rev-parse",
		string(done.Tip)+"^1") != string(remote) {
		t.Errorf("the remote's tip joined: %+v", done)
	}
}

func TestJoinAfterAPrune(t *testing.T) {
	a, b := clones(t, 3)
	versions(t, a, "IMPL-1", "one", "two", "three")
	join(t, b, fetchFrom(t, b, a))
	versions(t, b, "IMPL-2", "mine")
	versions(t, b, "IMPL-1", "four")
	versions(t, a, "IMPL-3", "yours")
	doc := prune(t, a, 1)
	versions(t, a, "IMPL-3", "again")
	done := join(t, b, fetchFrom(t, b, a))
	if len(done.Aside) != 0 || done.Second == "" {
		t.Fatalf("joined %+v", done)
	}
	computedAgain(t, b, done.Tip)
	names := git(t, b.dir, "ls-tree", "-r", "--name-only", string(done.Tip))
	for _, want := range []string{"IMPL-1/artifacts/v1/pruned-", "IMPL-1/artifacts/v4/files",
		"IMPL-2/artifacts/v1/files", "pruned/0001"} {
		if !strings.Contains(names, want) {
			t.Errorf("the tree lacks %s: %s", want, names)
		}
	}
	if strings.Contains(names, "IMPL-1/artifacts/v1/files") {
		t.Errorf("pruned files are back: %s", names)
	}
	// A clone that was behind moves across the prune, and keeps the archive.
	c := open(t, newRepo(t))
	git(t, c.dir, "fetch", "-q", a.dir, string(doc.Archive)+":"+RefName(testID),
		"refs/workflow/*:refs/workflow-remotes/origin/*")
	if done := join(t, c, tip(t, a)); done.Second != "" {
		t.Errorf("joined %+v", done)
	}
	if got, err := c.Ref(context.Background(), ArchiveRefName(testID)); err != nil || got != doc.Archive {
		t.Errorf("the archive is %s, %v", got, err)
	}
	// A prune alone gives way to what others have recorded. What came after it does not.
	d, e := clones(t, 2)
	versions(t, d, "IMPL-1", "one", "two", "three")
	join(t, e, fetchFrom(t, e, d))
	prune(t, e, 1)
	versions(t, d, "IMPL-2", "x")
	if done := join(t, e, fetchFrom(t, e, d)); done.Tip != tip(t, d) {
		t.Errorf("joined %+v", done)
	}
	prune(t, e, 1)
	versions(t, e, "IMPL-1", "after")
	versions(t, d, "IMPL-2", "y")
	first := tip(t, d)
	git(t, e.dir, "fetch", "-q", d.dir, string(first))
	_, err := e.Join(context.Background(), testID, first, testNow)
	var why fault.Fault
	if !errors.As(err, &why) || !strings.Contains(err.Error(), "the plan was pruned here") {
		t.Fatalf("joined what was pruned here: %v", err)
	}
	_, hint := why.Exit()
	git(t, e.dir, "-c", "alias.sh=!sh", "sh", "-c", hint)
	if done := join(t, e, first); done.Second != "" || done.Tip != first {
		t.Errorf("after the prune was taken back: %+v", done)
	}
}

// Many clones that join at once end with one history each time, and lose nothing.
func TestJoinInTurns(t *testing.T) {
	a, b := clones(t, 3)
	server := open(t, newRepo(t))
	git(t, server.dir, "update-ref", RefName(testID), string(fetchFrom(t, server, a)))
	for round := range 4 {
		for i, s := range []*Store{a, b} {
			versions(t, s, testTask(1+(round+i)%3), string(rune('a'+round))+string(rune('x'+i)))
			done := join(t, s, fetchFrom(t, s, server))
			if done.Second != "" {
				computedAgain(t, s, done.Tip)
			}
			git(t, s.dir, "push", "-q", server.dir, RefName(testID)+":"+RefName(testID))
		}
	}
	commits := strings.Fields(git(t, server.dir, "log", "--no-merges", "--format=%H", RefName(testID)))
	if len(commits) != 9 || !slices.Equal(commits[8:], []string{git(t, a.dir, "rev-list", "--max-parents=0",
		RefName(testID))}) {
		t.Errorf("the server has %d events", len(commits))
	}
}
