package check

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/plan"
)

// fill answers the questions of a form: the line with the key gets the value. Each must be asked exactly once.
func fill(t interface{ Fatalf(string, ...any) }, form string, answers map[string]string, message string) string {
	lines := strings.Split(strings.TrimSuffix(form, "\n"), "\n")
	asked := map[string]int{}
	for i, line := range lines {
		key, rest, found := strings.Cut(line, ":")
		if !found || strings.HasPrefix(line, "#") || strings.TrimSpace(rest) != "" {
			continue
		}
		asked[key]++
		if value, ok := answers[key]; ok {
			lines[i] = key + ": " + value
		}
	}
	for key := range answers {
		if asked[key] != 1 {
			t.Fatalf("%q is asked %d times:\n%s", key, asked[key], form)
		}
	}
	return strings.Join(lines, "\n") + "\n" + message
}

func manual(ids ...string) *plan.Task {
	t := &plan.Task{TaskID: "IMPL-1", Title: "Page"}
	for _, id := range ids {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{ID: id, Statement: "is good", Severity: plan.Must})
	}
	return t
}

func TestFormRoundTrip(t *testing.T) {
	ids := []string{"A1", "verdict", "score", "message", "规则.1", "a_b-c"}
	words := rapid.StringMatching(`[!-"$-9;-~表é]{1,8}(: [!-~]{1,8}){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		task := manual(ids...)
		text := hostile()
		task.Title = text.Draw(t, "title")
		for i := range task.AcceptanceCriteria {
			task.AcceptanceCriteria[i].Statement = text.Draw(t, "statement")
		}
		task.AcceptanceCriteria = append(task.AcceptanceCriteria, plan.Criterion{ID: "K1", Statement: "runs", Run: "true",
			Severity: plan.Should})
		s := Subject{Task: task, Artifact: plan.Artifact{ArtifactID: "v1",
			Files: []plan.FileInfo{{Path: text.Draw(t, "path")}}}}
		ran := []plan.CriterionResult{{ID: "K1", Severity: plan.Should, Result: plan.ResultFail, Statement: "runs",
			Evidence: text.Draw(t, "evidence")}}

		want := Opinion{Criteria: map[string]Ruling{}}
		answers := map[string]string{}
		if v := rapid.SampledFrom([]string{"", "approve", "reject"}).Draw(t, "verdict"); v != "" {
			answers["verdict"] = v
			want.Verdict = map[string]plan.Verdict{"approve": plan.Approved, "reject": plan.Rejected}[v]
		}
		if rapid.Bool().Draw(t, "scored") {
			n := rapid.IntRange(0, 100).Draw(t, "score")
			answers["score"] = strconv.Itoa(n)
			want.Score = &n
		}
		for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom(ids), rapid.ID[string]).Draw(t, "ruled") {
			evidence := words.Draw(t, "evidence")
			result := rapid.SampledFrom([]string{plan.ResultPass, plan.ResultFail, plan.ResultNotJudged}).Draw(t, "result")
			word := strings.Replace(result, plan.ResultNotJudged, "none", 1)
			answers[formKey(id)] = word + rapid.SampledFrom([]string{" ", ": "}).Draw(t, "sep") + evidence
			want.Criteria[id] = Ruling{Result: result, Evidence: evidence}
		}
		want.Message = strings.Join(rapid.SliceOfN(words, 0, 3).Draw(t, "message"), "\n")
		form := Form(s, ran)
		filled := fill(t, form, answers, want.Message)
		for _, newline := range []string{"\n", "\r\n"} { // of whatever editor
			got, ok, err := ParseForm(strings.ReplaceAll(filled, "\n", newline))
			if err != nil || ok != (want.Verdict != "") {
				t.Fatalf("ok %v, %v:\n%s", ok, err, filled)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s\nof\n%s", d, filled)
			}
		}
	})
}

func TestFormAsksOnlyForWhatAPersonJudges(t *testing.T) {
	task := manual("A1")
	task.AcceptanceCriteria = append(task.AcceptanceCriteria, plan.Criterion{ID: "A2", Run: "true"})
	form := Form(Subject{Task: task}, nil)
	if !strings.Contains(form, "\nA1: \n") || strings.Contains(form, "\nA2:") {
		t.Errorf("form:\n%s", form)
	}
	if o, ok, err := ParseForm(form); ok || err != nil || len(o.Criteria) != 0 || o.Message != "" {
		t.Errorf("an empty form says %+v, %v, %v", o, ok, err)
	}
}

func TestParseFormErrors(t *testing.T) {
	tests := []struct{ name, form, want string }{
		{"no colon", "verdict: approve\nnonsense\n", `line 2: expected "key: value", found "nonsense"`},
		{"verdict", "\n# c\nverdict: yes\n", `line 3: verdict: expected approve or reject, found "yes"`},
		{"score too high", "score: 101", `line 1: score: expected 0 to 100, found "101"`},
		{"score below zero", "score: -1", `line 1: score: expected 0 to 100, found "-1"`},
		{"score no number", "score: 9e1", `line 1: score: expected 0 to 100, found "9e1"`},
		{"ruling", "A1: maybe so\r\n", `line 1: criterion A1: expected pass, fail or none, found "maybe"`},
		{"no more after the message", "A1: x\nmessage: A2: pass\nA3: maybe",
			`line 1: criterion A1: expected pass, fail or none, found "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, ok, err := ParseForm(tt.form); ok || err == nil || err.Error() != tt.want {
				t.Errorf("ok %v, error %v, want %s", ok, err, tt.want)
			}
		})
	}
}

// A line of any length is a line: a log that somebody pastes must not cut off what stands below it.
func TestParseFormLongLine(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	o, ok, err := ParseForm("verdict: reject\nmessage:\n" + long + "\nthe end\n")
	if !ok || err != nil || o.Message != long+"\nthe end" {
		t.Errorf("ok %v, error %v, %d bytes of message", ok, err, len(o.Message))
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add("verdict: approve\nscore: 90\nA1: pass fine\nmessage:\nwell\n# no\ndone")
	f.Add("verdict:\r\nA1: fail\r\n")
	f.Add("message")
	f.Add(":\n: x\n:::")
	f.Add(Form(Subject{Task: manual("A1", "score")}, nil))
	place := regexp.MustCompile(`^line ([1-9][0-9]*): `)
	f.Fuzz(func(t *testing.T, text string) {
		o, ok, err := ParseForm(text)
		if err != nil {
			m := place.FindStringSubmatch(err.Error())
			if m == nil || ok {
				t.Fatalf("ok %v, no line in %q", ok, err)
			}
			if n, _ := strconv.Atoi(m[1]); n > strings.Count(text, "\n")+1 {
				t.Fatalf("no such line: %q", err)
			}
			return
		}
		if ok != (o.Verdict != "") || o.Score != nil && (*o.Score < 0 || *o.Score > 100) {
			t.Fatalf("ok %v with %+v", ok, o)
		}
		if strings.HasPrefix(o.Message, "#") {
			return // beside "message:" that is text, on a line of its own it is a comment
		}
		// What was understood means the same when it is written down again.
		again := ""
		if ok {
			again = "verdict: " + map[plan.Verdict]string{plan.Approved: "approve", plan.Rejected: "reject"}[o.Verdict] + "\n"
		}
		o2, ok2, err := ParseForm(again + "message:\n" + o.Message)
		if err != nil || ok2 != ok || o2.Verdict != o.Verdict || o2.Message != o.Message {
			t.Fatalf("%q became %+v, %v", text, o2, err)
		}
	})
}
