package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
	"gitwf/internal/wiretest"
)

// vendors are the agents that people have: the real programs, and the clients of the model services, each against a
// local server that speaks its vendor's wire.
var vendors = []struct {
	kind, model, path string
	env               []string
	program           bool // it is a program, which .ci/tools installs
	resumes           bool // it goes on from its own conversation for the next version of a task
	plans             bool // it makes the plan, too; most programs need seconds for each question
}{
	{kind: "claude", model: "claude-sonnet-4-5", program: true, resumes: true},
	{kind: "codex", model: "gpt-5", path: "/v1", program: true, resumes: true, plans: true},
	{kind: "gemini", model: "gemini-2.5-pro", program: true, resumes: true},
	// Its sessions belong to the directory that they began in, and every attempt has its own.
	{kind: "opencode", model: "m-1", path: "/v1", program: true, env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1"}},
	{kind: "openai", model: "m-1", path: "/v1", plans: true},
	{kind: "anthropic", model: "claude-sonnet-4-5", plans: true},
}

const vendorPlan = `title: Greeting
top_task: Write a greeting of three words.
root_acceptance_criteria:
  - {id: R1, statement: The greeting has 3 words.}
tasks:
  - task_id: IMPL-1
    title: The greeting
    description: Three words that greet somebody.
    estimated_person_days: 0.5
    covers: [R1]
    deliverable_spec: {filename: hello.txt}
    acceptance_criteria:
      - {id: A1, statement: hello.txt has 3 words and no more}
`

// reply makes a model's last message of the envelope that the contract wants.
func reply(fields map[string]any) string {
	fields["schema_version"] = 1
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return "Here it is:\n```json\n" + string(data) + "\n```\n"
}

// A sentence becomes an approved plan, and the plan is carried out, with the agents that people have: a version is
// rejected and redone with the reasons in hand.
func TestVendors(t *testing.T) {
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	for _, v := range vendors {
		r := repotest.New(t) // sets variables, which a parallel test must not do
		t.Run(v.kind, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("skipped: a real agent takes seconds for each question")
			}
			program := ""
			if v.program {
				program = vendorTool(t, tools, v.kind)
			}
			file := func(name, content string) map[string]any {
				return map[string]any{"result_type": "ARTIFACT", "summary": "I did very well.",
					"files": []map[string]any{{"path": name, "content": content}}}
			}
			review := func(verdict string, score int, pass bool) string {
				return reply(map[string]any{
					"result_type": "REVIEW", "verdict": verdict, "score": score, "summary": "Counted.",
					"criteria":    []map[string]any{{"id": "A1", "pass": pass, "evidence": "hello.txt, line 1"}},
					"suggestions": []map[string]any{{"priority": "HIGH", "text": "Three words, no more."}},
				})
			}
			var planRulings []map[string]any
			for _, c := range plan.PlanCriteria() {
				if c.ID != "feasible" { // which a person's plan alone is judged by
					planRulings = append(planRulings, map[string]any{"id": c.ID, "pass": true, "evidence": "read"})
				}
			}
			again := "# IMPL-1: "
			if v.resumes { // the conversation knows the task
				again = "# IMPL-1 again: "
			}
			server := wiretest.Start(t,
				wiretest.Turn{Match: "# Plan: ", Text: "I can't say it in JSON."}, // breaks the contract, and is told so
				wiretest.Turn{Match: "Your reply breaks the contract", Text: reply(file("plan.yaml", vendorPlan))},
				wiretest.Turn{Match: "# Feasibility of", Text: reply(map[string]any{
					"result_type": "FEASIBILITY", "estimates": []map[string]any{{"task_id": "IMPL-1", "estimated_person_days": 1,
						"one_shot_pass": true, "why": "three words"}},
				})},
				wiretest.Turn{Match: "# IMPL-1: ", Text: reply(file("hello.txt", "hello you there friend\n")),
					Usage: wiretest.Usage{Input: 500, Output: 40}},
				wiretest.Turn{Match: "# Review of IMPL-1", Text: review("REJECTED", 40, false)},
				wiretest.Turn{Match: again, Text: reply(file("hello.txt", "hello dear friend\n"))},
				wiretest.Turn{Match: "# Review of IMPL-1", Text: review("APPROVED", 96, true)},
				wiretest.Turn{Match: "# Review of the plan", Text: reply(map[string]any{
					"result_type": "REVIEW", "verdict": "APPROVED", "score": 95, "criteria": planRulings,
				})},
				wiretest.Turn{Text: "{}", Times: -1}, // what an agent asks beside: titles and the like
			)
			home := t.TempDir()
			w := newVendorRun(t, r, v.env, home)
			w.configure(r, v.kind, v.model, server.URL+v.path, program)
			for _, role := range []string{"planner", "reviewer"} {
				r.Git("config", "wf."+role, "bot")
			}
			r.Git("config", "wf.policy", "none")
			if v.plans {
				w.run("plan", "Write a greeting of three words.")
			} else {
				writeFile(t, filepath.Join(home, "plan.yaml"), vendorPlan)
				w.run("plan", "-f", filepath.Join(home, "plan.yaml"))
			}
			w.run("run")
			status := w.run("status")
			if !strings.Contains(status, "IMPL-1  The greeting  done  v2 approved 96") {
				t.Errorf("status:\n%s", status)
			}
			w.run("export", "--commit")
			w.run("verify", "HEAD")
			if cost := w.run("status", "--cost"); !regexp.MustCompile(`bot .* tokens in`).MatchString(cost) {
				t.Errorf("cost:\n%s", cost)
			}
			made := r.Git("show", "WORKFLOW_HEAD:tasks/ea/IMPL-1/artifacts/v2/artifact.json")
			var v2 struct{ Usage plan.Usage }
			if err := json.Unmarshal([]byte(made), &v2); err != nil || v2.Usage.InputTokens != 100 || v2.Usage.OutputTokens != 20 {
				t.Errorf("v2 cost %+v, %v; the server counted 100 tokens in and 20 out", v2.Usage, err)
			}
			var second string
			for _, q := range server.Requests() {
				body := string(q.Body)
				if strings.Contains(body, "# Review of IMPL-1") && strings.Contains(body, "I did very well") {
					t.Error("a reviewer was told what the maker says of its work")
				}
				if q.Turn == 5 {
					second = body
				}
			}
			if !strings.Contains(second, "Three words, no more.") {
				t.Errorf("the second attempt was not told why the first was rejected:\n%.2000s", second)
			}
			if v.resumes && !strings.Contains(second, "hello you there friend") {
				t.Errorf("the second attempt did not go on from the first:\n%.2000s", second)
			}
		})
	}
}

