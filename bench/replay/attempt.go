package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// errNothing is of a way that does not exist here: there is no record to take away.
var errNothing = errors.New("nothing is recorded of it")

// How an attempt ended.
const (
	refused = "refused"
	waits   = "waits for a person"
	taken   = "TAKEN"
)

// outcome is how one way to make a move ended, and what was said.
type outcome struct{ way, result, said string }

// way is one way to make a move. It makes it, and says what was said; whether it came to anything, the plan shows.
type way struct {
	name  string
	kinds []kind
	try   func(*stage, context.Context, move) (said string, err error)
}

// ways are all there are: what the orchestrator decides, what an agent or a person amends, verdicts of whoever may not
// give them, and forged records that are pushed.
var ways = []way{
	{"a decision's dev_plan_next", wrong, (*stage).decides},
	{"a decision to FINISH", []kind{skipped}, (*stage).finishes},
	{"an agent's amendment", wrong, (*stage).agentAmends},
	{"a person's amendment", []kind{skipped, undone, rewritten}, (*stage).personAmends},
	{"verdicts before their time", []kind{skipped}, (*stage).judgesEarly},
	{"a review by hand", []kind{skipped}, (*stage).reviewsByHand},
	{"a forged graft", []kind{changed, dropped, retitled}, (*stage).forgesGraft},
	{"plan.json in another event", []kind{changed, dropped, retitled}, (*stage).forgesPlan},
	{"a forged review", []kind{skipped}, (*stage).forgesReview},
	{"a forged act", []kind{skipped}, (*stage).forgesAct},
	{"a record taken away", []kind{dropped, undone}, (*stage).removes},
	{"a record changed", []kind{rewritten}, (*stage).changes},
}

// attempt tries a move by every way, each from the state that was staged.
func (s *stage) attempt(ctx context.Context, m move) (all []outcome, err error) {
	tip, err := s.Git(ctx, "rev-parse", s.ref())
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		if !slices.Contains(w.kinds, m.kind) {
			continue
		}
		said, err := w.try(s, ctx, m)
		if errors.Is(err, errNothing) {
			continue
		}
		if err = errors.Join(err, s.broken); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", m.before.id, w.name, err)
		}
		o := outcome{w.name, refused, said}
		if why := s.same(ctx); why != nil {
			o.result, o.said = taken, why.Error()
		} else if state, err := s.state(ctx); err != nil {
			return nil, err
		} else if open := state.Plan.PlanningOf(""); open != nil && state.Tasks[open.TaskID].Active > 0 &&
			state.Tasks[open.TaskID].Status == plan.StatusReadyToCheck {
			o.result = waits
		}
		if at, err := s.Git(ctx, "ls-remote", "origin", s.ref()); err != nil {
			return nil, err
		} else if !strings.HasPrefix(at, tip) {
			o.result, o.said = taken, "the server took it"
		}
		all = append(all, o)
		if _, err := s.Git(ctx, "update-ref", s.ref(), tip); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// candidate is the plan as the move would have it.
func (s *stage) candidate(m move) []byte {
	tasks, more := slices.Clone(s.from.tasks), map[string]map[string]any{}
	at := slices.IndexFunc(tasks, func(t task) bool { return t.id == m.before.id })
	switch m.kind {
	case changed:
		tasks[at].acceptance = m.after.acceptance
	case retitled:
		tasks[at].title = m.after.title
	case dropped:
		tasks = slices.Delete(tasks, at, at+1)
	default:
		more[m.before.id] = map[string]any{"status": m.after.status, "evidence": m.after.evidence}
	}
	return s.text(tasks, more)
}

// said is the first line of what a command says in which there is a reason.
func said(o *chaostest.Outcome) string {
	for _, word := range []string{"REJECTED", "error:", "rejected", "awaits"} {
		for line := range strings.Lines(o.Err + o.Out) {
			if strings.Contains(line, word) {
				return strings.Join(strings.Fields(line), " ")
			}
		}
	}
	return ""
}

// decided has MAIN make one decision: the user answers the question that it had, and the plan is carried on.
func (s *stage) decided(ctx context.Context, fields map[string]any) (string, error) {
	s.decide(fields)
	if _, err := s.Must(ctx, "answer", "--plan", string(s.id), "--option", "a", mainTask); err != nil {
		return "", err
	}
	o, err := s.WF(ctx, "run", "--plan", string(s.id))
	if err != nil {
		return "", err
	}
	why := said(o)
	if strings.Contains(why, "REJECTED") { // by rules, which the commit names
		text, err := s.Git(ctx, "log", "-1", "--format=%B", "--author=decision-review", "--grep=reject", s.ref())
		if at := rule.FindString(text); at != "" || err != nil {
			return at, err
		}
	}
	return why, nil
}

// rule finds what a decision breaks.
var rule = regexp.MustCompile(`\bD[0-9]+: .*`)

