package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// prune does to the machine's tree what a prune does to a plan's.
func (m *machine) prune(t *rapid.T) []Dropped {
	before, s := m.records(), Derive(m.plan, m.records(), m.claims, m.now)
	keep := rapid.IntRange(1, 3).Draw(t, "keep")
	dropped := before.Dropped(m.plan, keep)
	for _, d := range dropped {
		files := d.Dir() + "/files"
		if m.tree[files] != d.Tree {
			t.Fatalf("%s is %s, not %s", files, m.tree[files], d.Tree)
		}
		delete(m.tree, files)
		m.put(d.Dir() + "/" + StubName(d.Tree))
	}
	for id, r := range before.Tasks {
		ts := s.Tasks[id]
		if ts == nil {
			continue
		}
		for i, a := range r.Artifacts {
			gone := slices.ContainsFunc(dropped, func(d Dropped) bool {
				return d.TaskID == id && d.ArtifactID == VersionID(a.Version)
			})
			if gone && (i >= len(r.Artifacts)-keep || a.Version == ts.Approved ||
				s.VersionVerdict(id, VersionID(a.Version)) == Approved) {
				t.Fatalf("%s %s goes, and must stay", id, VersionID(a.Version))
			}
		}
	}
	after := Derive(m.plan, m.records(), m.claims, m.now)
	for id, ts := range after.Tasks {
		if diff := cmp.Diff(s.Tasks[id], ts, inside); diff != "" {
			t.Fatalf("a prune changes the state of %s: %s", id, diff)
		}
	}
	if diff := cmp.Diff(withoutPruned(before), withoutPruned(m.records())); diff != "" {
		t.Fatalf("a prune changes records: %s", diff)
	}
	if again := m.records().Dropped(m.plan, keep); len(again) > 0 {
		t.Fatalf("pruned twice, the files of %v go", again)
	}
	m.last = fmt.Sprintf("a prune of %d versions", len(dropped))
	return dropped
}

func withoutPruned(r Records) map[TaskID]TaskRecords {
	all := map[TaskID]TaskRecords{}
	for id, t := range r.Tasks {
		c := *t
		c.Pruned = nil
		all[id] = c
	}
	return all
}

// Whatever happens before and after it, a prune changes no status, counter or number, and no event writes to where
// something is.
func TestPruneKeepsTheState(t *testing.T) {
	total := 0
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"version": m.addVersion, "more": m.addVersion, "again": m.addVersion,
			"review": m.addReview, "judge": m.addReview,
			"attempt": m.addAttempt, "retry": m.retry, "graft": m.graft, "write": m.write, "claim": m.claim,
			"prune": func(t *rapid.T) { total += len(m.prune(t)) },
			"":      m.invariants,
		})
	})
	if total == 0 {
		t.Error("no prune took anything")
	}
}

func TestPrunedVersionIsNotJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		if !m.plan.Grafted(PlanTaskID) || m.plan.PlanningOf("IMPL-1") != nil {
			t.Skip("no task to try it on")
		}
		for range 2 {
			m.must(t, NewVersion{Artifact: Artifact{TaskID: "IMPL-1", Tree: m.oid(), Agent: "exec"}})
		}
		begun := m.review(m.state(), "IMPL-1", 1, "bob", Approved, 100)
		a, _ := m.records().Of("IMPL-1").Version(1)
		ran := AddCheck{Checked: Checked{TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: a.Files}}
		dir := TaskID("IMPL-1").Dir() + "/artifacts/v1/"
		delete(m.tree, dir+"files")
		m.put(dir + StubName(a.Files))
		if m.apply(t, begun) || !strings.Contains(m.last, "a prune took them") {
			t.Fatalf("the review of a version whose files are gone: %s", m.last)
		}
		if m.apply(t, ran) {
			t.Fatal("a check of a version whose files are gone was accepted")
		}
		m.must(t, NewVersion{Artifact: Artifact{TaskID: "IMPL-1", Tree: m.oid(), Agent: "exec"}})
		if ts := m.state().Tasks["IMPL-1"]; ts.Active != 3 {
			t.Fatalf("the version after v2 is v%d", ts.Active)
		}
	})
}

