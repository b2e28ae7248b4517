package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// EventJoined joins two histories of a plan, by the rule that TrailerJoin names: JoinRule, until there is another one.
const EventJoined, TrailerJoin, JoinRule = "joined", "Wf-Join", "1"

// Joining is what a join reads of two histories of a plan: the first is the remote's, the second comes to it.
type Joining struct {
	First, Second *State
	SamePlan      bool       // they have one plan.json
	Paths         []JoinPath // in which their trees differ, in order
	Events        [][]string // of each event that the first lacks, the paths that it wrote
}

// JoinPath is a path of the two trees and of that where they part, with what is there; "" is nothing. A directory that
// only one of them has stands for all below it.
type JoinPath struct {
	Path                string
	First, Second, Base OID
}

// SetAside is a task that a join leaves out, or a record of no task.
type SetAside struct {
	TaskID  TaskID   `json:"task_id,omitempty"`
	Code    string   `json:"code"`
	Why     string   `json:"why"`
	Paths   []string `json:"paths"`             // the second history's records that the joined tree lacks
	Command string   `json:"command,omitempty"` // makes it again
	Made    bool     `json:"made_again,omitempty"`
}

// Has reports whether a path is that of a record that is aside.
func (a SetAside) Has(path string) bool { return slices.Contains(a.Paths, path) }

// String says it in a line, with the command that makes it again.
func (a SetAside) String() string {
	return fmt.Sprintf("%s was set aside: %s: %s", cmp.Or(string(a.TaskID), a.Paths[0]), a.Why, a.Command)
}

// asideWords are the codes of what is set aside, and their words.
func asideWords(code string, of TaskID) string {
	return map[string]string{
		"both": "both worked on it", "not-in-plan": "not in the plan", "definition": "another definition",
		"decision": "decision", "completed": "plan completed", "masked": "secrets are masked here alone",
		"input": "made from " + string(of) + ", which is aside",
		"event": "one event with " + string(of) + ", which is aside",
	}[code]
}

const planJSON = "plan.json"

type join struct {
	Joining
	tasks map[TaskID]*joinTask
	queue []TaskID // tasks that were set aside
	aside []SetAside
}

// joinTask is a task of which the second history has records that the first lacks.
type joinTask struct {
	add     []Entry
	first   bool // the first history has records that the second lacks
	aside   bool
	with    []TaskID // what one event wrote, too
	replans bool     // an event changed plan.json, too
}

// Join is the first history with those tasks of the second that it can have whole, and with its notes. The tree of a
// join is that of the first with the change, and nothing else, so whoever has both can compute it again.
func Join(in Joining) (Change, []SetAside) {
	j := join{Joining: in, tasks: map[TaskID]*joinTask{}}
	add := j.divide()
	names := slices.Sorted(maps.Keys(j.tasks))
	for _, id := range names {
		if code := j.unfit(id); code != "" {
			j.setAside(id, code, "")
		}
	}
	for i := 0; i < len(j.queue); i++ {
		j.spread(j.queue[i])
	}
	kept := slices.DeleteFunc(names, func(id TaskID) bool { return j.tasks[id].aside })
	for _, id := range kept {
		add = append(add, j.tasks[id].add...)
	}
	slices.SortFunc(j.aside, func(x, y SetAside) int { return strings.Compare(x.Paths[0], y.Paths[0]) })
	which := cmp.Or(strings.Trim(fmt.Sprint(kept[:min(len(kept), 5)]), "[]"), "no task")
	return Change{Subject: "joined: " + which, Add: add,
		Trailers: []Trailer{{"Wf-Event", EventJoined}, {TrailerJoin, JoinRule}}}, j.aside
}