func (s *stage) decides(ctx context.Context, m move) (string, error) {
	d := asking("Is that right?")
	d["dev_plan_next"] = string(s.candidate(m))
	return s.decided(ctx, d)
}

func (s *stage) finishes(ctx context.Context, _ move) (string, error) {
	return s.decided(ctx, map[string]any{"next_agent": "FINISH", "reason": "all is verified"})
}

func (s *stage) agentAmends(ctx context.Context, m move) (string, error) {
	if err := os.WriteFile(s.next(), s.candidate(m), 0o666); err != nil {
		return "", err
	}
	o, err := s.WF(ctx, "plan", "--plan", string(s.id), "--amend", "-m", "as the orchestrator has it")
	if err != nil {
		return "", err
	}
	return said(o), nil
}

func (s *stage) personAmends(ctx context.Context, m move) (string, error) {
	if err := os.WriteFile(s.next(), s.candidate(m), 0o666); err != nil {
		return "", err
	}
	o, err := s.WF(ctx, "plan", "--plan", string(s.id), "--amend", "-f", s.next())
	if err != nil {
		return "", err
	}
	return said(o), nil
}

func (s *stage) next() string { return filepath.Join(s.Lab.Dir, "next.yaml") }

// verdict is what a judge would say of the task.
func (s *stage) verdict(m move) map[string]any {
	var rulings []map[string]any
	for i := range len(m.before.lines()) + 1 {
		rulings = append(rulings, map[string]any{"id": fmt.Sprintf("A%d", i+1), "pass": true, "evidence": "said so"})
	}
	return map[string]any{"task_id": s.names[m.before.id], "artifact_id": "v1", "verdict": "APPROVED", "criteria": rulings}
}

func (s *stage) judgesEarly(ctx context.Context, m move) (string, error) {
	text, err := json.Marshal(map[string]any{"schema_version": 1, "mode": "single", "summary": "said so",
		"verdicts": []any{s.verdict(m)}})
	file := filepath.Join(s.Lab.Dir, "verdicts.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o666)
	}
	if err != nil {
		return "", err
	}
	o, err := s.WF(ctx, "submit", "--plan", string(s.id), string(unjudged), file)
	if err != nil {
		return "", err
	}
	first := said(o)
	if o, err = s.WF(ctx, "run", "--plan", string(s.id)); err != nil || first != "" {
		return first, err
	}
	return said(o), nil
}

func (s *stage) reviewsByHand(ctx context.Context, m move) (string, error) {
	o, err := s.WF(ctx, "review", "--plan", string(s.id), string(s.names[m.before.id]), "--approve")
	if err != nil {
		return "", err
	}
	return said(o), nil
}

