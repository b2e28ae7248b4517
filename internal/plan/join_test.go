package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// joinYAML has a task for each way in which one can depend on another.
const joinYAML = `title: Join
tasks:
  - {task_id: A-1, title: First, estimated_person_days: 1, deliverable_spec: {filename: a.md},
     acceptance_criteria: [{id: A1, statement: a.md has 3 lines}]}
  - {task_id: B-1, title: Second, estimated_person_days: 1, depends_on: [A-1], deliverable_spec: {filename: b.md},
     acceptance_criteria: [{id: A1, statement: b.md has 3 lines}]}
  - {task_id: C-1, title: Third, estimated_person_days: 1, depends_on: [B-1], deliverable_spec: {filename: c.md},
     acceptance_criteria: [{id: A1, statement: c.md has 3 lines}]}
  - task_id: GOAL-2
    title: Parts
    tasks:
      - {task_id: D-1, title: Fourth, estimated_person_days: 1, deliverable_spec: {filename: d.md},
         acceptance_criteria: [{id: A1, statement: d.md has 3 lines}]}
`

// history is a history: its plan and what its tree holds, by path.
type history struct {
	plan   *Plan
	tree   map[string]OID
	events [][]string
}

func historyOf(plan *Plan, paths ...string) history {
	s := history{plan: plan, tree: map[string]OID{}}
	for _, p := range paths {
		s.add(p)
	}
	return s
}

// add adds "TASK/record" or "TASK/record=content", or the same of the top.
func (s *history) add(path string) {
	path, content, _ := strings.Cut(path, "=")
	if id, name, ok := strings.Cut(path, "/"); ok && TaskID(id).Valid() {
		path = TaskID(id).Dir() + "/" + name
	}
	s.tree[path] = OID(fmt.Sprintf("%040x", len(path)) + content)
}

func (s history) state() (*State, OID) {
	var session, notes []string
	for path := range s.tree {
		if name, ok := strings.CutPrefix(path, SessionDir+"/"); ok {
			session = append(session, name)
		}
		if name, ok := strings.CutPrefix(path, NotesDir+"/"); ok {
			notes = append(notes, name)
		}
	}
	text, err := json.Marshal(s.plan)
	if err != nil {
		panic(err)
	}
	return Derive(s.plan, Records{}.WithSession(session, notes), nil, time.Time{}), OID(text)
}

func joining(base, first, second history) Joining {
	in := Joining{Events: second.events}
	var plans [3]OID
	in.First, plans[0] = first.state()
	in.Second, plans[1] = second.state()
	_, plans[2] = base.state()
	in.SamePlan = plans[0] == plans[1]
	paths := map[string]JoinPath{}
	for i, tree := range []map[string]OID{base.tree, first.tree, second.tree} {
		for path, oid := range tree {
			p := paths[path]
			p.Path = path
			*[]*OID{&p.Base, &p.First, &p.Second}[i] = oid
			paths[path] = p
		}
	}
	paths[planJSON] = JoinPath{planJSON, plans[0], plans[1], plans[2]}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if p := paths[path]; p.First != p.Second {
			in.Paths = append(in.Paths, p)
		}
	}
	return in
}

