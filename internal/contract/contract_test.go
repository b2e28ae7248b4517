package contract

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

// wants are what the tests ask of each role.
func wants(role Role) Want {
	return Want{
		Role: role,
		Criteria: []plan.Criterion{
			{ID: "A1", Severity: plan.Must, Statement: "complete"},
			{ID: "A2", Severity: plan.Should, Statement: "links"},
			{ID: "K1", Severity: plan.Must, Statement: "tests pass", Run: "make test"},
		},
		Tasks: []plan.TaskID{"IMPL-1", "IMPL-2", "IMPL-3"}, MinScore: 40, Advisers: []string{"architect"},
	}
}

func violationOf(t *testing.T, want Want, reply string) *Violation {
	t.Helper()
	got, err := Parse(want, []byte(reply))
	var v *Violation
	if err != nil && !errors.As(err, &v) {
		t.Fatalf("not a violation: %v", err)
	}
	if err != nil && !cmp.Equal(got, Reply{}) {
		t.Errorf("part of a refused reply was taken: %+v", got)
	}
	return v
}

func TestParseArtifact(t *testing.T) {
	got, err := Parse(wants(RoleAction), Example(RoleAction, Artifact))
	if err != nil {
		t.Fatal(err)
	}
	want := Reply{
		Type:    Artifact,
		Summary: "The page lists all twelve releases, newest first.",
		Files: []File{
			{Path: "index.html", Content: []byte("<!doctype html>\n<title>Releases</title>\n")},
			{Path: "check.sh", Content: []byte("#!/bin/sh\ntest -s index.html\n"), Executable: true},
			{Path: "logo.png", Content: []byte("\x89PNG\r\n\x1a\n")},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseReview(t *testing.T) {
	got, err := Parse(wants(RoleCheck), []byte(`{"schema_version":1,"result_type":"REVIEW","verdict":"APPROVED","score":93.0,
		"criteria":[{"id":"K1","pass":true,"evidence":"all tests pass, I promise"},{"id":"A2","pass":false,"evidence":"a\r\nb\u001b[2J"},{"id":"A1","pass":true,"evidence":"l. 3","confidence":0.9}],
		"suggestions":null,"thoughts":{"verdict":"REJECTED"},"Score":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Reply{
		Type: Review, Review: plan.Review{Verdict: plan.Approved, Score: 93},
		// In the order of the task; what the engine judges is not the agent's to say; nothing that a terminal obeys.
		Criteria: []ruling{{"A1", true, "l. 3"}, {"A2", false, "a\nb\ufffd[2J"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseNeedsAndEstimates(t *testing.T) {
	got, err := Parse(wants(RoleAction), Example(RoleAction, NeedsInput))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Needs) != 3 || got.Needs[1].RecommendedOptionID != "users" || len(got.Needs[1].Options) != 2 ||
		got.Needs[0].Kind != plan.AskFile {
		t.Errorf("needs: %+v", got.Needs)
	}
	got, err = Parse(wants(RoleFeasibility), Example(RoleFeasibility, Feasibility))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Estimates) != 2 || got.Estimates[1].EstimatedPersonDays != 12 || got.Estimates[1].OneShotPass ||
		!got.Estimates[0].OneShotPass {
		t.Errorf("estimates: %+v", got.Estimates)
	}
	want := wants(RoleFeasibility)
	want.Others = want.Tasks[:1]
	want.Tasks = want.Tasks[1:]
	got, err = Parse(want, Example(RoleFeasibility, Feasibility))
	if err != nil || len(got.Estimates) != 1 || got.Estimates[0].TaskID != want.Tasks[0] {
		t.Errorf("of a task that nobody asks about: got %+v, %v", got.Estimates, err)
	}
}

// A question goes to a role that the task may ask. Where it may ask none, the field is one that nobody knows. Of options
// one is taken.
func TestParseConsult(t *testing.T) {
	asks := []byte(`{"schema_version":1,"result_type":"NEEDS_INPUT","needs":[
		{"name":"a","question":"b?","kind":"text","to":"architect"},{"name":"c","question":"d?","kind":"text","to":null}]}`)
	want := wants(RoleAction)
	got, err := Parse(want, asks)
	if err != nil || got.Needs[0].To != "architect" || got.Needs[1].To != "" {
		t.Errorf("got %+v, %v", got.Needs, err)
	}
	want.Advisers = nil
	if got, err = Parse(want, asks); err != nil || got.Needs[0].To != "" {
		t.Errorf("where it may ask nobody: %+v, %v", got.Needs, err)
	}
	want = wants(RoleConsult)
	want.Question = plan.Question{Kind: plan.AskChoice, Options: []plan.Option{{OptionID: "small"}, {OptionID: "large"}}}
	for reply, ok := range map[string]bool{`"option_id":"small"`: true, `"option_id":"small","text":"It will do."`: true,
		`"option_id":"stop"`: false, `"text":"small"`: false, `"option_id":"Small"`: false,
		`"option_id":"small\n"`: false, ``: false} {
		got, err := Parse(want, []byte(`{"schema_version":1,"result_type":"ANSWER",`+reply+`}`))
		if (err == nil) != ok || ok && got.Answer.OptionID != "small" {
			t.Errorf("%s: %+v, %v", reply, got.Answer, err)
		}
	}
}

// What is wrong is named by code and place; nothing else of the reply is used.
func TestViolations(t *testing.T) {
	const v1 = `{"schema_version":1,"result_type":`
	file := func(fields string) string { return v1 + `"ARTIFACT","files":[` + fields + `]}` }
	need := func(fields string) string { return v1 + `"NEEDS_INPUT","needs":[` + fields + `]}` }
	review := func(verdict, criteria string) string {
		return v1 + `"REVIEW","verdict":"` + verdict + `","score":50,"criteria":[` + criteria + `]}`
	}
	estimate := func(fields string) string { return v1 + `"FEASIBILITY","estimates":[` + fields + `]}` }
	const a1, a2 = `{"id":"A1","pass":true,"evidence":"x"}`, `{"id":"A2","pass":true,"evidence":"x"}`
	tests := []struct {
		name string
		role Role
		text string
		want string // code and place
	}{
		{"no version", RoleAction, `{"result_type":"NOOP"}`, "missing-field $.schema_version"},
		{"version as text", RoleAction, `{"schema_version":"1","result_type":"NOOP"}`, "wrong-type $.schema_version"},
		{"version 2", RoleAction, `{"schema_version":2,"result_type":"NOOP"}`, "wrong-version $.schema_version"},
		{"unknown result", RoleAction, v1 + `"DONE"}`, "wrong-result $.result_type"},
		{"result in lower case", RoleAction, v1 + `"noop"}`, "wrong-result $.result_type"},
		{"a list of results", RoleAction, v1 + `["NOOP"]}`, "wrong-result $.result_type"},
		{"a maker that reviews", RoleAction, v1 + `"REVIEW"}`, "wrong-result $.result_type"},
		{"a reviewer that makes", RoleCheck, string(Example(RoleAction, Artifact)), "wrong-result $.result_type"},

		{"no files", RoleAction, v1 + `"ARTIFACT"}`, "missing-field $.files"},
		{"files is no list", RoleAction, v1 + `"ARTIFACT","files":{}}`, "wrong-type $.files"},
		{"file without content", RoleAction, file(`{"path":"a"}`), "missing-field $.files[0].content"},
		{"content is an object", RoleAction, file(`{"path":"a.json","content":{"a":1}}`), "wrong-type $.files[0].content"},
		{"field unknown to files", RoleAction, file(`{"path":"a","content":"","append":true}`), "unknown-field $.files[0]"},
		{"path leads out", RoleAction, file(`{"path":"../a","content":""}`), "bad-path $.files[0].path"},
		{"path of git's", RoleAction, file(`{"path":"a/.git/config","content":""}`), "bad-path $.files[0].path"},
		{"absolute path", RoleAction, file(`{"path":"/etc/passwd","content":""}`), "bad-path $.files[0].path"},
		{"path twice", RoleAction, file(`{"path":"a","content":""},{"path":"a","content":""}`),
			"duplicate-path $.files[1].path"},
		{"path twice but for case", RoleAction, file(`{"path":"É/a","content":""},{"path":"é/A","content":""}`),
			"duplicate-path $.files[1].path"},
		{"file, then directory", RoleAction, file(`{"path":"a","content":""},{"path":"A/b","content":""}`),
			"duplicate-path $.files[1].path"},
		{"directory, then file", RoleAction, file(`{"path":"a/b/c","content":""},{"path":"a/B","content":""}`),
			"duplicate-path $.files[1].path"},
		{"unknown encoding", RoleAction, file(`{"path":"a","content":"","encoding":"hex"}`), "bad-value $.files[0].encoding"},
		{"not base64", RoleAction, file(`{"path":"a","content":"a$==","encoding":"base64"}`),
			"bad-encoding $.files[0].content"},
		{"base64 without padding", RoleAction, file(`{"path":"a","content":"YQ","encoding":"base64"}`),
			"bad-encoding $.files[0].content"},
		{"base64 with loose bits", RoleAction, file(`{"path":"a","content":"YR==","encoding":"base64"}`),
			"bad-encoding $.files[0].content"},
		{"artifact and error", RoleAction, v1 + `"ARTIFACT","files":[{"path":"a","content":""}],"error":"but"}`,
			"contradiction $.error"},
		{"noop and files", RoleAction, v1 + `"NOOP","files":[{"path":"a","content":""}]}`, "contradiction $.files"},
		{"error without text", RoleAction, v1 + `"ERROR"}`, "missing-field $.error"},
		{"blank error", RoleAction, v1 + `"ERROR","error":" \u200b\u001b "}`, "bad-value $.error"},
		{"long summary", RoleAction, v1 + `"NOOP","summary":"` + strings.Repeat("x", 10001) + `"}`, "too-large $.summary"},

		{"a plan under another name", RolePlan, string(Example(RoleAction, Artifact)), "bad-path $.files"},
		{"two plans", RoleSplit, file(`{"path":"plan.yaml","content":""},{"path":"plan.json","content":""}`),
			"bad-path $.files"},

		{"no needs", RoleAction, v1 + `"NEEDS_INPUT"}`, "missing-field $.needs"},
		{"empty needs", RoleAction, need(``), "bad-value $.needs"},
		{"need without question", RoleAction, need(`{"name":"a","kind":"text"}`), "missing-field $.needs[0].question"},
		{"need of unknown kind", RoleAction, need(`{"name":"a","question":"b","kind":"url"}`), "bad-value $.needs[0].kind"},
		{"name on two lines", RoleAction, need(`{"name":"a\nb","question":"b","kind":"text"}`), "bad-value $.needs[0].name"},
		{"name with an invisible character", RoleAction, need(`{"name":"a\u200bb","question":"b","kind":"text"}`),
			"bad-value $.needs[0].name"},
		{"name that is too long when escaped", RoleAction, need(`{"name":"` + strings.Repeat("☃", 80) +
			`","question":"b","kind":"text"}`), "too-large $.needs[0].name"},
		{"name twice", RoleAction,
			need(`{"name":"a","question":"b","kind":"text"},{"name":"A","question":"b","kind":"text"}`),
			"duplicate-id $.needs[1].name"},
		{"choice without options", RoleAction, need(`{"name":"a","question":"b","kind":"choice"}`),
			"missing-field $.needs[0].options"},
		{"choice with null options", RoleAction, need(`{"name":"a","question":"b","kind":"choice","options":null}`),
			"wrong-type $.needs[0].options"},
		{"choice of one", RoleAction,
			need(`{"name":"a","question":"b","kind":"choice","options":[{"option_id":"x","description":"y"}]}`),
			"bad-value $.needs[0].options"},
		{"option twice", RoleAction,
			need(`{"name":"a","question":"b","kind":"choice","options":[{"option_id":"x","description":"y"},{"option_id":"x","description":"z"}]}`), "duplicate-id $.needs[0].options[1].option_id"},
		{"recommends what is no option", RoleAction,
			need(`{"name":"a","question":"b","kind":"choice","options":[{"option_id":"x","description":"y"},{"option_id":"z","description":"z"}],"recommended_option_id":"w"}`), "unknown-id $.needs[0].recommended_option_id"},
		{"options of a text", RoleAction,
			need(`{"name":"a","question":"b","kind":"text","options":[{"option_id":"x","description":"y"},{"option_id":"z","description":"z"}]}`), "contradiction $.needs[0].kind"},

		{"asks a role that it may not ask", RoleAction, need(`{"name":"a","question":"b","kind":"text","to":"boss"}`),
			"unknown-id $.needs[0].to"},
		{"asks a role for a file", RoleAction, need(`{"name":"a","question":"b","kind":"file","to":"architect"}`),
			"contradiction $.needs[0].kind"},
		{"answers nothing", RoleConsult, v1 + `"ANSWER"}`, "bad-value $"},
		{"answers with blanks", RoleConsult, v1 + `"ANSWER","text":" \u200b"}`, "bad-value $"},
		{"answers with an option where there is none", RoleConsult, v1 + `"ANSWER","text":"x","option_id":"x"}`,
			"bad-value $"},
		{"answers with a verdict", RoleConsult, review("APPROVED", a1), "wrong-result $.result_type"},
		{"answers with files", RoleConsult, v1 + `"ANSWER","text":"x","files":[{"path":"a","content":""}]}`,
			"contradiction $.files"},
		{"answers with a megabyte", RoleConsult, v1 + `"ANSWER","text":"` + strings.Repeat("x", 1<<20) + `"}`,
			"too-large $.text"},
		{"a maker that answers", RoleAction, v1 + `"ANSWER","text":"x"}`, "wrong-result $.result_type"},

		{"criterion left out", RoleCheck, review("APPROVED", a1), "not-judged $.criteria"},
		{"no criteria", RoleCheck, review("REJECTED", ``), "contradiction $.verdict"},
		{"criterion twice", RoleCheck, review("APPROVED", a1+`,`+a2+`,`+a1), "duplicate-id $.criteria[2].id"},
		{"criterion twice, once failed", RoleCheck, review("APPROVED", `{"id":"A1","pass":false,"evidence":"x"},`+a2+`,`+a1),
			"duplicate-id $.criteria[2].id"},
		{"unknown criterion", RoleCheck, review("APPROVED", a1+`,`+a2+`,{"id":"a1","pass":true,"evidence":"x"}`),
			"unknown-id $.criteria[2].id"},
		{"pass as text", RoleCheck, review("APPROVED", a2+`,{"id":"A1","pass":"true","evidence":"x"}`),
			"wrong-type $.criteria[1].pass"},
		{"pass as null", RoleCheck, review("APPROVED", a2+`,{"id":"A1","pass":null,"evidence":"x"}`),
			"wrong-type $.criteria[1].pass"},
		{"no evidence", RoleCheck, review("APPROVED", a2+`,{"id":"A1","pass":true}`), "missing-field $.criteria[1].evidence"},
		{"blank evidence", RoleCheck, review("APPROVED", a2+`,{"id":"A1","pass":true,"evidence":" \u00a0"}`),
			"bad-value $.criteria[1].evidence"},
		{"approved with a failed MUST", RoleCheck, review("APPROVED", a2+`,{"id":"A1","pass":false,"evidence":"x"}`),
			"contradiction $.verdict"},
		{"approved with a failed MUST of the engine's", RoleCheck,
			review("APPROVED", a1+`,`+a2+`,{"id":"K1","pass":false,"evidence":"x"}`), "contradiction $.verdict"},
		{"rejected without a reason", RoleCheck, review("REJECTED", a1+`,`+a2), "contradiction $.verdict"},
		{"approved with too low a score", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", "39", 1),
			"contradiction $.verdict"},
		{"another verdict", RoleCheck, review("approve", a1+`,`+a2), "bad-value $.verdict"},
		{"half a point", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", "50.5", 1), "wrong-type $.score"},
		{"score above 100", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", "101", 1), "bad-value $.score"},
		{"score below 0", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", "-1", 1), "bad-value $.score"},
		{"score as text", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", `"50"`, 1), "wrong-type $.score"},
		{"score that does not end", RoleCheck, strings.Replace(review("APPROVED", a1+`,`+a2), "50", `1e-999999999`, 1),
			"bad-value $"},

		{"leaf that is none", RoleFeasibility,
			estimate(`{"task_id":"IMPL-9","estimated_person_days":1,"one_shot_pass":true,"why":"x"}`),
			"unknown-id $.estimates[0].task_id"},
		{"leaf twice", RoleFeasibility,
			estimate(`{"task_id":"IMPL-1","estimated_person_days":1,"one_shot_pass":true,"why":"x"},{"task_id":"IMPL-1","estimated_person_days":2,"one_shot_pass":true,"why":"x"}`), "duplicate-id $.estimates[1].task_id"},
		{"no days", RoleFeasibility,
			estimate(`{"task_id":"IMPL-1","estimated_person_days":0,"one_shot_pass":true,"why":"x"}`),
			"bad-value $.estimates[0].estimated_person_days"},
		{"no why", RoleFeasibility, estimate(`{"task_id":"IMPL-1","estimated_person_days":1,"one_shot_pass":true}`),
			"missing-field $.estimates[0].why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := violationOf(t, wants(tt.role), tt.text)
			if v == nil {
				t.Fatalf("accepted: %s", tt.text)
			}
			all := append([]*Violation{v}, v.Also...)
			var got []string
			for _, v := range all {
				got = append(got, v.Code+" "+v.JSONPath)
				checkTexts(t, v)
			}
			if !strings.Contains(strings.Join(got, "\n")+"\n", tt.want+"\n") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// checkTexts holds a violation against what the issue promises of it: every field is set, short, and printable.
func checkTexts(t *testing.T, v *Violation) {
	t.Helper()
	for name, s := range map[string]string{
		"error_code": v.Code, "schema": v.Schema, "json_path": v.JSONPath, "expected": v.Expected, "actual": v.Actual,
		"example_fix": v.ExampleFix,
	} {
		if s == "" || len(s) > 5000 || strings.ContainsFunc(s, unicode.IsControl) {
			t.Errorf("%s: %s is %q", v.Code, name, s)
		}
	}
}

func TestLimits(t *testing.T) {
	want := wants(RoleAction)
	if v := violationOf(t, want, string(Example(RoleAction, Artifact))); v != nil {
		t.Fatal(v)
	}
	want.Limits = plan.Config{MaxArtifactFiles: 2}
	if v := violationOf(t, want, string(Example(RoleAction, Artifact))); v == nil || v.Code != codeTooLarge {
		t.Errorf("three files where two are allowed: %v", v)
	}
	want.Limits = plan.Config{MaxArtifactBytes: 70}
	if v := violationOf(t, want, string(Example(RoleAction, Artifact))); v == nil || v.Code != codeTooLarge {
		t.Errorf("76 bytes where 70 are allowed: %v", v)
	}
	const elsewhere = `{"schema_version":1,"result_type":"ARTIFACT","files":[]}`
	if v := violationOf(t, wants(RoleAction), elsewhere); v == nil {
		t.Error("an artifact without files")
	}
	want = wants(RolePlan)
	want.FilesElsewhere = true
	if v := violationOf(t, want, elsewhere); v != nil {
		t.Errorf("files in WF_OUT: %v", v)
	}
}

func TestUnknownRole(t *testing.T) {
	_, err := Parse(Want{Role: "cook"}, []byte(`{}`))
	var v *Violation
	if err == nil || errors.As(err, &v) || !strings.Contains(err.Error(), `unknown role "cook"`) {
		t.Errorf("got %v", err)
	}
}

func TestFeedback(t *testing.T) {
	v := violationOf(t, wants(RoleCheck),
		`{"schema_version":1,"result_type":"REVIEW","verdict":"<b>\u001b[31m","score":"<"}`)
	if v == nil {
		t.Fatal("accepted")
	}
	got := v.Feedback()
	start, end := strings.IndexByte(got, '{'), strings.LastIndexByte(got, '}')
	var back Violation
	if err := json.Unmarshal([]byte(got[start:end+1]), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*v, back); diff != "" {
		t.Error(diff)
	}
	var codes []string
	for _, v := range append([]*Violation{v}, v.Also...) {
		codes = append(codes, v.Code+" "+v.JSONPath)
	}
	want := []string{"missing-field $.criteria", "wrong-type $.score", "bad-value $.verdict"}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got, "\x1b") || !strings.Contains(got, `"<b>`) && !strings.Contains(got, `<b>`) {
		t.Errorf("feedback: %s", got)
	}
}

func TestCutOff(t *testing.T) {
	v := CutOff("stopped at 4096 tokens\x1b[2J")
	checkTexts(t, v)
	if v.Code != codeCutOff || !strings.Contains(v.Error(), "stopped at 4096 tokens") {
		t.Errorf("got %v", v)
	}
}
