package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/estimate"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/secret"
	"gitwf/templates"
)

// page is a plan of one task.
func page(config, run, criteria string) string {
	return fmt.Sprintf(`title: Page
config: {%s}
root_acceptance_criteria: [{id: R1, statement: The page has a title}]
tasks:
  - task_id: IMPL-1
    title: Page
    estimated_person_days: 1
    run: %q
    deliverable_spec: {format: txt, filename: page.txt}
    acceptance_criteria: %s
    covers: [R1]
`, config, run, criteria)
}

const (
	writes = "echo hello > $WF_OUT/page.txt"
	passes = `[{id: A1, statement: page.txt has a line, run: test -s page.txt}]`
	never  = `[{id: A1, statement: page.txt has a line, run: sleep 60}]`
)

// workshop is an engine on a repository with a plan, whose lines are trusted.
type workshop struct {
	*Engine
	repo  *repotest.Repo
	t     *testing.T
	began chan string // what the engine reports
}

func newWorkshop(t *testing.T, text string) *workshop {
	t.Helper()
	r := repotest.New(t)
	r.Begin(text)
	trust := openTrust(t, t.TempDir())
	if err := trust.Add(trust.newLines(r.Snapshot(repotest.ID).Plan)); err != nil {
		t.Fatal(err)
	}
	b := &workshop{repo: r, t: t, began: make(chan string, 100)}
	b.Engine = &Engine{
		Store: r.Open(), Trust: trust, Now: time.Now, Environ: os.Environ(), Templates: templates.FS,
		Agents: agent.NewSet(func() (agent.Settings, error) {
			return agent.Settings{}, nil
		}, nil), Weights: weights, Assign: nobody, Secrets: secrets,
		Report: func(p Progress) { b.began <- string(p.Task) + " " + p.Text },
	}
	return b
}

func nobody() (agent.Assignment, error) { return agent.Assignment{}, nil }

func secrets() secret.Mask { return secret.NewMask(os.Environ()) }

// records are all records of the task, in the order of names.
func (b *workshop) records() string {
	b.t.Helper()
	dir := plan.TaskID("IMPL-1").Dir()
	var names []string
	for _, line := range strings.Fields(b.repo.Git("ls-tree", "-r", "--name-only", repotest.Ref)) {
		name, ok := strings.CutPrefix(line, dir+"/")
		if ok && !strings.HasSuffix(name, "/artifact.json") && !strings.HasSuffix(name, "/review.json") &&
			!strings.HasSuffix(name, ".log") {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func (b *workshop) waits(s *plan.State) []Wait {
	b.t.Helper()
	waits, err := b.Engine.waits(context.Background(), b.repo.Snapshot(repotest.ID), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return waits
}

func weights() (estimate.Weights, error) {
	data, err := templates.FS.ReadFile(estimate.File)
	if err != nil {
		return estimate.Weights{}, err
	}
	return estimate.ParseWeights(estimate.File, data, estimate.Weights{})
}

func (b *workshop) claims() string {
	b.t.Helper()
	return b.repo.Git("for-each-ref", "--format=%(refname)", "refs/workflow-claims")
}

func (b *workshop) run(ctx context.Context) (*plan.State, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return b.Run(ctx, repotest.ID)
}

// An interrupt says nothing about the task: no attempt is recorded, and nobody waits for the claim.
func TestInterrupted(t *testing.T) {
	tests := []struct {
		name, run, criteria string
		held                string // the claim that shows that the work has begun
		want                string
	}{
		{"an attempt", "touch $WF_OUT/page.txt; sleep 600", passes, "IMPL-1", ""},
		{"a review", writes, never, "CHECK-IMPL-1", "artifacts/v1/files/page.txt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newWorkshop(t, page("", tt.run, tt.criteria))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					if claims, err := b.Store.Claims(ctx, repotest.ID); err == nil {
						if _, ok := claims[plan.TaskID(tt.held)]; ok {
							time.Sleep(100 * time.Millisecond) // so that the interrupt hits the command
							break
						}
					}
					time.Sleep(5 * time.Millisecond)
				}
				cancel()
			}()
			begin := time.Now()
			if _, err := b.run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("stopped after %s", took)
			}
			if got := b.records(); got != tt.want {
				t.Errorf("recorded %q, want %q", got, tt.want)
			}
			if got := b.claims(); got != "" {
				t.Errorf("claims left: %s", got)
			}
		})
	}
}

