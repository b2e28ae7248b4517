package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// The tasks of a staged plan that are not of the development plan.
const (
	mainTask = "MAIN-1" // decides, and does nothing else

	judged   plan.TaskID = "REVIEW-1" // has judged what is VERIFIED
	unjudged plan.TaskID = "REVIEW-2" // judges the rest
)

// stage is a plan of git wf in the state of a development plan.
type stage struct {
	*chaostest.Repo
	id     plan.ID
	from   devPlan
	names  map[string]plan.TaskID
	queue  string // the directory of MAIN's next decisions
	sent   int
	broken error // what could not be written
}

// theatre is where plans are staged: a repository with its agents, and a server that takes nothing but legal events.
type theatre struct {
	*chaostest.Repo
	server string
}

// mainScript is the orchestrator: it replies with the next decision of the queue, or asks the user if there is none.
const mainScript = `cat > /dev/null
queue=%s/$WF_PLAN
reply=$queue/$(ls "$queue" | head -n 1)
sed "s/@N@/$WF_ATTEMPT/g" "$reply"
case $reply in */ask) ;; *) rm "$reply" ;; esac
`

// plannerScript hands in the plan that lies ready.
const plannerScript = `cat > /dev/null
case $WF_ROLE in
plan) cp %s "$WF_OUT/plan.yaml"; echo '{"schema_version": 1, "result_type": "ARTIFACT"}' ;;
feasibility) echo '{"schema_version": 1, "result_type": "FEASIBILITY", "estimates": []}' ;;
esac
`