// divide gives the paths to their tasks, and returns what is added beside these. A record that both histories have from
// where they part is the first's, masked or not; so is a version whose files a prune took there.
func (j *join) divide() (add []Entry) {
	stubs, notes := map[string]OID{}, map[OID]bool{}
	for _, p := range j.Paths {
		notes[p.First] = true
		if dir, name := splitName(p.Path); p.Second == "" && stubTree(name) != "" {
			stubs[dir] = stubTree(name)
		}
	}
	newest := newestOf(j.First.Records.Notes).N
	last := max(newest, newestOf(j.Second.Records.Notes).N)
	for _, p := range j.Paths {
		id, _, ofTask := SplitPath(p.Path)
		dir, name := splitName(p.Path)
		stub := stubs[dir]
		note, isNote := KindOf(NotesDir, true).values(name)
		switch {
		case stub != "" && (p.Second == stub && name == "files" || p.Second == "" && stubTree(name) != ""):
		case (ofTask || dir == NotesDir) && p.First != "" && p.Second != "" && p.Base != "":
			if p.Second != p.Base {
				j.setAside("", "masked", "", p.Path)
			}
		case ofTask:
			t := cmp.Or(j.tasks[id], &joinTask{})
			t.first = t.first || p.First != "" || stub != "" && name == "files"
			if p.Second != "" {
				t.add = append(t.add, Entry{Path: p.Path, OID: p.Second})
			}
			j.tasks[id] = t
		case p.Second == "", p.Second == p.Base, isNote && notes[p.Second]:
		case dir == NotesDir && isNote:
			if note.n <= newest {
				last++
				note.n = last
			}
			add = append(add, Entry{Path: noteRecord{note.n, note.word}.Path(), OID: p.Second})
		case dir == doctorDir && p.First == "":
			add = append(add, Entry{Path: p.Path, OID: p.Second})
		default: // the session, and the plan itself
			j.setAside("", "decision", "", p.Path)
		}
	}
	maps.DeleteFunc(j.tasks, func(_ TaskID, t *joinTask) bool { return len(t.add) == 0 })
	j.readEvents()
	return add
}

// readEvents notes which tasks were written by one event, which is joined whole or not at all.
func (j *join) readEvents() {
	for _, paths := range j.Events {
		var ids []TaskID
		for _, path := range paths {
			if id, _, ok := SplitPath(path); ok && j.tasks[id] != nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			j.tasks[id].with = append(j.tasks[id].with, ids...)
			j.tasks[id].replans = j.tasks[id].replans || slices.Contains(paths, planJSON)
		}
	}
}

// setAside leaves paths out, or a task with all that it would add, once; of is what it is aside because of.
func (j *join) setAside(id TaskID, code string, of TaskID, paths ...string) {
	if t := j.tasks[id]; t != nil && !t.aside {
		t.aside, j.queue = true, append(j.queue, id)
		for _, e := range t.add {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) > 0 {
		j.aside = append(j.aside, SetAside{TaskID: id, Code: code, Why: asideWords(code, of), Paths: paths})
	}
}

// unfit is the code of why a task can't be joined by itself, "" if it can. The first history's plan decides.
func (j *join) unfit(id TaskID) string {
	t := j.tasks[id]
	switch {
	case j.First.SessionStatus() == SessionCompleted:
		return "completed"
	case t.first:
		return "both"
	case j.First.Tasks[id] == nil:
		return "not-in-plan"
	case !j.SamePlan && (j.Second.Tasks[id] == nil || j.First.definition(id) != j.Second.definition(id)):
		return "definition"
	case !j.SamePlan && t.replans, slices.ContainsFunc(t.add, decides):
		return "decision"
	}
	return ""
}

// decides reports whether a record says what somebody decided about the plan. Verdicts come with what they judge.
func decides(e Entry) bool {
	_, name, _ := SplitPath(e.Path)
	dir, rest, _ := strings.Cut(name, "/")
	return dir == "marks" || dir == "orders" || dir == "acts" && KindOf(dir, false).Word(rest) != actVerdicts
}

// spread sets aside what was recorded together with a task, or made from it, directly or not.
func (j *join) spread(id TaskID) {
	for _, with := range j.tasks[id].with {
		j.setAside(with, "event", id)
	}
	seen := map[TaskID]bool{}
	for next := []TaskID{id}; len(next) > 0; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		j.setAside(next[0], "input", id)
		next = append(append(next, j.First.Children(next[0])...), j.First.Dependents(next[0])...)
	}
}

// definition is all that the plan, the task's CHECK and the GOALs above say to a task.
func (s *State) definition(id TaskID) string {
	t, p := *s.Tasks[id].Task, s.Plan
	if t.NodeType == Goal {
		t.RootAcceptanceCriteria, t.FinalDeliverableSpec, t.Covers = nil, nil, nil
	}
	says := []any{t, p.checkOf(id), p.SchemaVersion, p.Config, p.PlanType, p.Register, p.Workflow, p.Roles}
	for _, above := range s.Lineage(&t)[1:] {
		up := s.Tasks[above]
		says = append(says, above, up.DependsOn, up.Context, up.Requires, up.Jobs)
	}
	return string(Document(says))
}