// Checks that are quick are recorded with their version, in one move of the plan's ref; those that take long follow it.
func TestVerdictWithVersion(t *testing.T) {
	takesLong := `[{id: A1, statement: page.txt has a line, run: sleep 0.3; echo x >> "$WF_REPO/ran"; test -s page.txt}]`
	manual := `[{id: A1, statement: page.txt has a line, run: test -s page.txt}, {id: A2, statement: It reads well}]`
	approved := "artifacts/v1/files/page.txt reviews/r1-v1-100-checks/APPROVED.md"
	seen := "artifacts/v1/files/page.txt checks/k1-v1.json"
	tests := []struct {
		name, criteria string
		jobs           int
		want           string
		moves          int
	}{
		{"quick", passes, 1, approved, 1},
		{"quick, and a person has the last word", manual, 1, seen, 1},
		{"long", takesLong, 1, approved, 2},
		{"several jobs", passes, 2, approved, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newWorkshop(t, page("", writes, tt.criteria))
			b.Jobs = tt.jobs
			moves := func() int { return strings.Count(b.repo.Git("reflog", repotest.Ref), "git wf") }
			before, commits := moves(), b.repo.Git("rev-list", "--count", repotest.Ref)
			if _, err := b.run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := b.records(); got != tt.want {
				t.Errorf("recorded %q", got)
			}
			if got := b.repo.Git("rev-list", "--count", repotest.Ref); commits != "1" || got != "3" {
				t.Errorf("%s commits before, %s after", commits, got)
			}
			// A machine under load may be too slow for a quick check: then the version goes first.
			if got := moves() - before; got != tt.moves && (tt.moves != 1 || got != 2) {
				t.Errorf("%d moves of the ref", got)
			}
			if ran, err := os.ReadFile(filepath.Join(b.Store.WorkTree(), "ran")); err == nil && string(ran) != "x\n" {
				t.Errorf("the check ran %d times", len(ran)/2)
			}
			if got := b.claims(); got != "" {
				t.Errorf("claims left: %s", got)
			}
		})
	}
}

// endedProcess is the id of a process that has ended.
func endedProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("git", "version")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestTakenOver(t *testing.T) {
	gone := endedProcess(t)
	now := time.Now()
	tests := []struct {
		name   string
		config string
		claims []plan.Claim
		want   string
		status plan.Status
	}{
		{"nobody before", "", nil, "artifacts/v1/files/page.txt reviews/r1-v1-100-checks/APPROVED.md", plan.StatusDone},
		{"an expired claim", "", []plan.Claim{{Task: "IMPL-1", Host: "elsewhere", PID: 1, Started: now.Add(-2 * time.Hour),
			Expires: now.Add(-time.Hour)}},
			"artifacts/v1/files/page.txt attempts/a1-lost.json resets/s1-a1-r0.json reviews/r1-v1-100-checks/APPROVED.md",
			plan.StatusDone},
		{"a claim whose process is gone", "", []plan.Claim{{Task: "IMPL-1", Host: thisOwner().host, PID: gone, Started: now,
			Expires: now.Add(time.Hour)}},
			"artifacts/v1/files/page.txt attempts/a1-lost.json resets/s1-a1-r0.json reviews/r1-v1-100-checks/APPROVED.md",
			plan.StatusDone},
		{"the last worker was lost", "max_lost: 1", []plan.Claim{{Task: "IMPL-1", Host: thisOwner().host, PID: gone,
			Started: now, Expires: now.Add(time.Hour)}},
			"attempts/a1-lost.json", plan.StatusWaitingExternal},
		{"a review whose process is gone", "", []plan.Claim{{Task: "CHECK-IMPL-1", Host: thisOwner().host, PID: gone,
			Started: now, Expires: now.Add(time.Hour)}},
			"artifacts/v1/files/page.txt attempts/a1-v1-lost.json reviews/r1-v1-100-checks/APPROVED.md", plan.StatusDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newWorkshop(t, page(tt.config, writes, passes))
			for _, c := range tt.claims {
				c.Agent, c.Session = "exec", "theirs"
				if _, err := b.Store.Claim(context.Background(), repotest.ID, c); err != nil {
					t.Fatal(err)
				}
			}
			state, err := b.run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := b.records(); got != tt.want || state.Tasks["IMPL-1"].Status != tt.status {
				t.Errorf("%s, recorded %q", state.Tasks["IMPL-1"].Status, got)
			}
			if got := b.claims(); got != "" {
				t.Errorf("claims left: %s", got)
			}
		})
	}
}

