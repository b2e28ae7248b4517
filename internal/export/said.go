package export

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/act"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Said is something that one of those who work on a plan said to another.
type Said struct {
	From string      `json:"from"`         // a role with who speaks for it, an agent or a person
	To   string      `json:"to,omitempty"` // likewise, or the user; "" is everybody
	Kind string      `json:"kind"`
	Task plan.TaskID `json:"task_id,omitempty"`
	Text string      `json:"text"`
}

// The kinds of what is said. What has none of these is the event itself.
const (
	saidEvent    = "event"
	saidHandIn   = "hand-in"
	saidVerdict  = "verdict"
	saidOrder    = "order"
	saidQuestion = "question"
	saidAnswer   = "answer"
	saidFinish   = "finish"
	saidFailure  = "failure"
	saidConcern  = "concern"
	saidNote     = "note"
)

// theUser is whom a role asks that nobody else answers.
const theUser = "user"

// String is what was said in one line, safe to show.
func (s Said) String() string {
	to := ""
	if s.To != "" {
		to = arrow + safeName(s.To)
	}
	return safeName(s.From) + to + ": " + plain.Line(strings.Join(strings.Fields(s.Text), " "))
}

// arrow stands between who speaks and who is spoken to.
const arrow = " → "

// safeName is a name, without what would make it look like somebody who speaks to another.
func safeName(name string) string {
	return strings.ReplaceAll(plain.Line(name), strings.TrimSpace(arrow), "-")
}

// Talk reads the history of a plan with roles as the conversation of those who work on it.
type Talk struct {
	ctx   context.Context
	store reader
	snap  *gitstore.Snapshot
	s     *plan.State

	orders map[plan.TaskID]string // the role whose orders a task waits for
}

// TalkOf returns the Talk of a plan. It is nil for a plan without roles: there, the events say it all.
func TalkOf(ctx context.Context, store reader, snap *gitstore.Snapshot) *Talk {
	if len(snap.Plan.Roles) == 0 {
		return nil
	}
	t := &Talk{ctx, store, snap, snap.State(), map[plan.TaskID]string{}}
	for _, by := range t.s.Plan.Tasks {
		if by.Decides == nil {
			continue
		}
		for _, id := range t.s.Held(by.TaskID) {
			t.orders[id] = by.Role
		}
	}
	return t
}

// Tell is what an event says, from the records that it added. A record that can't be read says nothing, and an event
// whose records say nothing is told by its subject.
func (t *Talk) Tell(e gitstore.LogEntry, added []string) []Said {
	var all []Said
	for _, name := range added {
		all = append(all, t.record(e, name)...)
	}
	if len(all) == 0 {
		task := plan.TaskID(e.Trailers["Wf-Task"])
		if !task.Valid() {
			task = ""
		}
		text := strings.TrimPrefix(e.Subject, string(task)+": ")
		if task != "" {
			text = string(task) + " " + text
		}
		all = []Said{{From: e.Author.Name, Kind: saidEvent, Task: task, Text: text}}
	}
	return all
}

// record is what one file of the plan's tree says.
func (t *Talk) record(e gitstore.LogEntry, name string) []Said {
	if dir, _, _ := strings.Cut(name, "/"); dir == plan.NotesDir {
		return t.note(name)
	}
	parts := strings.SplitN(name, "/", 4) // tasks, the first byte of a hash, the task, the record
	if len(parts) < 4 {
		return nil
	}
	task := t.s.Tasks[plan.TaskID(parts[2])]
	if task == nil || name != task.TaskID.Dir()+"/"+parts[3] {
		return nil
	}
	dir, rest, _ := strings.Cut(parts[3], "/")
	switch {
	case dir == "artifacts" && path.Base(rest) == "artifact.json":
		return t.handIn(task, name)
	case dir == "reviews" && path.Base(rest) == "review.json":
		return t.verdict(task, name)
	case dir == "attempts" && path.Ext(rest) == ".json":
		return t.failure(task, name)
	case dir == "orders":
		return t.order(task, name)
	case dir == "questions":
		return t.question(task, name)
	case dir == "answers":
		return t.answer(e, task, name)
	case dir == "acts" && strings.HasSuffix(rest, "-finish.json"):
		return t.finish(task, rest)
	}
	return nil
}

func (t *Talk) read(name string, v any) bool {
	return readJSON(t.ctx, t.store, t.snap.Commit, name, v) == nil
}

// speakerOf is a role with who speaks for it; of a task without a role, who does it.
func speakerOf(role, agent string) string {
	switch {
	case role == "" || role == agent:
		return agent
	case agent == "":
		return role
	}
	return role + " (" + agent + ")"
}

