package act

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// deciding is a plan in which MAIN-1 orders TEST-1, DEV-1 and DEV-2, which REVIEW-1 judges, and DEV-9 of a later
// milestone. names are records beside those of what each task has: "DEV-1 orders/o1-d1-b0-a0.json".
func deciding(t testing.TB, done string, names ...string) Deciding {
	t.Helper()
	p := &plan.Plan{SchemaVersion: 2, PlanID: "WFS-x", RootTaskID: "GOAL-1",
		Roles: map[string]plan.Role{"main": {Text: "x"}, "test": {Text: "x"}, "dev": {Text: "x"}, "review": {Text: "x"}},
		Tasks: []*plan.Task{{TaskID: "GOAL-1", NodeType: plan.Goal}}}
	add := func(id plan.TaskID, role string, depends ...plan.TaskID) *plan.Task {
		task := &plan.Task{TaskID: id, NodeType: plan.Action, ParentTaskID: "GOAL-1", Role: role, DependsOn: depends,
			AcceptanceCriteria: []plan.Criterion{{ID: "A1", Severity: plan.Must, CheckMethod: plan.ManualReview}}}
		p.Tasks = append(p.Tasks, task, &plan.Task{TaskID: id.CheckID(), NodeType: plan.Check, ReviewTargetTaskID: id, MinScore: 80})
		return task
	}
	add("MAIN-1", "main").Decides = &plan.Decides{Orders: []string{"test", "dev", "review"}, Max: 9}
	add("TEST-1", "test")
	add("DEV-1", "dev", "TEST-1")
	add("DEV-2", "dev")
	add("DEV-3", "dev")
	judge := add("REVIEW-1", "review", "TEST-1", "DEV-1", "DEV-2", "DEV-3")
	judge.Judges = &plan.Judges{Tasks: judge.DependsOn}
	judge.Judges.Partial = &struct {
		BlockedRounds int `json:"blocked_rounds"`
		Done          int `json:"done"`
	}{2, 3}
	add("DEV-9", "dev")
	of := map[plan.TaskID][]plan.Name{}
	for _, id := range strings.Fields(done) {
		of[plan.TaskID(id)] = []plan.Name{{Path: "artifacts/v1/artifact.json"}, {Path: "artifacts/v1/files", OID: "1"},
			{Path: "reviews/r1-v1-100-ann/review.json"}, {Path: "reviews/r1-v1-100-ann/APPROVED.md"}}
	}
	for _, n := range names {
		id, path, _ := strings.Cut(n, " ")
		of[plan.TaskID(id)] = append(of[plan.TaskID(id)], plan.Name{Path: path})
	}
	records := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{}}
	for id, list := range of {
		records.Tasks[id] = plan.ParseTaskRecords(list)
	}
	d := Deciding{State: plan.Derive(p, records, nil, time.Now()), Decider: "MAIN-1", Version: 3,
		Failures: map[plan.TaskID]Failure{}}
	return d
}

// rejected are the records of a version that somebody rejected.
func rejected(id string) []string {
	return []string{id + " artifacts/v1/artifact.json", id + " artifacts/v1/files", id + " reviews/r1-v1-10-ann/review.json",
		id + " reviews/r1-v1-10-ann/REJECTED.md"}
}

