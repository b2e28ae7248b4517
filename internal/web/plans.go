package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

// planPage is the plan as a list; the picture comes after it.
type planPage struct {
	page
	Tip       plan.OID
	Seen      *readmodel.Plan // of a past moment, what its state alone says
	TopTask   string
	Rows      []*row
	Many      bool // the list is so long that the browser should not lay out what is out of sight
	Waits     []engine.Item
	Ran       *ran        // the newest run that was started here
	Notes     []plan.Note // newest first
	Changes   bool        // some of it lands by git wf land
	Documents bool        // some of it is exported
	Open      int         // approved changes that did not land yet
	Running   []running
	Classes   []tally
	Critical  []plan.TaskID
	Days      float64       // of the critical path
	Assumed   bool          // some of these
	Fold      string        // goals that the picture begins with folded, as in its address
	Judged    bool          // something of it is judged,
	Verified  int           // and these deliverables are verified,
	OnlyDone  int           // these merely done
	Moves     []export.Move // newest first
	Shape     string        // the same as long as the plan has the same tasks
}

// row is one task of the list.
type row struct {
	*readmodel.Task
	Class    graph.Class
	Critical bool
	Counted  bool // it is one of the tasks that are counted: a deliverable
	Folded   bool // the list begins without its parts
	Children []*row
	URL      string
}

// tally is the number of tasks in a class.
type tally struct {
	Class graph.Class `json:"class"`
	Word  string      `json:"word"`
	N     int         `json:"n"`
}

// running is one task that somebody works on now.
type running struct {
	Task    plan.TaskID
	Title   string
	Agent   string
	Started time.Time
	Why     string // the claim does not hold, or what else is wrong with it
	URL     string
	Tail    string // the end of the log of the task, or of its review
}

// todos lists what a plan waits for that only a person can do.
func todos(p *readmodel.Plan) (all []engine.Item) {
	for _, w := range slices.Concat(p.Waits, p.Asks) {
		on := p.State.Subject(w.Task)
		all = append(all, engine.Item{Wait: w, On: on.TaskID, Title: plain.Line(on.Title)})
	}
	return all
}

// How much of a large plan is shown at first.
const (
	manyTasks = 150 // from so many, only goals that somebody works in are unfolded
	mostNotes = 200
	mostMoves = 100
)

func (s *Server) planPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.planView(r)
	if err != nil {
		return err
	}
	p.Said = s.said(r)
	return s.show(w, r, http.StatusOK, "plan", p)
}

// planView gathers what the plan's page shows of a state.
func (s *Server) planView(r *http.Request) (*planPage, error) {
	snap, state, at, err := s.askedAt(r)
	if err != nil {
		return nil, err
	}
	p := &planPage{page: s.planHead(r, snap, "plan"), Tip: snap.Commit, TopTask: snap.Plan.TopTask}
	if p.Past = at; at != nil {
		p.Seen = readmodel.Of(state)
	} else if p.Seen, err = s.Read(r.Context(), snap); err != nil {
		return nil, err
	} else {
		state = p.Seen.State
	}
	weights, err := s.Weights()
	if err != nil {
		return nil, err
	}
	p.Critical, p.Days, p.Assumed = graph.CriticalPath(state, weights.Days)
	critical := map[plan.TaskID]bool{}
	for _, id := range p.Critical {
		critical[id] = true
	}
	changes, documents, open := export.Kinds(state)
	p.Changes, p.Documents, p.Open = changes, documents || !changes, len(open)
	p.Many = len(state.Leaves(state.Plan.RootTaskID)) >= manyTasks
	folded, isFolded := foldedAtFirst(state, p.Many), map[plan.TaskID]bool{}
	for _, id := range folded {
		isFolded[plan.TaskID(id)] = true
	}
	p.Rows = rows{page: p.page, seen: p.Seen, critical: critical, folded: isFolded}.below(
		state.Plan.RootTaskID, map[plan.TaskID]bool{})
	p.Classes, p.Shape = tallies(state), s.shape(state)
	if p.Many {
		p.Fold = strings.Join(folded, ",")
	}
	if p.Notes, err = export.Notes(r.Context(), s.Store, snap, mostNotes); err != nil {
		return nil, err
	}
	slices.Reverse(p.Notes)
	if p.Verified, p.OnlyDone, p.Judged = state.CountVerified(); len(snap.Plan.Roles) > 0 {
		if p.Moves, err = export.Moves(r.Context(), s.Store, snap, mostMoves); err != nil {
			return nil, err
		}
	}
	if at != nil {
		return p, nil
	}
	p.Waits, p.Ran, p.Running = todos(p.Seen), s.ranOf(snap.ID), s.running(p.Seen)
	return p, nil
}

func (s *Server) planHead(r *http.Request, snap *gitstore.Snapshot, tab string) page {
	p := s.page(r, plain.Line(snap.Plan.Title))
	p.Plan, p.PlanName, p.Tab = snap.ID, plain.Line(snap.Plan.Title), tab
	return p
}

// rows makes the list of a plan's tasks.
type rows struct {
	page     page
	seen     *readmodel.Plan
	critical map[plan.TaskID]bool
	folded   map[plan.TaskID]bool
}