// maker is who made a version of a task.
func (t *Talk) maker(task *plan.TaskState, version int) string {
	made, err := ReadArtifact(t.ctx, t.store, t.snap, task.TaskID, version)
	if err != nil {
		return task.Role
	}
	return speakerOf(task.Role, made.Agent)
}

// decision is what a version of a deciding task decides; the zero value for what can't be read.
func (t *Talk) decision(made plan.Artifact) act.Decision {
	task := t.s.Tasks[made.TaskID]
	if task == nil || task.Decides == nil || task.DeliverableSpec == nil {
		return act.Decision{}
	}
	data, err := t.store.ReadFile(t.ctx, made.Tree, task.DeliverableSpec.Filename)
	if err != nil {
		return act.Decision{}
	}
	d, _ := act.ReadDecision(data)
	return d
}

func (t *Talk) handIn(task *plan.TaskState, name string) []Said {
	var made plan.Artifact
	if !t.read(name, &made) || made.TaskID != task.TaskID {
		return nil
	}
	said := Said{From: speakerOf(task.Role, made.Agent), To: strings.Join(t.s.Seats(task.TaskID), ", "),
		Kind: saidHandIn,
		Task: task.TaskID, Text: fmt.Sprintf("hands in %s %s", task.TaskID, made.ArtifactID)}
	if made.Summary != "" {
		said.Text += ": " + made.Summary
	} else if d := t.decision(made); d.NextAgent != "" {
		said.Text += fmt.Sprintf(": next is %s, because %s",
			strings.TrimSpace(d.NextAgent+" "+string(d.TaskID)), d.Reason)
	}
	return append([]Said{said}, t.concerns(said.From, made.Concerns)...)
}

// concerns are what the maker of a task says against others.
func (t *Talk) concerns(from string, list []plan.Note) (all []Said) {
	for _, c := range list {
		to := ""
		if about := t.s.Tasks[c.TaskID]; about != nil {
			to = about.Role
		}
		all = append(all, Said{From: from, To: to, Kind: saidConcern, Task: c.TaskID,
			Text: fmt.Sprintf("has a concern about %s: %s", c.TaskID, c.Text)})
	}
	return all
}

func (t *Talk) verdict(task *plan.TaskState, name string) []Said {
	var r plan.Review
	if !t.read(name, &r) || r.TaskID != task.TaskID {
		return nil
	}
	from := r.Who()
	if judge := t.s.Tasks[plan.TaskID(r.Reviewer)]; judge != nil && r.JudgedBy != nil {
		from = speakerOf(judge.Role, r.Agent)
	}
	said := Said{From: from, To: t.maker(task, plan.VersionNumber(r.ReviewedArtifactID)), Kind: saidVerdict,
		Task: task.TaskID, Text: fmt.Sprintf("rejects %s %s", task.TaskID, r.ReviewedArtifactID)}
	if r.Verdict == plan.Approved {
		said.Text = fmt.Sprintf("approves %s %s", task.TaskID, r.ReviewedArtifactID)
	}
	if r.HasScore() {
		said.Text += fmt.Sprintf(", score %d", r.Score)
	}
	if why := reasons(r); why != "" {
		said.Text += ": " + why
	}
	return []Said{said}
}

// reasons are why the verdict on a version is what it is, and what is to be mended in it.
func reasons(r plan.Review) string {
	var all, made []string // made are the suggestions that only repeat a criterion
	if r.Cause != "" {
		all = append(all, "cause "+r.Cause)
	}
	for _, c := range r.Criteria {
		if r.Verdict == plan.Rejected && c.Result == plan.ResultFail {
			all = append(all, fmt.Sprintf("[%s] %s", c.ID, c.Evidence))
			made = append(made, c.Demand())
		}
	}
	if len(made) == 0 && r.Reason != "" {
		all = append(all, r.Reason)
	}
	for _, s := range r.Suggestions {
		if !slices.Contains(made, s.Text) {
			all = append(all, s.Text)
		}
	}
	for i := range all {
		all[i] = strings.TrimSuffix(strings.TrimSpace(all[i]), ".")
	}
	return strings.Join(all, "; ")
}