func TestDropped(t *testing.T) {
	review := func(n, v int, who string, verdict Verdict) ReviewRecord {
		return ReviewRecord{N: n, Version: v, Score: 95, Reviewer: who, Verdict: verdict}
	}
	tests := []struct {
		name     string
		versions int
		reviews  []ReviewRecord
		keep     int
		want     string
	}{
		{"none", 0, nil, 1, ""},
		{"the newest", 3, nil, 1, "v1 v2"},
		{"more than there are", 3, nil, 9, ""},
		{"never less than one", 2, nil, 0, "v1"},
		{"rejected", 3, []ReviewRecord{review(1, 1, "ann", Rejected)}, 1, "v1 v2"},
		{"approved", 3, []ReviewRecord{review(1, 1, "ann", Approved)}, 1, "v2"},
		{"approved and overturned", 3, []ReviewRecord{review(1, 1, "ann", Approved), review(2, 1, "bob", Rejected)}, 1, "v2"},
		{"rejected and taken back", 3, []ReviewRecord{review(1, 1, "ann", Rejected), review(2, 1, "ann", Approved)}, 1, "v2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &TaskRecords{Reviews: tt.reviews}
			for v := range tt.versions {
				r.Artifacts = append(r.Artifacts, ArtifactRecord{Version: v + 1, Files: OID(fmt.Sprintf("%040x", v+1))})
			}
			p := &Plan{Tasks: []*Task{{TaskID: "IMPL-1", NodeType: Action}}}
			var got []string
			for _, d := range (Records{Tasks: map[TaskID]*TaskRecords{"IMPL-1": r}}).Dropped(p, tt.keep) {
				got = append(got, d.ArtifactID)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("goes %q, want %q", s, tt.want)
			}
		})
	}
}

func TestStubNames(t *testing.T) {
	oid, other := OID(strings.Repeat("1f", 20)), OID(strings.Repeat("2e", 20))
	tests := []struct {
		name          string
		paths         []string
		version       string // the tree of v1, or none
		pruned, alien int
	}{
		{"pruned", []string{"artifacts/v1/artifact.json", "artifacts/v1/" + StubName(oid)}, string(oid), 1, 0},
		{"a stub beside files", []string{"artifacts/v1/artifact.json", "artifacts/v1/files", "artifacts/v1/" + StubName(oid)},
			"of files", 0, 1},
		{"two stubs", []string{"artifacts/v1/artifact.json", "artifacts/v1/" + StubName(oid), "artifacts/v1/" +
			StubName(other)}, string(oid), 1, 1},
		{"a stub alone", []string{"artifacts/v1/" + StubName(oid)}, "", 0, 1},
		{"no object id", []string{"artifacts/v1/artifact.json", "artifacts/v1/pruned-x"}, "", 0, 2},
		{"of no version", []string{"artifacts/v01/artifact.json", "artifacts/v01/" + StubName(oid)}, "", 0, 2},
		{"elsewhere", []string{"reviews/r1-v1-90-ann/" + StubName(oid)}, "", 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var names []Name
			for _, p := range tt.paths {
				names = append(names, Name{p, "of files"})
			}
			r := ParseTaskRecords(names)
			a, _ := r.Version(1)
			if string(a.Files) != tt.version || len(r.Pruned) != tt.pruned || len(r.Foreign) != tt.alien {
				t.Errorf("v1 is %q, pruned %v, foreign %v", a.Files, r.Pruned, r.Foreign)
			}
		})
	}
}

func TestPruneDirs(t *testing.T) {
	id := strings.Repeat("0a", 20)
	for name, want := range map[string]int{
		"0001-" + id: 1, "12345-" + id: 12345, "0000-" + id: 0, "1-" + id: 0, "0001-x": 0, "0001": 0, "00010-" + id: 0,
		"0001-" + strings.ToUpper(id): 0, "": 0,
	} {
		if n, _, ok := ParsePruneDir(name); ok != (want > 0) || ok &&
			(n != want || (PruneDocument{Archive: OID(id)}).Dir(n) != PrunedDir+"/"+name) {
			t.Errorf("%q is read as %d, %v", name, n, ok)
		}
	}
}
