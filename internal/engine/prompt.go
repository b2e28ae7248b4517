package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/contract"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
)

// writePrompt makes the prompt of a role from the user's templates and puts it where the agent finds it.
func (e *Engine) writePrompt(ctx context.Context, w *workDir, d prompt.Data, budget int) error {
	if err := e.tellRules(ctx, w, &d); err != nil {
		return err
	}
	if err := e.tellRepository(ctx, w, &d); err != nil {
		return err
	}
	p, err := prompt.Build(e.Templates, w.role, d, budget)
	if err != nil {
		return err
	}
	w.dropped, w.head = p.Dropped, ""
	if p.Head != "" {
		w.head = filepath.Join(w.dir, "conventions.md")
		if err := os.WriteFile(w.head, []byte(p.Head), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(w.prompt, []byte(p.Text), 0o666)
}

// Prompt is what an agent would be told about a task: its maker or, if a version awaits review, its reviewer. With a
// command it is for an agent that hands in its files with that.
func (e *Engine) Prompt(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, handIn string) (prompt.Prompt,
	error) {
	s := snap.State()
	t := s.Subject(id)
	if t == nil || t.NodeType != plan.Action {
		return prompt.Prompt{}, &plan.RefusedError{Task: id, Reason: "is no task that an agent works on",
			Hint: "git wf status"}
	}
	reviewed := t.Status == plan.StatusReadyToCheck
	role := roleOf(t.Task)
	inputs := approvedInputs(snap, s, t.TaskID)
	if reviewed {
		role = reviewRoleOf(t.Task)
	}
	as := t.Role
	if reviewed {
		who, _ := e.reviewingAgent(s, t)
		as = who.seat
	}
	w, err := e.prepareAs(ctx, snap, t, role, as, inputs)
	if err != nil {
		return prompt.Prompt{}, err
	}
	defer w.remove()
	switch w.handIn = handIn; {
	case reviewed:
		err = e.reviewPrompt(ctx, w)
	case handIn != "":
		err = e.attemptPrompt(ctx, w)
	}
	if err != nil {
		return prompt.Prompt{}, err
	}
	text, err := os.ReadFile(w.prompt)
	return prompt.Prompt{Text: w.unplaced(string(text)), Dropped: w.dropped}, err
}

// unplaced is a prompt for whom this directory does not exist: its places have the names of their variables.
func (w *workDir) unplaced(text string) string {
	return strings.NewReplacer(w.out, "$WF_OUT", w.in, "$WF_IN", w.tmp, "$TMPDIR", w.context, "$WF_CONTEXT",
		cmp.Or(w.feedback, w.prompt), "$WF_FEEDBACK").Replace(text)
}

// reviewPrompt writes the prompt of a future review. It runs nothing: what the engine has not recorded yet is missing.
func (e *Engine) reviewPrompt(ctx context.Context, w *workDir) error {
	snap, t := w.snap, w.task
	if err := w.makePlaces(); err != nil {
		return err
	}
	subject, err := e.subject(ctx, snap, snap.State(), t.TaskID, t.Active)
	if err != nil {
		return err
	}
	checked, err := e.lastChecked(ctx, snap, t)
	if err != nil {
		return err
	}
	who, _ := e.reviewingAgent(snap.State(), t)
	d, err := e.reviewData(ctx, w, evidence{subject: subject, ran: checked.Criteria}, who)
	if err != nil {
		return err
	}
	d.Contract = contractText(w.role, false)
	return e.writePrompt(ctx, w, d, e.budget(who.agent))
}

// promptData is what every prompt of a task holds.
func (e *Engine) promptData(w *workDir) prompt.Data {
	snap, t := w.snap, w.task
	d := prompt.Data{
		PlanID: snap.ID, Title: snap.Plan.Title, TopTask: prompt.Text(snap.Plan.TopTask),
		Place: prompt.Place{Out: w.out, In: w.in, Tmp: w.tmp, Repo: w.repo, Context: w.context,
			Feedback: w.feedback},
		Task: prompt.TaskOf(plandoc.WithApproach(plandoc.WithInherited(snap.State(), t.Task), snap.ID),
			snap.State().MinScore(t.TaskID)),
		Limits: prompt.LimitsOf(snap.Plan), Floors: e.Policy.Floors,
	}
	d.Task.Rubric = prompt.RubricOf(snap.State().RubricOf(t.TaskID))
	d.Way = e.way(snap.Plan, w.role)
	for i, n := range w.about.Notes {
		d.Notes = append(d.Notes, prompt.Note{Number: i + 1, Category: n.Category, By: n.Who(),
			Text: prompt.Text(n.Text)})
	}
	if role, ok := snap.Plan.Roles[w.as]; ok {
		d.Role = &prompt.Role{Name: w.as, Text: prompt.Text(role.Text)}
	}
	if root := snap.Plan.Task(snap.Plan.RootTaskID); root != nil {
		for _, c := range root.RootAcceptanceCriteria {
			d.Root = append(d.Root, prompt.RootCriterion(c))
		}
	}
	return d
}

// dropped says what a task would have got of those that were dropped, and why each was.
func (e *Engine) dropped(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (all []string, err error) {
	for _, id := range snap.State().Dropped(t.TaskID) {
		mark, err := e.documents(ctx, snap, id).LastMark()
		if err != nil {
			return nil, err
		}
		all = append(all, plain.Line(fmt.Sprintf("%s, %s: %s", id, snap.Plan.Task(id).Title, mark.Reason)))
	}
	return all, nil
}

// attemptData is what the prompt of an attempt holds in addition.
func (e *Engine) attemptData(ctx context.Context, w *workDir) (prompt.Data, error) {
	d, snap, t := e.promptData(w), w.snap, w.task
	name := e.agentOf(snap.Plan, t.Task)
	c, _ := e.Agents.Config(name)
	d.Attempt, d.Shell, d.Runs = w.attempt, e.Agents.WritesFiles(name), c.Runs() || w.handIn != ""
	if role := snap.Plan.Roles[w.as]; role.Decides() || role.ReadOnly() && t.Changes() {
		d.Shell, d.Runs = false, false
	} else {
		d.ReadOnly = role.ReadOnly()
		d.Runs = d.Runs && !d.ReadOnly
	}
	d.Inputs, d.Steps, d.Outdated = w.told, w.steps, w.outdated
	if w.change != nil {
		d.Conflicts, d.NotLanded = w.change.conflicts, w.change.refused
	}
	var err error
	if d.Dropped, err = e.dropped(ctx, snap, t); err != nil {
		return d, err
	}
	if d.Answers, err = e.answers(ctx, snap, t); err != nil {
		return d, err
	}
	if d.Order, err = e.order(ctx, snap, t); err != nil {
		return d, err
	}
	if t.Decides != nil {
		if d.Board, err = e.board(ctx, snap, t); err != nil {
			return d, err
		}
		text, err := plandoc.WriteYAML(snap.Plan)
		if err != nil {
			return d, err
		}
		if len(text) <= mostAmended {
			d.Current = prompt.Text(text)
		}
	}
	if t.Judges != nil {
		if d.Judging, err = e.judging(ctx, snap, t, d.Order); err != nil {
			return d, err
		}
		d.Judging.Ran = slices.Clone(w.ran)
	}
	if w.rejected != nil {
		d.Rejected = prompt.RejectionOf(*w.rejected, w.rejection)
	}
	if d.Failed, err = e.lastFailure(ctx, snap, t, 0, ""); err != nil {
		return d, err
	}
	if t.Planning() {
		if err := e.planningData(ctx, w, &d); err != nil {
			return d, err
		}
	}
	if d.HandIn = w.handIn; d.HandIn != "" {
		d.Shell = false
		return d, nil
	}
	for _, role := range t.Advisers() {
		about := firstLine(snap.Plan.Roles[role].Text)
		d.Advisers = append(d.Advisers, prompt.Agent{Name: role, About: about})
	}
	d.Contract = contractText(w.role, d.Shell && !d.ReadOnly)
	return d, nil
}

// lastFailure is the last attempt at a task's next version, or of an agent to review one, if it left nothing.
func (e *Engine) lastFailure(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, version int,
	by string) (*prompt.Attempt, error) {
	all := snap.Records.Of(t.TaskID).Attempts
	for i, rec := range slices.Backward(all) {
		if rec.Version != version {
			continue
		}
		if rec.Kind != plan.AttemptError && rec.Kind != plan.AttemptNoop {
			return nil, nil
		}
		doc, err := e.documents(ctx, snap, t.TaskID).Attempt(rec)
		if err != nil {
			return nil, err
		}
		if version > 0 && doc.Agent != by {
			continue
		}
		if version == 0 && t.Active > 0 {
			made, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active)
			if err != nil || doc.CreatedAt.Before(made.CreatedAt) {
				return nil, err
			}
		}
		return &prompt.Attempt{Number: i + 1, Agent: doc.Agent, Why: prompt.Text(doc.Message)}, nil
	}
	return nil, nil
}

// mostAmended is the size, in bytes, of the largest plan that a decider is shown as it would be handed in: of a larger
// one it can't give the whole text on one line.
const mostAmended = 32 << 10

// attemptPrompt writes the prompt of an attempt.
func (e *Engine) attemptPrompt(ctx context.Context, w *workDir) error {
	d, err := e.attemptData(ctx, w)
	if err != nil {
		return err
	}
	name := e.agentOf(w.snap.Plan, w.task.Task)
	if err := e.writePrompt(ctx, w, d, e.budget(name)); err != nil {
		return err
	}
	if knows, err := e.knows(ctx, w, name); err != nil || !knows {
		return err
	}
	d.Again = true
	p, err := prompt.Build(e.Templates, w.role, d, e.budget(name))
	w.again = p.Text
	return err
}

// knows reports whether an attempt goes on where the rejected version was made, with the same task and inputs.
func (e *Engine) knows(ctx context.Context, w *workDir, name string) (bool, error) {
	t := w.task
	if w.rejected == nil || w.rejected.SpecHash != t.SpecHash() || t.Decides != nil || t.Judges != nil {
		return false, nil
	}
	thread, err := e.thread(ctx, w.snap, t, name)
	if err != nil || thread == "" {
		return false, err
	}
	made, err := export.ReadArtifact(ctx, e.Store, w.snap, t.TaskID, t.Active)
	return made.Agent == name && made.Thread == thread && slices.Equal(made.Inputs, w.inputs), err
}

// takeRequirements turns what came with the top task from inputs into a part of the request, which it is for planners.
func takeRequirements(d *prompt.Data) {
	d.Inputs = slices.DeleteFunc(slices.Clone(d.Inputs), func(in prompt.Input) bool {
		if in.Name != requirements && !strings.HasPrefix(in.Dir, "inputs/WFS-") {
			return false
		}
		for _, f := range in.Files {
			f.Path = path.Join(in.Dir, f.Path)
			d.Requirements = append(d.Requirements, f)
		}
		return true
	})
}

// planningData is what the maker of a plan, or of a fragment, must know.
func (e *Engine) planningData(ctx context.Context, w *workDir, d *prompt.Data) error {
	snap, t := w.snap, w.task
	takeRequirements(d)
	d.Reason = prompt.Text(t.Description)
	var err error
	if d.Tree, err = e.paths(ctx); err != nil {
		return err
	}
	for _, name := range e.Agents.Names() {
		c, ok := e.Agents.Config(name)
		switch {
		case ok && e.Agents.Missing(name, nil) == nil:
			d.Agents = append(d.Agents, prompt.Agent{Name: name, Kind: c.Kind, About: c.Model})
		case !ok:
			d.Agents = append(d.Agents, prompt.Agent{Name: name})
		}
	}
	p := snap.Plan
	d.LeavesLeft = p.Limits().MaxLeafTasks - len(snap.State().Leaves(p.RootTaskID))
	leaf := p.Task(t.SplitTargetTaskID)
	switch {
	case leaf != nil:
		s := snap.State()
		d.Task = prompt.TaskOf(leaf, s.MinScore(leaf.TaskID))
		if err := e.tellTooLarge(ctx, snap, leaf, d); err != nil {
			return err
		}
		d.DepthLeft = p.Limits().MaxDecompositionDepth - p.Depth(leaf.TaskID)
		for _, other := range p.Tasks {
			if slices.Contains(other.DependsOn, leaf.TaskID) {
				d.Dependants = append(d.Dependants, other.TaskID)
			}
		}
	case len(p.Grafts) > 0 && t.TaskID != plan.PlanTaskID:
		text, err := plandoc.WriteYAML(p)
		if err != nil {
			return err
		}
		d.Current = prompt.Text(text)
	}
	return nil
}

// planReviewData is what the reviewer of a plan must know: what was asked for and, of a plan that changes another, that
// one, why, and which leaf is split.
func (e *Engine) planReviewData(ctx context.Context, w *workDir, d *prompt.Data) error {
	snap, t := w.snap, w.task
	takeRequirements(d)
	var err error
	if d.Tree, err = e.paths(ctx); err != nil || len(snap.Plan.Grafts) == 0 {
		return err
	}
	d.Reason = prompt.Text(t.Description)
	text, err := plandoc.WriteYAML(snap.Plan)
	if err != nil {
		return err
	}
	d.Current = prompt.Text(text)
	leaf := snap.Plan.Task(t.SplitTargetTaskID)
	if leaf == nil {
		return nil
	}
	d.Leaves = []prompt.Leaf{prompt.LeafOf(leaf)}
	return e.tellTooLarge(ctx, snap, leaf, d)
}

// tellTooLarge tells the agent that splits a leaf what the last feasibility check found too large about it, and who
// said so: the agent must know where the size comes from.
func (e *Engine) tellTooLarge(ctx context.Context, snap *gitstore.Snapshot, leaf *plan.Task, d *prompt.Data) error {
	all, err := Judgements(ctx, e.Store, snap, leaf.TaskID)
	if err != nil || len(all) == 0 {
		return err
	}
	j := all[len(all)-1]
	if j.OneShotPass {
		return nil // a person wants the split anyway, and d.Reason is theirs
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The feasibility check found it too large: %s.\n", strings.TrimRight(j.Why, ".;"))
	for _, said := range []struct {
		who string
		j   *estimate.Judgement
	}{{"the planner", j.Sources.Planner}, {"the agent", j.Sources.Agent}} {
		if said.j == nil {
			continue
		}
		fmt.Fprintf(&b, "- %s: %g person-days", said.who, said.j.Days)
		if said.j.OneShotPass != nil && !*said.j.OneShotPass {
			b.WriteString(", not in one go")
		}
		if said.j.Why != "" {
			b.WriteString(": " + said.j.Why)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "- the rule: %g person-days: %s\n", j.Sources.Rule.Days, strings.Join(j.Sources.Rule.Why, ", "))
	d.TooLarge = prompt.Text(b.String())
	return nil
}

// answers are the answered questions of a task and of the tasks above it.
func (e *Engine) answers(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) ([]prompt.Answer, error) {
	var all []prompt.Answer
	answered, err := e.answered(ctx, snap, t.TaskID)
	for _, q := range answered {
		a := q.Answer
		text := a.Text
		for _, o := range q.Options {
			if o.OptionID == a.OptionID {
				text = strings.TrimSpace(o.OptionID + ": " + o.Description + "\n" + text)
			}
		}
		if len(a.Inputs) > 0 {
			text = strings.TrimSpace(text + "\nFiles were handed in: see the input " + q.Name + ".")
		}
		of := prompt.Answer{ID: q.QuestionID, Question: q.Question.Question, Text: prompt.Text(text)}
		if a.Role != "" {
			of.By = a.Who()
		}
		all = append(all, of)
	}
	return all, err
}

// packet is what a reviewing agent gets: the spec and the criteria, the candidate's files, the changes since the last
// reviewed version, and what the engine itself ran and saw. It leaves out what the maker says about it.
func (e *Engine) packet(ctx context.Context, w *workDir, ev evidence) (prompt.Data, error) {
	d, snap, t := e.promptData(w), w.snap, w.task
	d.Attempt, d.Inputs = w.attempt, w.told
	a := ev.subject.Artifact
	w.source = a.SourceCommit
	// beside the working directory: an agent would take what a candidate there says to agents for its own rules
	candidate := filepath.Join(w.in, "candidate")
	d.Candidate = &prompt.Candidate{Dir: candidate, Version: plan.VersionNumber(a.ArtifactID),
		Ran: prompt.RanOf(ev.ran)}
	var err error
	if t.Changes() {
		err = e.showChange(ctx, snap, d.Candidate, a)
	} else if err = os.Mkdir(candidate, 0o777); err == nil {
		if err = e.Store.Export(ctx, a.Tree, candidate); err == nil {
			d.Candidate.Files, err = filesOf(candidate, a.Files, "", mostJudged)
		}
	}
	if err != nil {
		return d, err
	}
	if err := e.lastReview(ctx, w, d.Candidate.Version-1); err != nil {
		return d, err
	}
	if w.rejected != nil {
		d.Rejected = prompt.RejectionOf(*w.rejected, w.rejection)
	}
	r := snap.Records.Of(t.TaskID)
	for _, rev := range r.Reviews {
		if rev.Version < d.Candidate.Version {
			d.Candidate.DiffFrom = max(d.Candidate.DiffFrom, rev.Version)
		}
	}
	if before, ok := r.Version(d.Candidate.DiffFrom); ok {
		d.Candidate.Diff, err = e.diff(ctx, before.Files, a.Tree)
	}
	return d, err
}

// diff is what has changed from one version's files to another's.
func (e *Engine) diff(ctx context.Context, before, after plan.OID) (prompt.Text, error) {
	text, err := e.Store.Git(ctx, "diff-tree", "-p", "-M", "--no-ext-diff", "--no-textconv",
		"--no-color", "--end-of-options", string(before), string(after))
	return prompt.Text(text), err
}

// mostJudged is the size, in bytes, of the largest reviewed file whose text can be part of a prompt.
const mostJudged = 64 << 10

// mostRead is how much text of one version's files is read for a prompt, in bytes: no agent is told more.
const mostRead = 4 << 20

// filesOf describes the files of a version below dir, with the text of those up to the given size; bundle is their
// directory in the bundle.
func filesOf(dir string, infos []plan.FileInfo, bundle string, most int64) ([]prompt.File, error) {
	files := make([]prompt.File, 0, len(infos))
	left := int64(mostRead)
	for _, info := range infos {
		var content []byte
		if info.Size <= min(most, left) && info.Mode != "120000" {
			left -= info.Size
			var err error
			if content, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(info.Path))); err != nil {
				return nil, err
			}
		}
		f := prompt.FileOf(info, content)
		if bundle != "" {
			f.Bundle = bundle + "/" + info.Path
		}
		files = append(files, f)
	}
	return files, nil
}

// resultMeans says what it means to give a result.
var resultMeans = map[contract.ResultType]string{
	contract.Artifact: "The deliverable is complete:",
	contract.NeedsInput: "It can't be made without something that only a person can give, and that was " +
		"not answered yet:",
	contract.Noop:        "There is nothing to do:",
	contract.Review:      "Your verdict, with each criterion that no command decides:",
	contract.Feasibility: "Your estimates; a task that you leave out keeps the planner's number:",
	contract.Answer:      "Your answer:",
}

// withoutFiles is the example of an answer on one line, as an agent gives it that has written the files.
func withoutFiles(example []byte) []byte {
	var answer map[string]any
	if err := json.Unmarshal(example, &answer); err != nil {
		return example
	}
	delete(answer, "files")
	short, err := json.Marshal(answer)
	if err != nil {
		return example
	}
	return append(short, '\n')
}

// contractText says which form an answer must have.
func contractText(role contract.Role, writes bool) string {
	var b strings.Builder
	b.WriteString("Answer with one JSON object, and nothing before or after it. It has one of these forms:\n")
	for _, result := range role.Results() {
		means := cmp.Or(resultMeans[result], "It can't be done:")
		example := contract.Example(role, result)
		if writes {
			example = withoutFiles(example)
		}
		fmt.Fprintf(&b, "\n%s\n\n```json\n%s```\n", means, example)
	}
	if role == contract.RoleAction || role == contract.RoleCheck {
		fmt.Fprintf(&b, "\nWith it you may leave notes for whoever works on this plan later: `\"notes\": "+
			"[{\"category\": \"learnings\", \"text\": \"...\"}]`, the category one of %s.\n",
			strings.Join(plan.Note{}.Categories(), ", "))
	}
	if role == contract.RoleAction {
		b.WriteString("What is wrong with the work of another task goes into `\"concerns\": [{\"task_id\": \"...\", " +
			"\"text\": \"...\"}]`.\n")
	}
	switch {
	case role.Usual() != contract.Artifact:
	case writes:
		b.WriteString("\nThe deliverable is what you wrote.\n")
	default:
		b.WriteString("\nEvery file of the deliverable is in `files`, with its whole content; `encoding` is `base64` " +
			"for what is no text.\n")
	}
	return b.String()
}