// forge pushes a commit that changes the plan's tree: paths with their new content, nil for one that goes.
func (s *stage) forge(ctx context.Context, trailers string, paths map[string][]byte) (string, error) {
	r := *s.Repo
	r.Env = append(slices.Clone(s.Env), "GIT_INDEX_FILE="+filepath.Join(s.Lab.Dir, "forged-index"))
	if _, err := r.Git(ctx, "read-tree", s.ref()); err != nil {
		return "", err
	}
	file := filepath.Join(s.Lab.Dir, "forged")
	for path, data := range paths {
		args := []string{"update-index", "--force-remove", path}
		if data != nil {
			if err := os.WriteFile(file, data, 0o666); err != nil {
				return "", err
			}
			blob, err := r.Git(ctx, "hash-object", "-w", file)
			if err != nil {
				return "", err
			}
			args = []string{"update-index", "--add", "--cacheinfo", "100644," + blob + "," + path}
		}
		if _, err := r.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	tree, err := r.Git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := r.Git(ctx, "commit-tree", "-p", s.ref(), "-m", "forged", "-m", trailers, tree)
	if err != nil {
		return "", err
	}
	_, err = s.Git(ctx, "push", "-q", "--no-verify", "--force", "origin", commit+":"+s.ref())
	if err == nil {
		return "", nil
	}
	for line := range strings.Lines(err.Error()) {
		if _, why, ok := strings.Cut(line, "error: "); ok {
			return strings.TrimSpace(why), nil
		}
	}
	return "", err
}

// planned is plan.json with the move in it.
func (s *stage) planned(ctx context.Context, m move) ([]byte, error) {
	text, err := s.Git(ctx, "cat-file", "blob", s.ref()+":plan.json")
	if err != nil {
		return nil, err
	}
	p, err := plandoc.Decode([]byte(text + "\n"))
	if err != nil {
		return nil, err
	}
	id := s.names[m.before.id]
	p.Tasks = slices.DeleteFunc(p.Tasks, func(t *plan.Task) bool {
		return m.kind == dropped && (t.TaskID == id || t.ReviewTargetTaskID == id)
	})
	for _, t := range p.Tasks {
		if m.kind == dropped {
			t.DependsOn = slices.DeleteFunc(t.DependsOn, func(d plan.TaskID) bool { return d == id })
			if t.Judges != nil {
				t.Judges.Tasks = slices.DeleteFunc(t.Judges.Tasks, func(d plan.TaskID) bool { return d == id })
			}
		}
		if t.TaskID != id {
			continue
		}
		if m.kind == retitled {
			t.Title = m.after.heading()
			continue
		}
		criteria := t.AcceptanceCriteria[:1]
		for i, line := range m.after.lines() {
			c := plan.Criterion{ID: fmt.Sprintf("A%d", i+2), Statement: line, Run: "test -s work.txt"}
			if i+1 < len(t.AcceptanceCriteria) {
				c.Type, c.CheckMethod, c.Severity = t.AcceptanceCriteria[i+1].Type, t.AcceptanceCriteria[i+1].CheckMethod,
					t.AcceptanceCriteria[i+1].Severity
			}
			criteria = append(criteria, c)
		}
		t.AcceptanceCriteria = criteria
	}
	return plandoc.Encode(p)
}

func (s *stage) forgesGraft(ctx context.Context, m move) (string, error) {
	text, err := s.planned(ctx, m)
	if err != nil {
		return "", err
	}
	return s.forge(ctx, "Wf-Event: graft\nWf-Task: PLAN-1\nWf-Artifact: v1", map[string][]byte{"plan.json": text})
}

func (s *stage) forgesPlan(ctx context.Context, m move) (string, error) {
	text, err := s.planned(ctx, m)
	if err != nil {
		return "", err
	}
	return s.forge(ctx, "Wf-Event: review\nWf-Task: "+string(s.names[m.before.id]), map[string][]byte{"plan.json": text})
}

// review is the record of a judge's approval of v1.
func (s *stage) review(m move) map[string][]byte {
	id := s.names[m.before.id]
	dir := id.Dir() + "/reviews/r9-v1-100-" + string(unjudged)
	text := plan.Document(map[string]any{
		"review_id": "r9", "task_id": id, "check_task_id": id.CheckID(), "reviewed_artifact_id": "v1", "verdict": "APPROVED",
		"score": 100, "min_score": 80, "reviewer": unjudged, "created_at": "2026-01-01T00:00:00Z", "criteria": []any{},
		"judged_by": map[string]any{"task_id": unjudged, "artifact_id": "v1"},
	})
	return map[string][]byte{dir + "/APPROVED.md": []byte("approved\n"), dir + "/review.json": text}
}

func (s *stage) forgesReview(ctx context.Context, m move) (string, error) {
	return s.forge(ctx, "Wf-Event: review\nWf-Task: "+string(s.names[m.before.id]), s.review(m))
}

func (s *stage) forgesAct(ctx context.Context, m move) (string, error) {
	paths := s.review(m)
	act := unjudged.Dir() + "/acts/v1-a1-verdicts.json"
	paths[act] = plan.Document(map[string]any{"schema_version": 1, "task_id": unjudged, "artifact_id": "v1",
		"kind": "verdicts", "wrote": []string{act}, "by": "review", "created_at": "2026-01-01T00:00:00Z"})
	return s.forge(ctx, "Wf-Event: verdicts\nWf-Task: "+string(unjudged)+"\nWf-Artifact: v1", paths)
}

// records are the paths of what is recorded of the task.
func (s *stage) records(ctx context.Context, m move) ([]string, error) {
	text, err := s.Git(ctx, "ls-tree", "-r", "--name-only", s.ref(), s.names[m.before.id].Dir()+"/")
	return strings.Fields(text), err
}

func (s *stage) removes(ctx context.Context, m move) (string, error) {
	paths, err := s.records(ctx, m)
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", errNothing
	}
	gone := map[string][]byte{}
	for _, path := range paths {
		if m.kind == dropped || strings.Contains(path, "/reviews/") {
			gone[path] = nil
		}
	}
	return s.forge(ctx, "Wf-Event: abandoned\nWf-Task: "+string(s.names[m.before.id]), gone)
}

func (s *stage) changes(ctx context.Context, m move) (string, error) {
	paths, err := s.records(ctx, m)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(paths, func(p string) bool { return strings.HasSuffix(p, string(judged)+"/review.json") })
	if at < 0 {
		return "", errors.New("there is no review of a judge")
	}
	text, err := s.Git(ctx, "cat-file", "blob", s.ref()+":"+paths[at])
	if err != nil {
		return "", err
	}
	other, err := json.Marshal(m.after.evidence)
	if err != nil {
		return "", err
	}
	return s.forge(ctx, "Wf-Event: review\nWf-Task: "+string(s.names[m.before.id]),
		map[string][]byte{paths[at]: []byte(strings.ReplaceAll(text, `"read"`, string(other)) + "\n")})
}