// vendorRun runs git wf in a repository.
type vendorRun struct {
	t       *testing.T
	dir     string
	home    string
	environ []string
}

// newVendorRun gives a vendor's program a home of its own.
func newVendorRun(t *testing.T, r *repotest.Repo, env []string, home string) *vendorRun {
	return &vendorRun{t: t, dir: r.Dir, home: home, environ: append(os.Environ(),
		append(env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "WF_KEY=key-of-the-test")...)}
}

// configure makes an agent of a kind the executor.
func (w *vendorRun) configure(r *repotest.Repo, kind, model, url, program string) {
	w.t.Helper()
	if kind == "gemini" {
		writeFile(w.t, filepath.Join(w.home, ".gemini", "settings.json"),
			`{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false}}`)
	}
	for key, value := range map[string]string{
		"kind": kind, "model": model, "baseurl": url, "keyenv": "WF_KEY", "command": program, "timeout": "8m",
	} {
		if value != "" {
			r.Git("config", "wf.agent.bot."+key, value)
		}
	}
	r.Git("config", "wf.executor", "bot")
}

func (w *vendorRun) run(args ...string) string {
	w.t.Helper()
	return w.ends(fault.ExitDone, args...)
}

// ends runs a command that ends with a code.
func (w *vendorRun) ends(want int, args ...string) string {
	w.t.Helper()
	var out, errs bytes.Buffer
	e := &env{stdin: strings.NewReader(""), printer: printer{stdout: &out, stderr: &errs}, dir: w.dir, now: time.Now,
		user:    user{w.environ},
		program: "git-wf", origin: aPerson}
	ctx, cancel := context.WithTimeout(w.t.Context(), 9*time.Minute)
	defer cancel()
	if code := e.run(ctx, args); code != want {
		w.t.Fatalf("git wf %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String()
}

// vendorTool finds a program that .ci/tools installs in a directory, or skips the test.
func vendorTool(t *testing.T, dir, name string) string {
	t.Helper()
	if dir != "" {
		path := filepath.Join(dir, "node_modules", ".bin", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	if why := tool.Broken(name); why != "" {
		t.Skipf("skipped: %s; `.ci/tools DIR` installs it in $GIT_WF_TEST_TOOLS/node_modules/.bin", why)
	}
	return tool.Need(t, name)
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}
