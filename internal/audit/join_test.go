package audit

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/secret"
)

// merge makes a commit with several parents.
func merge(r *repotest.Repo, tree string, trailers string, parents ...string) plan.OID {
	args := []string{"commit-tree", "-m", "joined: forged", "-m", trailers}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return plan.OID(r.Git(append(args, tree+"^{tree}")...))
}

// What no join comes to is found by the audit of the plan and of a push.
func TestForgedJoin(t *testing.T) {
	page := newPage(t)
	ctx := context.Background()
	base := page.Mark()
	page.Version("IMPL-2", "exec", map[string]string{"style.css": "second's"}, nil)
	if _, err := page.Store.Append(ctx, repotest.ID, plan.AddAttempt{Attempt: plan.Attempt{TaskID: "IMPL-1",
		Kind: plan.AttemptError, Agent: "exec", CreatedAt: repotest.Now}, Author: plan.Actor{Name: "exec",
		Email: "exec@agents.git-wf.invalid"}}, gitstore.AppendOptions{Now: repotest.Now}); err != nil {
		t.Fatal(err)
	}
	second := page.Git("rev-parse", repotest.Ref)
	page = page.In(t, base)
	page.Version("IMPL-2", "exec", map[string]string{"style.css": "first's"}, nil)
	first := page.Git("rev-parse", repotest.Ref)
	page.Git("update-ref", repotest.Ref, second)
	done, err := page.Store.Join(ctx, repotest.ID, plan.OID(first), repotest.Now)
	if err != nil || len(done.Aside) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	joined := string(done.Tip)
	const ours = "Wf-Event: joined\nWf-Join: 1"
	for _, tt := range []struct {
		name     string
		commit   func() plan.OID
		want     string
		refused  string // of the push, from the first history
		fromThat string // the history that the ref has
	}{
		{"the join", func() plan.OID { return done.Tip }, "", "", first},
		{"pushed to the second", func() plan.OID { return done.Tip }, "", "joined-backwards", second},
		{"the first's tree", func() plan.OID { return merge(page, first, ours, first, second) }, "bad-join", "bad-join", first},
		{"the second's tree", func() plan.OID { return merge(page, second, ours, first, second) },
			"bad-join rewritten", "bad-join rewritten", first},
		{"parents swapped", func() plan.OID { return merge(page, joined, ours, second, first) },
			"bad-join joined-backwards rewritten", "bad-join rewritten", first},
		{"parents and tree swapped", func() plan.OID {
			b := page.Store.NewBatch()
			tree, err := page.Store.JoinTree(ctx, b, repotest.ID, plan.OID(second), plan.OID(first))
			if err == nil {
				err = b.Flush(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			return merge(page, string(tree), ours, second, first)
		}, "joined-backwards", "joined-backwards", first},
		{"from the future", func() plan.OID {
			return merge(page, joined, "Wf-Event: joined\nWf-Join: 2", first, second)
		}, "unknown-join", "unknown-join", first},
		{"without a rule", func() plan.OID { return merge(page, joined, "Wf-Event: joined", first, second) }, "unknown-join",
			"unknown-join", first},
		{"two rules", func() plan.OID { return merge(page, joined, "Wf-Event: joined\nWf-Join: 2\nWf-Join: 1", first, second) },
			"bad-join", "bad-join", first},
		{"three parents", func() plan.OID { return merge(page, joined, ours, first, second, first+"^") }, "bad-join", "bad-join", first},
		{"with its own history", func() plan.OID { return merge(page, first, ours, first, first+"^") },
			"bad-join", "bad-join", first},
		{"no join", func() plan.OID { return merge(page, joined, "Wf-Event: note", first, second) }, "bad-merge", "bad-merge", first},
		{"one parent", func() plan.OID { return merge(page, joined, ours, first) }, "not-an-event", "not-an-event", first},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, base)
			commit := tt.commit()
			r.Git("update-ref", repotest.Ref, string(commit))
			r.Git("update-ref", "refs/workflow-remotes/origin/"+string(repotest.ID), first)
			r.Git("config", "remote.origin.url", "nowhere")
			findings, err := Plan(ctx, r.Open(), repotest.ID, Options{})
			if got := onlyCodes(findings); err != nil || got != tt.want {
				t.Errorf("Plan found %q, %v, want %q", got, err, tt.want)
			}
			for _, f := range findings {
				if tt.want == "unknown-join" {
					continue
				}
				r.Git("update-ref", repotest.Ref, string(commit))
				r.GitIn(f.Mend, "-c", "alias.sh=!sh", "sh")
				if again, err := Plan(ctx, r.Open(), repotest.ID, Options{}); err != nil || len(again) > 0 {
					t.Errorf("after %s: %v, %v", f.Mend, again, err)
				}
			}
			pushed, err := pushed(ctx, r.Open(), plan.OID(tt.fromThat), commit)
			if got := onlyCodes(pushed); err != nil || got != tt.refused {
				t.Errorf("the push is refused with %q, %v, want %q", got, err, tt.refused)
			}
			if err := Sound(ctx, r.Open(), repotest.ID, commit); (err != nil) != (tt.want != "" && tt.want != "joined-backwards") {
				t.Errorf("sound: %v", err)
			}
		})
	}
}