// below are the tasks at and below one, in the plan's order; in a plan with a cycle they end at the second visit.
func (l rows) below(id plan.TaskID, seen map[plan.TaskID]bool) []*row {
	t := l.seen.Task(id)
	if t == nil || seen[id] {
		return nil
	}
	seen[id] = true
	out := &row{Task: t, Class: graph.ClassOf(t.Status), Critical: l.critical[id], URL: l.page.TaskURL(id),
		Counted: counted(l.seen.State.Tasks[id]), Folded: l.folded[id]}
	for _, c := range l.seen.State.Children(id) {
		out.Children = append(out.Children, l.below(c, seen)...)
	}
	return []*row{out}
}

// counted reports whether a task is one of those that Progress counts, or would be if it were not abandoned.
func counted(t *plan.TaskState) bool { return t.NodeType == plan.Action && !t.Planning() }

func tallies(s *plan.State) []tally {
	n := map[graph.Class]int{}
	for _, t := range s.Tasks {
		if counted(t) {
			n[graph.ClassOf(t.Status)]++
		}
	}
	return each.Of(graph.Classes(), func(c graph.Class) tally { return tally{c, c.Word(), n[c]} })
}

// shape is a different word for every set of tasks and edges.
func (s *Server) shape(state *plan.State) string {
	var b strings.Builder
	for _, t := range state.Plan.Tasks {
		fmt.Fprintf(&b, "%s %s %q %v\n", t.TaskID, t.ParentTaskID, t.Title, t.DependsOn)
	}
	return s.mac(b.String())
}

// foldedAtFirst are the goals that begin as one line, or box: the finished ones and, in a plan of many tasks, also
// those in which nobody works, waits or has to look.
func foldedAtFirst(s *plan.State, many bool) (folded []string) {
	for _, task := range s.Plan.Tasks {
		id, t := task.TaskID, s.Tasks[task.TaskID]
		if t == nil || t.NodeType != plan.Goal || id == s.Plan.RootTaskID {
			continue
		}
		open := t.Status != plan.StatusDone && !t.Status.Gone()
		if open && many {
			open = slices.ContainsFunc(s.Leaves(id), func(leaf plan.TaskID) bool {
				switch graph.ClassOf(s.Tasks[leaf].Status) {
				case graph.Running, graph.Review, graph.Rejected, graph.Blocked:
					return true
				}
				return false
			})
		}
		if !open {
			folded = append(folded, string(id))
		}
	}
	return folded
}

// running lists the current work with the end of its log, in plan order, and the claims that nobody keeps.
func (s *Server) running(p *readmodel.Plan) (all []running) {
	for _, task := range p.State.Plan.Tasks {
		for _, c := range p.Claims {
			shown := p.State.Subject(task.TaskID)
			if c.Task != task.TaskID || shown == nil {
				continue
			}
			if works := p.State.Tasks[c.Task].Status == plan.StatusInProgress; !works && c.Why == "" {
				continue
			}
			all = append(all, running{
				Task: c.Task, Title: plain.Line(shown.Title), Agent: plain.Line(c.Agent), Started: c.Started,
				Why: c.Why,
				URL: planURL(p.PlanID, "task", string(shown.TaskID)), Tail: s.tail(p.PlanID, shown.TaskID),
			})
		}
	}
	return all
}

// tail is the end of a task's log, at most a few lines.
func (s *Server) tail(id plan.ID, task plan.TaskID) string {
	const most = 4000
	data := s.Tail(id, task)
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return plain.Text(strings.ToValidUTF8(string(data), "\ufffd"))
}

// liveDocument is what the page's script updates after an event.
type liveDocument struct {
	Tip      plan.OID                 `json:"tip"`
	Shape    string                   `json:"shape"`
	Tasks    map[plan.TaskID]liveTask `json:"tasks"`
	Critical []plan.TaskID            `json:"critical"`
	Sections map[string]string        `json:"sections"` // by the id of the element that they fill
}

type liveTask struct {
	Class  graph.Class `json:"c"`
	Status string      `json:"s"` // in the page's language
	Notes  string      `json:"n,omitempty"`
}

func liveTasks(lang string, p *readmodel.Plan) map[plan.TaskID]liveTask {
	all := map[plan.TaskID]liveTask{}
	for _, t := range p.Tasks {
		all[t.TaskID] = liveTask{graph.ClassOf(t.Status), translate(lang, t.Status.String()), t.Line}
	}
	return all
}

// planLive is the plan's state for the page's script; ?at=COMMIT as it was.
func (s *Server) planLive(w http.ResponseWriter, r *http.Request) error {
	p, err := s.planView(r)
	if err != nil {
		return err
	}
	d := liveDocument{Tip: p.Tip, Shape: p.Shape, Tasks: liveTasks(languageOf(r), p.Seen), Critical: p.Critical,
		Sections: map[string]string{}}
	for _, name := range []string{"summary", "waits", "running", "checklist", "decisions", "noted",
		"acts", "run"} {
		var out buffer
		if err := s.pages[languageOf(r)].ExecuteTemplate(&out, "plan-"+name, p); err != nil {
			return err
		}
		d.Sections[name] = out.String()
	}
	return writeJSON(w, d)
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(v)
}