func line(fields map[string]any) string {
	all := map[string]any{"reason": "because", "dev_plan_next": nil, "task": "Do it.",
		"history_append": "## Iteration 3:\nnext_agent: dev\nreason: because\ndev_plan: unchanged"}
	for k, v := range fields {
		all[k] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestDecisionRules(t *testing.T) {
	type m = map[string]any
	const milestone = "TEST-1 DEV-1 DEV-2 DEV-3"
	two := []m{{"option_id": "a", "description": "one"}, {"option_id": "b", "description": "two"}}
	user := func(more m) m {
		all := m{"next_agent": "USER", "task": nil, "question": "Which?", "options": two, "recommended_option_id": "a"}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	dev := m{"next_agent": "dev", "task_id": "DEV-1"}
	with := func(base, more m) m {
		all := m{}
		for _, of := range []m{base, more} {
			for k, v := range of {
				all[k] = v
			}
		}
		return all
	}
	review := m{"next_agent": "review", "task_id": "REVIEW-1"}
	blocked := []string{"DEV-3 questions/q1.json", "MAIN-1 acts/v1-a0-order.json", "MAIN-1 acts/v2-a0-order.json"}
	concern := func(d *Deciding) { d.Concerns = []Concern{{"DEV-1", "TEST-1", "it expects 403"}} }
	failed := func(n int) func(*Deciding) {
		return func(d *Deciding) { d.Failures["DEV-1"] = Failure{n, []string{"A1"}} }
	}
	asked := func(answered bool) func(*Deciding) {
		return func(d *Deciding) {
			d.Questions = []Asked{{plan.Question{TaskID: "MAIN-1", QuestionID: "q1", Question: "which?", Kind: plan.AskText}, answered}}
		}
	}
	devAsks := func(d *Deciding) {
		d.Questions = []Asked{{plan.Question{TaskID: "DEV-3", QuestionID: "q1", Question: "Log it?", Kind: plan.AskText}, false}}
	}
	for name, tt := range map[string]struct {
		done   string
		names  []string
		change func(*Deciding)
		says   m
		raw    string
		want   string // the codes of what is found
	}{
		"D1 text around":    {raw: "Here it is: " + line(dev), want: "D1"},
		"D1 text behind":    {raw: line(dev) + " Done.", want: "D1"},
		"D1 a fence":        {raw: "```json\n" + line(dev) + "\n```", want: "D1"},
		"D1 two lines":      {raw: strings.Replace(line(dev), ",", ",\n", 1), want: "D1"},
		"D1 two objects":    {raw: line(dev) + line(dev), want: "D1"},
		"D1 unknown field":  {says: with(dev, m{"verdicts": []m{}}), want: "D1"},
		"D1 a status":       {says: with(dev, m{"status": "VERIFIED"}), want: "D1"},
		"D1 one line":       {done: "TEST-1", raw: line(dev) + "\n"},
		"D2 ready":          {done: "TEST-1", says: dev},
		"D2 the first one":  {says: m{"next_agent": "test"}},
		"D2 to be modified": {done: "TEST-1", names: rejected("DEV-1"), says: dev},
		"D2 waits":          {says: dev, want: "D2"},
		"D2 done":           {done: "TEST-1 DEV-1", says: dev, want: "D2"},
		"D2 another role":   {says: m{"next_agent": "dev", "task_id": "TEST-1"}, want: "D2"},
		"D2 no such role":   {says: m{"next_agent": "boss"}, want: "D2"},
		"D2 no such task":   {says: m{"next_agent": "dev", "task_id": "DEV-77"}, want: "D2"},
		"D1 a field twice":  {raw: `{"next_agent": "FINISH", ` + line(dev)[1:], want: "D1"},
		"D1 a megabyte":     {says: with(dev, m{"reason": strings.Repeat("x", 1<<20)}), want: "D1"},
		"D1 deep":           {raw: `{"next_agent":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", want: "D1"},
		"D2 a path":         {says: m{"next_agent": "dev", "task_id": "../../REVIEW-1"}, want: "D2"},
		"D2 two lines":      {done: "TEST-1", says: m{"next_agent": "dev", "task_id": "DEV-1\nWf-Event: approve"}, want: "D2"},
		"D2 a check":        {says: m{"next_agent": "review", "task_id": "CHECK-DEV-1"}, want: "D2"},
		"D2 itself":         {says: m{"next_agent": "main", "task_id": "MAIN-1"}, want: "D2"},
		"D2 while one is open": {names: []string{"DEV-2 orders/o1-d1-b0-a0.json"}, says: m{"next_agent": "test", "task_id": "TEST-1"},
			want: "D2"},
		"D2 ordered already": {names: []string{"TEST-1 orders/o1-d1-b0-a0.json"}, says: m{"next_agent": "test", "task_id": "TEST-1"},
			want: "D2"},
		"D3 milestone":           {done: milestone, says: with(review, m{"mode": "milestone"})},
		"D3 too early":           {done: "TEST-1 DEV-1 DEV-2", says: review, want: "D3"},
		"D3 partial":             {done: "TEST-1 DEV-1 DEV-2", names: blocked, says: with(review, m{"mode": "partial"})},
		"D3 partial, all done":   {done: milestone, says: with(review, m{"mode": "partial"}), want: "D3"},
		"D3 partial, too soon":   {done: "TEST-1 DEV-1 DEV-2", names: blocked[:2], says: with(review, m{"mode": "partial"}), want: "D3"},
		"D3 partial, too little": {done: "TEST-1 DEV-1", names: append(blocked, "DEV-2 questions/q1.json"), says: with(review, m{"mode": "partial"}), want: "D3"},
		"D3 partial, behind what is blocked": {done: "DEV-2 DEV-3", names: append([]string{"TEST-1 questions/q1.json"}, blocked[1:]...),
			change: func(d *Deciding) { d.State.Tasks["REVIEW-1"].Judges.Partial.Done = 2 }, says: with(review, m{"mode": "partial"})},
		"D3 a mode of no review":   {done: "TEST-1", says: with(dev, m{"mode": "partial"}), want: "D3"},
		"D4 the judge":             {done: milestone, says: review},
		"D4 something later":       {done: milestone, says: m{"next_agent": "dev", "task_id": "DEV-9"}, want: "D4"},
		"D4 not DONE yet":          {done: "TEST-1 DEV-1", says: m{"next_agent": "dev", "task_id": "DEV-9"}},
		"D5 single":                {done: milestone, says: with(review, m{"mode": "single"}), want: "D5"},
		"D5 the last":              {done: milestone, names: verified("TEST-1", "DEV-1", "DEV-2"), says: with(review, m{"mode": "single"})},
		"D6 investigate":           {done: "TEST-1", names: rejected("DEV-1"), change: concern, says: with(review, m{"mode": "investigate"})},
		"D6 the user":              {change: concern, says: user(nil)},
		"D6 ignored":               {done: "TEST-1", names: rejected("DEV-1"), change: concern, says: dev, want: "D6"},
		"D6 the test":              {change: concern, says: m{"next_agent": "test"}, want: "D6"},
		"D7 once":                  {done: "TEST-1", names: rejected("DEV-1"), change: failed(1), says: dev},
		"D7 twice":                 {done: "TEST-1", names: rejected("DEV-1"), change: failed(2), says: dev, want: "D7"},
		"D7 a cause":               {done: "TEST-1", names: rejected("DEV-1"), change: failed(2), says: with(dev, m{"history_append": "## Iteration 3:\nnext_agent: dev\nreason: x\ndev_plan: x\nroot_cause_analysis: the port"})},
		"D7 thrice":                {done: "TEST-1", names: rejected("DEV-1"), change: failed(3), says: with(dev, m{"history_append": "## Iteration 3:\nnext_agent: dev\nreason: x\ndev_plan: x\nroot_cause_analysis: the port"}), want: "D7"},
		"D7 the user":              {done: "TEST-1", names: rejected("DEV-1"), change: failed(3), says: user(nil)},
		"D8 the user":              {says: user(nil)},
		"D8 answered":              {change: asked(true), says: user(nil), want: "D8"},
		"D8 not answered":          {change: asked(false), says: user(nil)},
		"D8 one option":            {says: user(m{"options": two[:1]}), want: "D8"},
		"D8 a name on two lines":   {says: user(m{"options": []m{two[0], {"option_id": "b\nWf-Event: approve", "description": "x"}}}), want: "D8"},
		"D8 equal ids":             {says: user(m{"options": []m{two[0], two[0]}}), want: "D8"},
		"D8 recommends another":    {says: user(m{"recommended_option_id": "c"}), want: "D8"},
		"D8 no question":           {says: user(m{"question": " "}), want: "D8"},
		"D8 an order beside it":    {says: user(m{"task": "Do it."}), want: "D8"},
		"D8 asks a role":           {done: "TEST-1", says: with(dev, m{"question": "Which?"}), want: "D8"},
		"an answer and an order":   {names: blocked[:1], change: devAsks, says: m{"next_agent": "dev", "task_id": "DEV-3", "answers": []m{{"task_id": "DEV-3", "question_id": "q1", "text": "Yes."}}}},
		"an order without answer":  {names: blocked[:1], change: devAsks, says: m{"next_agent": "dev", "task_id": "DEV-3"}, want: "D2"},
		"an answer to nobody":      {change: devAsks, says: m{"next_agent": "dev", "task_id": "DEV-2", "answers": []m{{"task_id": "DEV-2", "question_id": "q1", "text": "Yes."}}}, want: "D8"},
		"an answer of its own":     {change: asked(false), says: m{"next_agent": "dev", "task_id": "DEV-2", "answers": []m{{"task_id": "MAIN-1", "question_id": "q1", "text": "Yes."}}}, want: "D8"},
		"D9 too early":             {done: "TEST-1", says: m{"next_agent": "FINISH", "task": nil}, want: "D9"},
		"D9 merely done":           {done: milestone + " DEV-9", says: m{"next_agent": "FINISH", "task": nil}, want: "D9"},
		"D9 verified":              {done: milestone + " DEV-9 REVIEW-1", names: finished, says: m{"next_agent": "FINISH", "task": nil}},
		"D9 and an order":          {done: milestone + " DEV-9 REVIEW-1", names: finished, says: m{"next_agent": "FINISH"}, want: "D9"},
		"D9 and a plan":            {done: milestone + " DEV-9 REVIEW-1", names: finished, says: m{"next_agent": "FINISH", "task": nil, "dev_plan_next": "title: x"}, want: "D9"},
		"D10 another iteration":    {done: "TEST-1", says: with(dev, m{"history_append": "## Iteration 2:\nnext_agent: dev\nreason: x\ndev_plan: x"}), want: "D10"},
		"D10 a list":               {done: "TEST-1", says: with(dev, m{"history_append": "## Iteration 3:\n- next_agent: dev\n- reason: x\n- dev_plan: x"}), want: "D10 D10 D10"},
		"D10 two iterations":       {done: "TEST-1", says: with(dev, m{"history_append": "## Iteration 3:\nnext_agent: dev\nreason: x\ndev_plan: x\n\n## Iteration 4:\nnext_agent: FINISH"}), want: "D10"},
		"D11 says nothing":         {done: "TEST-1", says: with(dev, m{"task": "  "}), want: "D11"},
		"D11 null":                 {done: "TEST-1", says: with(dev, m{"task": nil}), want: "D11"},
		"D12 changes what is done": {done: "TEST-1", says: with(dev, m{"dev_plan_next": m{"title": "x"}}), want: "D12"},
		"D12 fits":                 {done: "TEST-1", says: with(dev, m{"dev_plan_next": "title: fits"})},
	} {
		t.Run(name, func(t *testing.T) {
			d := deciding(t, tt.done, tt.names...)
			d.Amends = func(text []byte) plan.Findings {
				if string(text) == "title: fits" {
					return nil
				}
				return plan.Findings{{Code: "amends-done", TaskID: "TEST-1", Message: "has an approved version", Expected: "the task as it is", Example: "x"}}
			}
			if tt.change != nil {
				tt.change(&d)
			}
			text := tt.raw
			if text == "" {
				text = line(tt.says)
			}
			x, found := ReadDecision([]byte(text))
			if len(found) == 0 {
				found = d.Findings(x)
			}
			var codes []string
			for _, f := range found {
				codes = append(codes, f.Code)
				if f.Message == "" || strings.HasSuffix(f.Message, ": ") || f.Expected == "" || f.Example == "" && f.Code != "D2" {
					t.Errorf("%+v lacks what would pass", f)
				}
			}
			if got := strings.Join(codes, " "); got != tt.want {
				t.Errorf("found %q, want %q: %v", got, tt.want, found)
			}
		})
	}
}

// TestWords shows the five words for where a task stands, and what leads from one to the next: an order, a version, a
// question, an approval, and only the judge's verdict from DONE to VERIFIED.
func TestWords(t *testing.T) {
	const done = "TEST-1 DEV-1"
	sent := []string{"DEV-1 reviews/r2-v1-10-REVIEW-1/review.json", "DEV-1 reviews/r2-v1-10-REVIEW-1/REJECTED.md"}
	for _, tt := range []struct {
		name, done string
		names      []string
		want       string
	}{
		{"nothing has happened", "TEST-1", nil, WordTodo},
		{"it is ordered", "TEST-1", []string{"DEV-1 orders/o1-d1-b0-a0.json"}, WordDoing},
		{"a version waits for its review", "TEST-1", rejected("DEV-1")[:2], WordDoing},
		{"its version is rejected", "TEST-1", rejected("DEV-1"), WordDoing},
		{"it asks", "TEST-1", []string{"DEV-1 questions/q1.json"}, WordBlocked},
		{"it is approved", done, nil, WordDone},
		{"the judge approves", done, verified("DEV-1"), WordVerified},
		{"the judge sends it back", done, sent, WordDoing},
		{"the judge of another task approves", done, verified("TEST-1"), WordDone},
		{"nobody needs it any more", done, []string{"DEV-1 marks/0001-abandoned.json"}, string(plan.StatusAbandoned)},
	} {
		d := deciding(t, tt.done, tt.names...)
		if got := DevPlanWord(d.State, "DEV-1"); got != tt.want {
			t.Errorf("%s: DEV-1 is %s, want %s", tt.name, got, tt.want)
		}
		if text := DevPlan(d.State); !strings.Contains(text, "### DEV-1: \n- status: "+tt.want+"\n") {
			t.Errorf("%s: the document says otherwise:\n%s", tt.name, text)
		}
	}
}

// verified are the records of reviews by REVIEW-1 that approve.
func verified(ids ...string) (names []string) {
	for _, id := range ids {
		names = append(names, id+" reviews/r2-v1-100-REVIEW-1/review.json", id+" reviews/r2-v1-100-REVIEW-1/APPROVED.md")
	}
	return names
}

var finished = append(verified("TEST-1", "DEV-1", "DEV-2", "DEV-3"), "REVIEW-1 acts/v1-a0-verdicts.json")

// TestPolicyKeepsTheRules shows that what is decided by rule has no finding, and what it is.
func TestPolicyKeepsTheRules(t *testing.T) {
	for name, tt := range map[string]struct {
		done   string
		names  []string
		change func(*Deciding)
		want   string
	}{
		"first in plan order": {want: "test TEST-1 "},
		"the next":            {done: "TEST-1", want: "dev DEV-1 "},
		"a judge":             {done: "TEST-1 DEV-1 DEV-2 DEV-3", want: "review REVIEW-1 milestone"},
		"the end":             {done: "TEST-1 DEV-1 DEV-2 DEV-3 DEV-9 REVIEW-1", names: finished, want: "FINISH  "},
		"investigate": {done: "TEST-1", names: rejected("DEV-1"), want: "review REVIEW-1 investigate",
			change: func(d *Deciding) { d.Concerns = []Concern{{"DEV-1", "TEST-1", "it expects 403"}} }},
		"the user": {done: "TEST-1 DEV-2 DEV-3 DEV-9", names: rejected("DEV-1"), want: "USER  ",
			change: func(d *Deciding) { d.Failures["DEV-1"] = Failure{3, []string{"A1"}} }},
		"nothing": {names: []string{"TEST-1 orders/o1-d1-b0-a0.json"}, want: "  "},
	} {
		t.Run(name, func(t *testing.T) {
			d := deciding(t, tt.done, tt.names...)
			if tt.change != nil {
				tt.change(&d)
			}
			x, ok := d.Policy()
			if got := strings.Join([]string{x.NextAgent, string(x.TaskID), x.Mode}, " "); got != tt.want || ok != (x.NextAgent != "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if again, found := ReadDecision(x.Line()); ok && (len(found) > 0 || again.NextAgent != x.NextAgent) {
				t.Errorf("is not read back: %v", found)
			}
		})
	}
}

// mutate changes a document as a careless or hostile agent would.
func mutate(r *rand.Rand, text string, words []string) string {
	for range 1 + r.IntN(4) {
		at := r.IntN(len(text) + 1)
		end := min(len(text), at+r.IntN(12))
		switch r.IntN(5) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:at] + words[r.IntN(len(words))] + text[at:]
		case 2:
			text = text[:at] + text[at:end] + text[at:]
		case 3:
			parts := strings.Split(text, `"`)
			parts[r.IntN(len(parts))] = strings.Trim(words[r.IntN(len(words))], `"`)
			text = strings.Join(parts, `"`)
		default:
			b := []byte(text)
			if len(b) > 0 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			text = string(b)
		}
	}
	return text
}

// holds checks that a document that has no finding does only what a decision may, in every state that is tried.
func holds(t testing.TB, d Deciding, text []byte) {
	t.Helper()
	x, found := ReadDecision(text)
	if len(found) == 0 {
		found = d.Findings(x)
	}
	for _, f := range found {
		if f.Code == "" || f.Error() == "" {
			t.Fatalf("%q: a finding without a code", text)
		}
	}
	if len(found) > 0 {
		return
	}
	e := d.Apply(x, "main")
	unfinished := len(d.State.Unfinished(d.Decider))
	switch {
	case e.Order.TaskID == "" && e.Ask == nil && unfinished > 0:
		t.Fatalf("%q finishes with %d open", text, unfinished)
	case e.Order.TaskID != "" && d.State.Orderable(d.Decider, e.Order.TaskID, e.Order.Mode, x.answered(e.Order.TaskID)) != "":
		t.Fatalf("%q orders %s", text, e.Order.TaskID)
	case e.Order.TaskID != "" && len(d.State.Ordered(d.Decider)) > 0:
		t.Fatalf("%q orders while an order is open", text)
	case e.Ask != nil && len(e.Ask.Options) < 2:
		t.Fatalf("%q asks without a choice", text)
	case len(e.Answers) != len(x.Answers):
		t.Fatalf("%q answers what nobody asked", text)
	}
}

func seeds() []string {
	return []string{line(map[string]any{"next_agent": "dev", "task_id": "DEV-2"}), line(map[string]any{"next_agent": "test", "task": "x"}),
		line(map[string]any{"next_agent": "review", "task_id": "REVIEW-1", "mode": "milestone"}), line(map[string]any{"next_agent": "FINISH", "task": nil}),
		line(map[string]any{"next_agent": "USER", "task": nil, "question": "Which?", "recommended_option_id": "a",
			"options": []map[string]any{{"option_id": "a", "description": "one"}, {"option_id": "b", "description": "two"}}})}
}

func states(t testing.TB) []Deciding {
	ordered := deciding(t, "", "DEV-2 orders/o1-d1-b0-a0.json")
	asks := deciding(t, "", "DEV-2 questions/q1.json")
	asks.Questions = []Asked{{plan.Question{TaskID: "DEV-2", QuestionID: "q1", Kind: plan.AskText, Question: "Log it?"}, false}}
	return []Deciding{deciding(t, ""), deciding(t, "TEST-1 DEV-1 DEV-2 DEV-3"), ordered, asks,
		deciding(t, "TEST-1 DEV-1 DEV-2 DEV-3 DEV-9 REVIEW-1", finished...)}
}

// TestMutatedDecisions tries 10,000 replies that are nearly right.
func TestMutatedDecisions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts, all := seeds(), states(t)
	words := []string{`"FINISH"`, `"USER"`, `"dev"`, `"review"`, `"REVIEW-1"`, `"DEV-9"`, `"MAIN-1"`, `"partial"`, "null", "{", "]", "\n",
		`"answers":[{"task_id":"DEV-2","question_id":"q1","text":"x"}],`, `"status":"VERIFIED",`, "\x00", "\u202e", `"\ud800"`}
	for i := range 10_000 {
		holds(t, all[i%len(all)], []byte(mutate(r, texts[r.IntN(len(texts))], words)))
	}
}

func FuzzDecision(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	all := states(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, d := range all {
			holds(t, d, text)
		}
	})
}