// pushed audits a move as a server does.
func pushed(ctx context.Context, store *gitstore.Store, old, next plan.OID) ([]Finding, error) {
	findings, err := Move(ctx, store, repotest.Ref, old, next)
	if err != nil || len(findings) > 0 {
		return findings, err
	}
	return FirstParents(ctx, store, repotest.ID, old, next)
}

func onlyCodes(findings []Finding) string {
	codes := map[string]bool{}
	for _, f := range findings {
		codes[f.Code] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(codes)), " ")
}

const team = `title: Team
root_acceptance_criteria: [{id: R1, statement: it is there}]
config: {max_attempts: 2}
tasks:
`

// teamPlan has tasks that build on each other in rows of three.
func teamPlan(n int) string {
	var b strings.Builder
	b.WriteString(team)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `  - {task_id: T-%d, title: Task %[1]d, estimated_person_days: 1, covers: [R1], deliverable_spec: {filename: t%[1]d.md},
     acceptance_criteria: [{id: A1, statement: it says something, run: test -s t%[1]d.md}, {id: A2, statement: it is good, severity: SHOULD}]`, i)
		if i%3 != 1 {
			fmt.Fprintf(&b, ", depends_on: [T-%d]", i-1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// happening is what a clone may record; what the plan refuses does not happen.
func happening(ctx context.Context, r *repotest.Repo, rnd *rand.Rand, ids []plan.TaskID, who string, n int) bool {
	snap, err := r.Store.Snapshot(ctx, repotest.ID)
	if err != nil {
		panic(err)
	}
	s := snap.State()
	id := ids[rnd.IntN(len(ids))]
	if ready := slices.DeleteFunc(slices.Clone(ids), func(id plan.TaskID) bool {
		return s.Tasks[id].Status == plan.StatusPending || s.Tasks[id].Status == plan.StatusDone
	}); len(ready) > 0 && rnd.IntN(4) > 0 {
		id = ready[rnd.IntN(len(ready))]
	}
	t, rec := s.Tasks[id], snap.Records.Of(id)
	decision := plan.Decision{By: "Ada", CreatedAt: repotest.Now, Reason: fmt.Sprint(who, n)}
	b := r.Store.NewBatch()
	tree, files, err := b.AddFiles(map[string][]byte{fmt.Sprintf("t%s.md", id[2:]): fmt.Appendf(nil, "%s %d\n", who, n)})
	if err != nil {
		panic(err)
	}
	exec := plan.Actor{Name: "exec", Email: "exec@agents.git-wf.invalid"}
	var ev plan.Event
	switch rnd.IntN(24) {
	default:
		a := plan.Artifact{TaskID: id, Tree: tree, Agent: "exec", CreatedAt: repotest.Now, Inputs: []plan.Input{}, Files: files}
		for _, in := range s.Inputs(id) {
			v, _ := snap.Records.Of(in).Version(s.Tasks[in].Approved)
			a.Inputs = append(a.Inputs, plan.Input{TaskID: in, ArtifactID: plan.VersionID(v.Version), Tree: v.Files})
		}
		if t.Status == plan.StatusReadyToCheck { // it is reviewed instead
			verdict := plan.Approved
			if rnd.IntN(4) == 0 {
				verdict = plan.Rejected
			}
			before := snap.Commit
			r.Review(id, t.Active, "ann", verdict, nil)
			now, _ := r.Store.Tip(ctx, repotest.ID)
			return now != before
		}
		ev = plan.NewVersion{Artifact: a, Author: exec, Notes: []plan.Note{{Category: "learnings", Text: who}}}
	case 8, 9:
		ev = plan.AddAttempt{Attempt: plan.Attempt{TaskID: id, Kind: plan.AttemptError, Agent: "exec", CreatedAt: repotest.Now,
			Message: who}, Log: fmt.Appendf(nil, "%s-%d-of-the-attempts\n", who, n), Author: exec}
	case 10:
		ev = plan.Ask{Attempt: plan.AddAttempt{Attempt: plan.Attempt{TaskID: id, Kind: plan.AttemptNeedsInput, Agent: "exec",
			CreatedAt: repotest.Now}, Author: exec}, Questions: []plan.Question{{TaskID: id, Name: "what", Question: who + "?",
			Kind: plan.AskText, By: "exec", CreatedAt: repotest.Now}}}
	case 11, 12:
		if open := rec.OpenQuestions(); len(open) > 0 {
			ev = plan.AnswerQuestion{Task: id, Number: open[0], Question: plan.Question{Kind: plan.AskText},
				Answer: plan.Answer{TaskID: id, Text: who, By: "Ada", CreatedAt: repotest.Now}}
		}
	case 13:
		ev = plan.HandIn{Task: id, Files: []plan.InputDocument{{Name: "logo", FileName: fmt.Sprintf("t%s.md", id[2:]), Tree: tree,
			SHA256: files[0].SHA256, Size: files[0].Size, By: "Ada", CreatedAt: repotest.Now}}}
	case 14:
		ev = plan.Retry{Task: id, Decision: decision}
	case 15:
		if made, ok := rec.Version(t.Active); ok {
			ev = plan.AddCheck{Author: plan.Actor{Name: "checks", Email: "checks@agents.git-wf.invalid"}, Checked: plan.Checked{
				TaskID: id, ReviewedArtifactID: plan.VersionID(t.Active), Tree: made.Files, CreatedAt: repotest.Now, SpecHash: t.SpecHash(),
				Criteria: []plan.CriterionResult{{ID: "A1", Statement: "it says something", Severity: plan.Must, Result: plan.ResultPass, By: "checks"}}}}
		}
	case 16, 17:
		ev = plan.Note{Category: "issues", Text: fmt.Sprint(who, n), By: "Ada", CreatedAt: repotest.Now}
	case 18:
		ev = plan.Mend{Mended: []plan.Mended{{Code: "scratch", Place: who, Did: fmt.Sprint("removed ", n)}}, By: "Ada", CreatedAt: repotest.Now}
	case 19:
		if ev = plan.Event(plan.Pause{Decision: decision}); s.SessionStatus() == plan.SessionPaused {
			ev = plan.Resume{Decision: decision}
		}
	case 20:
		if ev = plan.Event(plan.Abandon{Task: id, Decision: decision}); t.Status == plan.StatusAbandoned {
			ev = plan.Restore{Task: id, Decision: decision}
		}
	case 21:
		for _, a := range rec.Attempts {
			path := id.Dir() + "/" + a.Log()
			data, err := r.Store.ReadFile(ctx, snap.Commit, path)
			if err != nil {
				continue
			}
			if masked, ok := secret.NewMask([]string{"MY_TOKEN=" + strings.TrimSpace(string(data))}).Record(path, data); ok && masked != nil {
				oid, _ := r.Store.Resolve(ctx, string(snap.Commit)+":"+path)
				ev = secret.MaskRecords{Records: []secret.Masking{{Path: path, OID: oid, Old: data, New: masked}}}
			}
		}
	case 22:
		if rnd.IntN(4) == 0 {
			_, _, err := r.Store.Prune(ctx, repotest.ID, 1, repotest.Now)
			return err == nil
		}
	case 23:
		ev = plan.Replan{Leaf: id, Planner: plan.Planner{Agent: plan.AgentManual, File: "plan.yaml"}}
	}
	if ev == nil {
		return false
	}
	if err := b.Flush(ctx); err != nil {
		panic(err)
	}
	_, err = r.Store.Append(ctx, repotest.ID, ev, gitstore.AppendOptions{Now: repotest.Now})
	return err == nil
}

// Clones that record what they like, and join in turns, lose nothing: what the joined plan lacks was set aside, and
// every other clone computes the same joins. WF_JOINS is the number of histories.
func TestJoinedHistories(t *testing.T) {
	histories, _ := strconv.Atoi(os.Getenv("WF_JOINS"))
	if histories == 0 {
		if histories = 60; testing.Short() {
			histories = 20
		}
	}
	ctx := context.Background()
	r := repotest.New(t)
	const tasks = 7
	r.Plan(teamPlan(tasks))
	base := r.Mark()
	var ids []plan.TaskID
	for i := range tasks {
		ids = append(ids, plan.TaskID(fmt.Sprint("T-", i+1)))
	}
	var events, joins, kept, aside, pruned int
	for history := range histories {
		rnd := rand.New(rand.NewPCG(uint64(history), 1))
		r = r.In(t, base)
		r.Git("for-each-ref", "refs/workflow-archive") // the archives are shared by all clones of this repository
		if r.Git("for-each-ref", gitstore.ArchiveRefName(repotest.ID)) != "" {
			r.Git("update-ref", "-d", gitstore.ArchiveRefName(repotest.ID))
		}
		server := plan.OID(r.Git("rev-parse", repotest.Ref))
		clones := make([]plan.OID, 2+rnd.IntN(2))
		for i := range clones {
			clones[i] = server
		}
		for turn := range 3 * len(clones) {
			i := turn % len(clones)
			r.Git("update-ref", repotest.Ref, string(clones[i]))
			for n := range rnd.IntN(8) {
				if happening(ctx, r, rnd, ids, fmt.Sprintf("h%dc%dt%d", history, i, turn), n) {
					events++
				}
			}
			own := plan.OID(r.Git("rev-parse", repotest.Ref))
			done, err := r.Store.Join(ctx, repotest.ID, server, repotest.Now)
			if err != nil {
				if strings.Contains(err.Error(), "0 newest common commits") {
					pruned++
					clones[i] = server // which its person would do by hand
					continue
				}
				t.Fatalf("history %d: %v", history, err)
			}
			lost := map[string]bool{}
			for _, a := range done.Aside {
				for _, path := range a.Paths {
					lost[path] = true
				}
			}
			aside += len(done.Aside)
			if done.Second != "" {
				joins++
				tree := listing(ctx, t, r, done.Tip)
				for path, oid := range listing(ctx, t, r, server) {
					if tree[path] != oid {
						t.Fatalf("history %d: %s of the server is %s", history, path, tree[path])
					}
				}
				taken := map[plan.OID]bool{}
				for _, oid := range tree {
					taken[oid] = true
				}
				for path, oid := range listing(ctx, t, r, own) {
					told := lost[path]
					for dir := path; strings.Contains(dir, "/"); {
						dir = dir[:strings.LastIndexByte(dir, '/')]
						told = told || lost[dir]
					}
					stub := strings.Contains(path, "/files/") && slices.ContainsFunc(slices.Collect(maps.Keys(tree)), func(p string) bool {
						return strings.HasPrefix(p, path[:strings.Index(path, "/files/")]+"/pruned-")
					})
					if !told && !stub && tree[path] != oid && !(strings.HasPrefix(path, "notes/") && taken[oid]) && !maskedThere(ctx, r, tree[path]) && path != "plan.json" {
						t.Fatalf("history %d: nobody learns of %s", history, path)
					}
					if tree[path] == oid {
						kept++
					}
				}
			}
			if found, err := pushed(ctx, r.Store, server, done.Tip); err != nil || len(found) > 0 {
				t.Fatalf("history %d: the server refuses %+v, %v", history, found, err)
			}
			server, clones[i] = done.Tip, done.Tip
		}
		r.Git("update-ref", repotest.Ref, string(server))
		if found, err := Plan(ctx, r.Open(), repotest.ID, Options{}); err != nil || len(found) > 0 {
			t.Fatalf("history %d: doctor finds %+v, %v", history, found, err)
		}
	}
	t.Logf("%d histories, %d events, %d joins, %d set aside, %d pruned here", histories, events, joins, aside, pruned)
	if joins < histories || aside == 0 {
		t.Error("hardly anything was joined")
	}
}

// maskedThere reports whether a record was masked.
func maskedThere(ctx context.Context, r *repotest.Repo, oid plan.OID) bool {
	data, err := r.Store.ReadBlob(ctx, oid)
	return err == nil && strings.Contains(string(data), "[masked]")
}

func listing(ctx context.Context, t *testing.T, r *repotest.Repo, commit plan.OID) map[string]plan.OID {
	t.Helper()
	entries, err := r.Store.ListTree(ctx, commit)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]plan.OID{}
	for _, e := range entries {
		all[e.Path] = e.OID
	}
	return all
}