// Even Step leaves a living claim alone.
func TestClaimOfAnother(t *testing.T) {
	b := newWorkshop(t, page("", writes, passes))
	now := time.Now()
	theirs := plan.Claim{Task: "IMPL-1", Agent: "exec", Session: "theirs", Host: "elsewhere", PID: 1, Started: now,
		Expires: now.Add(time.Hour)}
	theirs, err := b.Store.Claim(context.Background(), repotest.ID, theirs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	if _, err := b.Run(ctx, repotest.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run does not wait for the others: %v", err)
	}
	if got := b.records(); got != "" {
		t.Errorf("recorded %s", got)
	}
	if err := b.Store.Release(context.Background(), repotest.ID, theirs); err != nil {
		t.Errorf("their claim is no longer theirs: %v", err)
	}
	if _, did, err := b.Step(context.Background(), repotest.ID); !did || err != nil ||
		b.records() != "artifacts/v1/files/page.txt" {
		t.Errorf("did %v, %v, recorded %s", did, err, b.records())
	}
}

// Who has the next word after the engine has done what it can.
func TestReviewSteps(t *testing.T) {
	const (
		file    = "artifacts/v1/files/page.txt"
		runs    = `{id: A1, statement: page.txt has a line, run: test -s page.txt}`
		fails   = `{id: A2, statement: page.txt has no line, run: test ! -s page.txt}`
		dislike = `{id: A4, statement: page.txt has no line, run: test ! -s page.txt, severity: SHOULD}`
		person  = `{id: A3, statement: page.txt says hello to the reader}`
	)
	tests := []struct {
		name, config, criteria string
		want                   string
		next                   string
		wait                   string
	}{
		{"the engine judges all", "", runs, file + " reviews/r1-v1-100-checks/APPROVED.md", "", ""},
		{"a SHOULD costs points", "", runs + ", " + dislike, file + " reviews/r1-v1-90-checks/APPROVED.md", "",
			""},
		{"a person judges all", "", person, file, plan.StepPerson, "git wf review IMPL-1"},
		{"a person has the last word", "", runs + ", " + person, file + " checks/k1-v1.json", plan.StepPerson,
			"git wf review IMPL-1"},
		{"a failed MUST spares the person", "max_attempts: 1", fails + ", " + person, file +
			" reviews/r1-v1-100-checks/REJECTED.md", "",
			"git wf show IMPL-1; git wf retry IMPL-1"},
		{"a failed SHOULD does not", "", dislike + ", " + person, file + " checks/k1-v1.json", plan.StepPerson,
			"git wf review IMPL-1"},
		{"the engine may not judge", "reviewers: [ann]", runs, file + " checks/k1-v1.json", plan.StepPerson,
			"git wf review IMPL-1"},
		{"it is not enough alone", "quorum: 2, reviewers: [checks, ann]", runs, file +
			" reviews/r1-v1-100-checks/APPROVED.md", plan.StepPerson,
			"git wf review IMPL-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newWorkshop(t, page(tt.config, writes, "["+tt.criteria+"]"))
			state, err := b.run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := b.records(); got != tt.want || state.NextReviewStep("IMPL-1") != tt.next {
				t.Errorf("recorded %q, next %q", got, state.NextReviewStep("IMPL-1"))
			}
			var commands []string
			for _, w := range b.waits(state) {
				commands = append(commands, w.Command)
			}
			if got := strings.Join(commands, "; "); got != tt.wait {
				t.Errorf("waits for %q", got)
			}
			if _, did, err := b.Step(context.Background(), repotest.ID); did || err != nil {
				t.Errorf("there was something left to do: %v, %v", did, err)
			}
		})
	}
}

// Nothing of a foreign plan runs before somebody has trusted it.
func TestUntrusted(t *testing.T) {
	b := newWorkshop(t, page("", writes, passes))
	all := b.Trust.newLines
	for _, known := range [][]string{nil, {writes}} {
		b.Trust = openTrust(t, t.TempDir())
		if err := b.Trust.Add(lines(known...)); err != nil {
			t.Fatal(err)
		}
		state, err := b.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		waits := b.waits(state)
		if len(waits) != 1 || waits[0].Command != "git wf trust" {
			t.Errorf("waits %+v", waits)
		}
		want := strings.Repeat("artifacts/v1/files/page.txt", len(known))
		if got := b.records(); got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
	if len(all(b.repo.Snapshot(repotest.ID).Plan)) != 0 {
		t.Error("the first set knew them all")
	}
}

func TestRunReports(t *testing.T) {
	b := newWorkshop(t, page("", writes, passes))
	if _, err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	close(b.began)
	var said []string
	for text := range b.began {
		said = append(said, text)
	}
	want := []string{"IMPL-1 started by exec", "IMPL-1 v1 by exec, 1 file, in ",
		"IMPL-1 v1 approved by checks (score 100)"}
	if !slices.EqualFunc(said, want, strings.HasPrefix) {
		t.Errorf("said %q", said)
	}
}