func (t *Talk) failure(task *plan.TaskState, name string) []Said {
	var a plan.Attempt
	if !t.read(name, &a) {
		return nil
	}
	from := speakerOf(task.Role, a.Agent)
	if a.TaskID != task.TaskID { // of its CHECK
		from = a.Agent
	}
	if a.Kind == plan.AttemptNeedsInput { // its questions tell that
		return t.concerns(from, a.Concerns)
	}
	text := fmt.Sprintf("made nothing of %s (%s)", a.TaskID, a.Kind)
	if a.Message != "" {
		text += ": " + a.Message
	}
	said := Said{From: from, Kind: saidFailure, Task: task.TaskID, Text: text}
	return append([]Said{said}, t.concerns(from, a.Concerns)...)
}

func (t *Talk) order(task *plan.TaskState, name string) []Said {
	var o plan.Order
	if !t.read(name, &o) || o.TaskID != task.TaskID {
		return nil
	}
	said := Said{To: task.Role, Kind: saidOrder, Task: task.TaskID,
		Text: fmt.Sprintf("orders %s: %s", task.TaskID, o.Text)}
	if o.Mode != "" {
		said.Text = fmt.Sprintf("orders %s, %s: %s", task.TaskID, o.Mode, o.Text)
	}
	if by := t.s.Tasks[o.ByTask]; by != nil {
		said.From = by.Role
		if made, err := ReadArtifact(t.ctx, t.store, t.snap, o.ByTask, plan.VersionNumber(o.Decision)); err == nil {
			said.From = speakerOf(by.Role, made.Agent)
			if why := t.decision(made).Reason; why != "" && why != o.Text {
				said.Text += " (because " + why + ")"
			}
		}
	}
	return []Said{said}
}

func (t *Talk) question(task *plan.TaskState, name string) []Said {
	var q plan.Question
	if !t.read(name, &q) || q.TaskID != task.TaskID {
		return nil
	}
	said := Said{From: speakerOf(task.Role, q.By), To: cmp.Or(q.To, theUser), Kind: saidQuestion,
		Task: task.TaskID, Text: fmt.Sprintf("asks, as %s %s: %s", task.TaskID, q.QuestionID, q.Question)}
	if by := t.orders[task.TaskID]; by != "" {
		said.To = by + ", " + theUser
	}
	if n := len(q.Options); n > 0 {
		options := plain.Some(q.Options, n, func(o plan.Option) string { return o.OptionID })
		said.Text += " (" + strings.Join(options, ", ") + ")"
	}
	return []Said{said}
}

func (t *Talk) answer(e gitstore.LogEntry, task *plan.TaskState, name string) []Said {
	var a plan.Answer
	if !t.read(name, &a) || a.TaskID != task.TaskID {
		return nil
	}
	var asked plan.Question
	t.read(path.Dir(path.Dir(name))+"/questions/"+path.Base(name), &asked)
	given := strings.TrimSpace(cmp.Or(a.OptionID, a.Text) + " " + strings.Join(a.Inputs, ", "))
	from := speakerOf(a.Role, a.By)
	if by := t.s.Tasks[plan.TaskID(e.Trailers["Wf-Task"])]; by != nil && by.Decides != nil {
		from = speakerOf(by.Role, a.By)
	}
	return []Said{{From: from, To: speakerOf(task.Role, asked.By), Kind: saidAnswer, Task: task.TaskID,
		Text: fmt.Sprintf("answers %s %s: %s", task.TaskID, a.QuestionID, given)}}
}

func (t *Talk) finish(task *plan.TaskState, rest string) []Said {
	version, _, _ := strings.Cut(rest, "-")
	made, err := ReadArtifact(t.ctx, t.store, t.snap, task.TaskID, plan.VersionNumber(version))
	if err != nil {
		return nil
	}
	return []Said{{From: speakerOf(task.Role, made.Agent), Kind: saidFinish, Task: task.TaskID,
		Text: "finishes: " + t.decision(made).Reason}}
}

func (t *Talk) note(name string) []Said {
	for _, rec := range t.snap.Records.Notes {
		if rec.Path() != name {
			continue
		}
		data, err := t.store.ReadFile(t.ctx, t.snap.Commit, name)
		if err != nil {
			return nil
		}
		n := rec.Read(data)
		said := Said{From: n.By, Kind: saidNote, Text: "notes " + n.Category + ": " + n.Text}
		if id, _, _ := strings.Cut(n.Of, " "); t.s.Tasks[plan.TaskID(id)] != nil {
			said.Task = plan.TaskID(id)
			if check := t.s.Tasks[said.Task]; check.NodeType != plan.Check {
				said.From = speakerOf(check.Role, n.By)
			}
		}
		if said.From == "" {
			said.From = "git wf"
		}
		return []Said{said}
	}
	return nil
}