func TestJoin(t *testing.T) {
	draft, err := ParseValid("join.yaml", []byte(joinYAML))
	if err != nil {
		t.Fatal(err)
	}
	other := *draft
	other.Tasks = slices.Clone(draft.Tasks)
	for i, task := range other.Tasks {
		if task.TaskID == "A-1" {
			changed := *task
			changed.Description = "other"
			other.Tasks[i] = &changed
		}
	}
	stricter := *draft
	stricter.Config.MinScore = 95
	without := *draft
	without.Tasks = slices.DeleteFunc(slices.Clone(draft.Tasks), func(t *Task) bool { return t.TaskID == "C-1" })
	v1 := func(id string) []string {
		return []string{id + "/artifacts/v1/artifact.json", id + "/artifacts/v1/files"}
	}
	const stub = "A-1/artifacts/v1/pruned-"
	filesOID := historyOf(nil, "A-1/artifacts/v1/files").tree[TaskID("A-1").Dir()+"/artifacts/v1/files"]
	tests := map[string]struct {
		base, first, second history
		events              [][]string
		want                string // what is added, then what is aside
	}{
		"artifacts, reviews, checks, attempts, logs, resets, landings, feasibility, waivers, holds": {
			second: historyOf(draft, append(v1("A-1"), "A-1/reviews/r1-v1-95-ann/APPROVED.md", "A-1/checks/k1-v1.json",
				"A-1/attempts/a1-error.json", "A-1/attempts/a1.log", "A-1/resets/s1-a1-r0.json",
				"A-1/landings/l1-v1-landed.json", "A-1/waivers/w1-v1-A1.json", "A-1/holds/h1-v1-B-1-v1.json")...),
			want: "A-1/artifacts/v1/artifact.json A-1/artifacts/v1/files A-1/attempts/a1-error.json A-1/attempts/a1.log " +
				"A-1/checks/k1-v1.json A-1/holds/h1-v1-B-1-v1.json A-1/landings/l1-v1-landed.json " +
				"A-1/resets/s1-a1-r0.json A-1/reviews/r1-v1-95-ann/APPROVED.md A-1/waivers/w1-v1-A1.json",
		},
		"questions, answers, inputs": {
			second: historyOf(draft, "D-1/answers/q1.json", "D-1/inputs/logo/1.json", "D-1/questions/q1.json"),
			want:   "D-1/answers/q1.json D-1/inputs/logo/1.json D-1/questions/q1.json",
		},
		"both": {
			first:  historyOf(draft, v1("A-1")...),
			second: historyOf(draft, "A-1/artifacts/v1/artifact.json=mine", "D-1/attempts/a1-error.json"),
			want:   "D-1/attempts/a1-error.json; A-1 both",
		},
		"the same alone": {first: historyOf(draft, v1("A-1")...), second: historyOf(draft, v1("A-1")...)},
		"the first is part of it": {
			first: historyOf(draft, v1("A-1")...), second: historyOf(draft, append(v1("A-1"),
				"A-1/checks/k1-v1.json")...),
			want: "A-1/checks/k1-v1.json",
		},
		"not in the plan": {
			first: historyOf(&without), second: historyOf(draft, v1("C-1")...), want: "; C-1 not-in-plan",
		},
		"another definition": {
			first: historyOf(&other), second: historyOf(draft, append(v1("A-1"), v1("D-1")...)...),
			want: "D-1/artifacts/v1/artifact.json D-1/artifacts/v1/files; A-1 definition",
		},
		"another config": {first: historyOf(&stricter), second: historyOf(draft, v1("D-1")...),
			want: "; D-1 definition"},
		"a plan changed": {second: historyOf(&other, v1("D-1")...),
			want: "D-1/artifacts/v1/artifact.json D-1/artifacts/v1/files; plan.json decision"},
		"marks": {
			second: historyOf(draft, "A-1/marks/0001-abandoned.json", "D-1/checks/k1-v1.json"),
			want:   "D-1/checks/k1-v1.json; A-1 decision",
		},
		"orders":    {second: historyOf(draft, "A-1/orders/o1-d1-b0-a0.json"), want: "; A-1 decision"},
		"decisions": {second: historyOf(draft, "A-1/acts/v1-a0-finish.json"), want: "; A-1 decision"},
		"verdicts, with all tasks of their event": {
			second: historyOf(draft, "A-1/reviews/r1-v1-95-D-1/review.json", "D-1/acts/v1-a0-verdicts.json"),
			events: [][]string{{"A-1/reviews/r1-v1-95-D-1/review.json", "D-1/acts/v1-a0-verdicts.json"}},
			want:   "A-1/reviews/r1-v1-95-D-1/review.json D-1/acts/v1-a0-verdicts.json",
		},
		"verdicts, and one is aside": {
			first:  historyOf(draft, "A-1/attempts/a1-error.json"),
			second: historyOf(draft, "A-1/reviews/r1-v1-95-D-1/review.json", "D-1/acts/v1-a0-verdicts.json"),
			events: [][]string{{"A-1/reviews/r1-v1-95-D-1/review.json", "D-1/acts/v1-a0-verdicts.json"}},
			want:   "; A-1 both; D-1 event",
		},
		"made from what is aside": {
			first:  historyOf(draft, v1("A-1")...),
			second: historyOf(draft, append(v1("B-1"), "A-1/artifacts/v1/artifact.json=mine")...),
			want:   "; A-1 both; B-1 input",
		},
		"through others": {
			first:  historyOf(draft, append(v1("B-1"), "A-1/attempts/a1-error.json")...),
			second: historyOf(draft, append(append(v1("B-1"), v1("C-1")...), "A-1/attempts/a1-error.json=mine")...),
			want:   "; A-1 both; C-1 input",
		},
		"handed in for the GOAL": {
			first:  historyOf(draft, "GOAL-2/inputs/logo/1.json"),
			second: historyOf(draft, append(v1("D-1"), "GOAL-2/inputs/logo/1.json=mine")...),
			want:   "; D-1 input; GOAL-2 both",
		},
		"session": {
			second: historyOf(draft, "session/0001-paused.json", "A-1/checks/k1-v1.json"),
			want:   "A-1/checks/k1-v1.json; session/0001-paused.json decision",
		},
		"completed by the first": {
			first: historyOf(draft, "session/0001-completed.json"), second: historyOf(draft,
				v1("A-1")...), want: "; A-1 completed",
		},
		"completed by the second": {
			second: historyOf(draft, append(v1("A-1"), "session/0001-completed.json")...),
			want:   "A-1/artifacts/v1/artifact.json A-1/artifacts/v1/files; session/0001-completed.json decision",
		},
		"replan and graft": {
			second: historyOf(&other, append(v1("D-1"), "A-1/questions/q1.json")...),
			events: [][]string{{"A-1/questions/q1.json", planJSON}},
			want:   "D-1/artifacts/v1/artifact.json D-1/artifacts/v1/files; A-1 definition; plan.json decision",
		},
		"a graft whose task stayed the same": {
			second: historyOf(&other, "D-1/questions/q1.json"), events: [][]string{{"D-1/questions/q1.json", planJSON}},
			want: "; D-1 decision; plan.json decision",
		},
		"notes": {
			base: historyOf(draft, "notes/0001-debt.md"), first: historyOf(draft, "notes/0001-debt.md",
				"notes/0002-debt.md=theirs"),
			second: historyOf(draft, "notes/0001-debt.md", "notes/0002-issues.md=mine", "notes/0003-debt.md=too"),
			want:   "notes/0003-debt.md notes/0004-issues.md",
		},
		"a note that the first has under another number": {
			first: historyOf(draft, "notes/0001-debt.md=mine", "notes/0002-issues.md=too"), second: historyOf(draft,
				"notes/0001-issues.md=too"),
		},
		"doctor": {second: historyOf(draft, "doctor/20260304T050607Z-0123456789ab.json"),
			want: "doctor/20260304T050607Z-0123456789ab.json"},
		"masked by the first": {
			base: historyOf(draft, "A-1/attempts/a1.log"), first: historyOf(draft, "A-1/attempts/a1.log=masked"),
			second: historyOf(draft, "A-1/attempts/a1.log",
				"A-1/attempts/a2-error.json"), want: "A-1/attempts/a2-error.json",
		},
		"masked by the second": {
			base: historyOf(draft, "A-1/attempts/a1.log"), first: historyOf(draft, "A-1/attempts/a1.log"),
			second: historyOf(draft, "A-1/attempts/a1.log=masked", "A-1/attempts/a2-error.json"),
			want:   "A-1/attempts/a2-error.json; A-1/attempts/a1.log masked",
		},
		"pruned by the first": {
			base: historyOf(draft, v1("A-1")...), first: historyOf(draft, "A-1/artifacts/v1/artifact.json",
				stub+string(filesOID), "pruned/0001-1/prune.json"),
			second: historyOf(draft, append(v1("A-1"), "A-1/artifacts/v2/files")...), want: "A-1/artifacts/v2/files",
		},
		"pruned, and the files are others": {
			base: historyOf(draft, v1("A-1")...), first: historyOf(draft, "A-1/artifacts/v1/artifact.json",
				stub+strings.Repeat("7", 40)),
			second: historyOf(draft, v1("A-1")...), want: "; A-1 both",
		},
		"nobody's": {second: historyOf(draft, "other/file"), want: "; other/file decision"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, s := range []*history{&test.base, &test.first, &test.second} {
				if s.plan == nil {
					*s = historyOf(draft)
				}
			}
			for _, e := range test.events {
				s := historyOf(draft)
				for _, path := range e {
					s.add(path)
				}
				test.second.events = append(test.second.events, slices.Sorted(maps.Keys(s.tree)))
			}
			c, aside := Join(joining(test.base, test.first, test.second))
			var added, left []string
			for _, e := range c.Add {
				added = append(added, shortPath(e.Path))
			}
			for _, a := range aside {
				left = append(left, cmp.Or(string(a.TaskID), shortPath(a.Paths[0]))+" "+a.Code)
			}
			slices.Sort(left)
			slices.Sort(added)
			got := strings.Join(append([]string{strings.Join(added, " ")}, left...), "; ")
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func shortPath(path string) string {
	if id, rest, ok := SplitPath(path); ok {
		return string(id) + "/" + rest
	}
	return path
}

// clone is the same machine, from where it goes its own way.
func (m *machine) clone(ids int) *machine {
	own := *m
	own.tree, own.claims, own.log, own.nextID = maps.Clone(m.tree), Claims{}, nil, m.nextID+ids
	return &own
}

func (m *machine) history() history {
	s := history{plan: m.plan, tree: m.tree}
	for _, l := range m.log {
		s.events = append(s.events, l.wrote)
	}
	return s
}

// steps lets something happen, a few times.
func (m *machine) steps(t *rapid.T, most int) {
	actions := []func(*rapid.T){m.addVersion, m.addVersion, m.addReview, m.addReview, m.addAttempt, m.addCheck, m.retry,
		m.stillHolds, m.graft, m.ask, m.answer, m.handIn, m.replan}
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		rapid.SampledFrom(actions).Draw(t, "step")(t)
	}
}

// interleave is the machine after the events of two clones, each in its order; nil if no order is legal.
func (m *machine) interleave(t *rapid.T, first, second []logged, failed map[[2]int]bool) *machine {
	if len(first)+len(second) == 0 {
		return m
	}
	at := [2]int{len(first), len(second)}
	for i, of := range [][]logged{second, first} {
		if len(of) == 0 || failed[at] {
			continue
		}
		next := m.clone(1 << 10)
		if !next.apply(t, of[0].event) || !slices.Equal(next.log[0].wrote, of[0].wrote) {
			continue
		}
		var end *machine
		if i == 0 {
			end = next.interleave(t, first, second[1:], failed)
		} else {
			end = next.interleave(t, first[1:], second, failed)
		}
		if end != nil {
			return end
		}
	}
	failed[at] = true
	return nil
}

// A join loses nothing of the first history, reports what it loses of the second, and is what one clone could have
// recorded alone.
func TestJoinOfHistories(t *testing.T) {
	kept, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		base := newMachine(t)
		base.steps(t, 12)
		f, s := base.clone(0), base.clone(1<<16)
		f.steps(t, 20)
		s.steps(t, 30)
		in := joining(base.history(), f.history(), s.history())
		c, aside := Join(in)
		slices.Reverse(in.Events)
		if again, left := Join(in); gocmp.Diff(c, again) != "" || gocmp.Diff(aside, left) != "" {
			t.Fatal("joined again, the histories yield something else")
		}
		if same, left := Join(joining(base.history(), f.history(), f.history())); len(same.Add) > 0 || len(left) > 0 {
			t.Fatalf("a history joined with itself: %v, aside %v", same.Add, left)
		}
		told, added := map[string]bool{planJSON: true}, map[string]bool{}
		tree := maps.Clone(f.tree)
		for _, e := range c.Add {
			if tree[e.Path] != "" || s.tree[e.Path] != e.OID {
				t.Fatalf("%s is in the first history, or another in the second", e.Path)
			}
			tree[e.Path], told[e.Path], added[e.Path] = e.OID, true, true
		}
		for _, a := range aside {
			for _, path := range a.Paths {
				if told[path] && path != planJSON || s.tree[path] == "" && path != planJSON {
					t.Fatalf("%s is aside, and joined, twice aside, or not there", path)
				}
				told[path] = true
			}
		}
		for path, oid := range s.tree {
			if f.tree[path] != oid && !told[path] {
				t.Fatalf("nobody learns of %s", path)
			}
		}
		var events []logged
		for _, l := range s.log {
			all++
			if slices.ContainsFunc(l.wrote, func(p string) bool { return added[p] }) {
				events, kept = append(events, l), kept+1
			}
		}
		linear := base.interleave(t, f.log, events, map[[2]int]bool{})
		if linear == nil {
			t.Fatalf("no clone could have recorded this: %v\nafter %v", events, f.log)
		}
		if diff := gocmp.Diff(slices.Sorted(maps.Keys(linear.tree)), slices.Sorted(maps.Keys(tree))); diff != "" {
			t.Fatalf("one clone would have recorded (-): %s", diff)
		}
	})
	t.Logf("%d of %d events joined", kept, all)
}
