package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gitwf/internal/backend"
	"gitwf/internal/contract"
	"gitwf/internal/plan"
)

// asked is an agent that only notes what it is asked.
type asked struct{ requests []backend.Request }

func (a *asked) Ask(_ context.Context, r backend.Request) (backend.Reply, error) {
	a.requests = append(a.requests, r)
	return backend.Reply{}, errors.New("no answer")
}

func (a *asked) Missing() error { return nil }

// TestAccess has a maker write, and a judge only read: each tool that is offered costs tokens with every request.
func TestAccess(t *testing.T) {
	prompt := filepath.Join(t.TempDir(), "prompt.md")
	if err := os.WriteFile(prompt, []byte("Hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := &asked{}
	m := &Model{name: "a", backend: a, writes: true}
	for _, access := range []Access{backend.MayWrite, backend.MayRead, backend.MayAnswer} {
		job := Job{Task: &plan.Task{TaskID: "IMPL-1"}, Prompt: prompt, Out: "/out", In: "/in", Repo: "/repo", Access: access,
			Role: contract.RoleAction}
		if _, err := m.Run(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		job.Role = contract.RoleCheck
		if _, _, err := m.Judge(t.Context(), job, contract.Want{Role: contract.RoleCheck}); err != nil {
			t.Fatal(err)
		}
		made, judged := a.requests[0], a.requests[1]
		a.requests = nil
		if made.Access != access || (len(made.Writable) > 0) != (access == backend.MayWrite) {
			t.Errorf("a maker with access %v was asked with %v, writable %q", access, made.Access, made.Writable)
		}
		if want := max(access, backend.MayRead); judged.Access != want || judged.Writable != nil {
			t.Errorf("a judge with access %v was asked with %v, writable %q", access, judged.Access, judged.Writable)
		}
	}
}