// build makes the theatre. Amendments need a person: the policy names one.
func build(ctx context.Context, lab *chaostest.Lab) (*theatre, error) {
	repo, err := lab.NewRepo(ctx)
	if err != nil {
		return nil, err
	}
	t := &theatre{Repo: repo, server: filepath.Join(lab.Dir, "server.git")}
	queue, next := filepath.Join(lab.Dir, "queue"), filepath.Join(lab.Dir, "next.yaml")
	for name, text := range map[string]string{
		"main.sh": fmt.Sprintf(mainScript, queue), "planner.sh": fmt.Sprintf(plannerScript, next),
		"policy.json": `{"schema_version": 1, "plan_reviewers": ["Ada"]}`,
	} {
		if err := os.WriteFile(filepath.Join(lab.Dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "--bare", t.server},
		{"remote", "add", "origin", t.server},
		{"config", "wf.agent.main.kind", "command"},
		{"config", "wf.agent.main.command", "sh " + filepath.Join(lab.Dir, "main.sh")},
		{"config", "wf.agent.planner.kind", "command"},
		{"config", "wf.agent.planner.command", "sh " + filepath.Join(lab.Dir, "planner.sh")},
		{"config", "wf.agent.planner.trustcommands", "true"},
		{"config", "wf.planner", "planner"},
	} {
		if _, err := t.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{
		{"init", "--server", t.server},
		{"policy", "set", filepath.Join(lab.Dir, "policy.json")},
	} {
		if _, err := t.Must(ctx, args...); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// play stages a development plan: what is DONE there has an approved version, what is VERIFIED was judged, and what is
// DOING or BLOCKED has a version that was rejected. MAIN has ordered all of it, and asks the user now.
func (t *theatre) play(ctx context.Context, name string, from devPlan) (*stage, error) {
	s := &stage{Repo: t.Repo, id: plan.ID("WFS-" + name), from: from, names: named(from.tasks)}
	s.queue = filepath.Join(t.Lab.Dir, "queue", string(s.id))
	if err := os.MkdirAll(s.queue, 0o777); err != nil {
		return nil, err
	}
	s.put("ask", asking("What comes after @N@?"))
	for _, role := range []string{verified, done, doing, blocked} {
		for _, x := range from.tasks {
			if x.status == role {
				s.decide(order("dev", s.names[x.id]))
			}
		}
		if role == verified && s.judges(from.tasks, judged) != nil {
			s.decide(order("review", judged))
		}
	}
	file := filepath.Join(t.Lab.Dir, name+".json")
	if err := os.WriteFile(file, s.text(from.tasks, nil), 0o666); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		args []string
		exit []int
	}{
		{[]string{"plan", "-f", file}, []int{0, 3}},
		{[]string{"review", "PLAN-1", "--plan", string(s.id), "--approve"}, []int{0}},
		{[]string{"run", "--quiet", "--plan", string(s.id)}, []int{3}},
	} {
		if o, err := s.WF(ctx, step.args...); err != nil || !slices.Contains(step.exit, o.Exit) {
			return nil, errors.Join(err, errors.New(o.String()))
		}
	}
	if _, err := s.Git(ctx, "push", "-q", "origin", s.ref()); err != nil { // all of it is legal
		return nil, err
	}
	return s, errors.Join(s.broken, s.same(ctx))
}

func (s *stage) ref() string { return "refs/workflow/" + string(s.id) }

// same fails unless the plan of git wf is in the state that was staged.
func (s *stage) same(ctx context.Context) error {
	state, err := s.state(ctx)
	if err != nil {
		return err
	}
	for _, x := range s.from.tasks {
		t := state.Tasks[s.names[x.id]]
		if t == nil {
			return fmt.Errorf("%s: %s is not in the plan", s.from.name, x.id)
		}
		is := todo
		switch {
		case t.Approved > 0 && state.Verified(t.TaskID):
			is = verified
		case t.Approved > 0:
			is = done
		case t.Active > 0:
			is = doing
		}
		want := x.status
		if want == blocked {
			want = doing
		}
		if is != want {
			return fmt.Errorf("%s: %s is %s, expected %s", s.from.name, x.id, is, want)
		}
		if t.Title != x.heading() || !slices.Equal(statements(t.AcceptanceCriteria), x.lines()) {
			return fmt.Errorf("%s: %s is another task than it was", s.from.name, x.id)
		}
	}
	return nil
}

func (s *stage) state(ctx context.Context) (*plan.State, error) {
	store, err := gitstore.Open(ctx, s.Dir)
	if err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(ctx, s.id)
	if err != nil {
		return nil, err
	}
	return snap.State(), nil
}

// decide puts a decision into the queue of MAIN.
func (s *stage) decide(fields map[string]any) {
	s.sent++
	s.put(fmt.Sprintf("%04d", s.sent), fields)
}

// put writes the reply that MAIN gives in its turn; the names are in order.
func (s *stage) put(name string, fields map[string]any) {
	fields["history_append"] = fmt.Sprintf("## Iteration @N@:\nnext_agent: %v\nreason: %v\ndev_plan: as given",
		fields["next_agent"], fields["reason"])
	line, err := json.Marshal(fields)
	reply, err2 := json.Marshal(map[string]any{"schema_version": 1, "result_type": "ARTIFACT", "summary": "decided",
		"files": []map[string]any{{"path": "decision.json", "content": string(line)}}})
	s.broken = errors.Join(s.broken, err, err2, os.WriteFile(filepath.Join(s.queue, name), reply, 0o666))
}

// asking are the fields of a decision that asks the user.
func asking(question string) map[string]any {
	return map[string]any{
		"next_agent": "USER", "reason": "the user knows", "question": question, "recommended_option_id": "a",
		"options": []map[string]any{{"option_id": "a", "description": "yes"}, {"option_id": "b", "description": "no"}},
	}
}

func order(role string, task plan.TaskID) map[string]any {
	return map[string]any{"next_agent": role, "task_id": task, "reason": "next", "task": "Do it."}
}

// named gives each task of a development plan an id: M1-T2 is DEV-1.2.
func named(tasks []task) map[string]plan.TaskID {
	names := map[string]plan.TaskID{}
	for i, x := range tasks {
		id := plan.TaskID("DEV-" + strings.Join(digits.FindAllString(x.id, -1), "."))
		if !id.Valid() || slices.Contains(slices.Collect(maps.Values(names)), id) {
			id = plan.TaskID(fmt.Sprintf("OTHER-%d", i+1))
		}
		names[x.id] = id
	}
	return names
}

var digits = regexp.MustCompile(`[0-9]+`)

// heading is the title on one line.
func (t task) heading() string {
	if words := strings.Join(strings.Fields(t.title), " "); words != "" {
		return words
	}
	return t.id
}

// lines are what is accepted, each once and on one line. What is no line of text is no criterion.
func (t task) lines() (lines []string) {
	for line := range strings.Lines(t.acceptance) {
		line = strings.Join(strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "- ")), " ")
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// statements are the criteria that come from the development plan.
func statements(criteria []plan.Criterion) (all []string) {
	for _, c := range criteria[1:] {
		all = append(all, c.Statement)
	}
	return all
}

// judges are the tasks that a judge of the staged plan judges.
func (s *stage) judges(tasks []task, judge plan.TaskID) (ids []plan.TaskID) {
	for _, x := range tasks {
		if was, _ := s.from.of(x.id); (was.status == verified) == (judge == judged) {
			ids = append(ids, s.names[x.id])
		}
	}
	return ids
}

// text is a plan of git wf with the tasks; more are fields that a task gets beside its own.
func (s *stage) text(tasks []task, more map[string]map[string]any) []byte {
	type object = map[string]any
	file := func(format, name string) object { return object{"format": format, "filename": name} }
	list := []object{{
		"task_id": mainTask, "title": "Decisions", "role": "main", "agent": "main", "estimated_person_days": 1,
		"decides":             object{"orders": []string{"dev", "review"}, "max": 500},
		"deliverable_spec":    file("decision", "decision.json"),
		"acceptance_criteria": []object{{"id": "C1", "statement": "decision.json keeps the rules"}},
	}}
	var verdicts []object
	for _, x := range tasks {
		was, _ := s.from.of(x.id)
		word := "done"
		if was.status == doing || was.status == blocked {
			word = "begun"
		}
		criteria := []object{{"id": "A1", "statement": "work.txt says that it is done", "run": "grep -q done work.txt"}}
		rulings := []object{{"id": "A1", "pass": true, "evidence": "read"}}
		for i, line := range x.lines() {
			id := fmt.Sprintf("A%d", i+2)
			criteria = append(criteria, object{"id": id, "statement": line, "run": "test -s work.txt"})
			rulings = append(rulings, object{"id": id, "pass": true, "evidence": "read"})
		}
		t := object{
			"task_id": s.names[x.id], "title": x.heading(), "role": "dev", "estimated_person_days": 1,
			"run": `echo ` + word + ` > "$WF_OUT/work.txt"`, "deliverable_spec": file("txt", "work.txt"),
			"acceptance_criteria": criteria,
		}
		maps.Copy(t, more[x.id])
		list = append(list, t)
		if was.status == verified {
			verdicts = append(verdicts, object{"task_id": s.names[x.id], "artifact_id": "v1", "verdict": "APPROVED",
				"criteria": rulings})
		}
	}
	for _, judge := range []plan.TaskID{judged, unjudged} {
		ids := s.judges(tasks, judge)
		if ids == nil {
			continue
		}
		said, err := json.Marshal(object{"schema_version": 1, "mode": "milestone", "summary": "read", "verdicts": verdicts})
		s.broken = errors.Join(s.broken, err)
		list = append(list, object{
			"task_id": judge, "title": "Review", "role": "review", "estimated_person_days": 1, "depends_on": ids,
			"judges": object{"tasks": ids}, "run": "echo '" + string(said) + `' > "$WF_OUT/verdicts.json"`,
			"deliverable_spec":    file("verdicts", "verdicts.json"),
			"acceptance_criteria": []object{{"id": "V1", "statement": "verdicts.json is there", "run": "test -s verdicts.json"}},
		})
	}
	text, err := json.Marshal(object{
		"title": strings.TrimPrefix(string(s.id), "WFS-"), "tasks": list,
		"config": object{"reviewers": []string{"checks"}, "max_attempts": 3},
		"roles": object{"main": object{"kind": "orchestrator", "text": "Decide."}, "dev": object{"text": "Make it."},
			"review": object{"text": "Judge it."}},
	})
	s.broken = errors.Join(s.broken, err)
	return text
}
