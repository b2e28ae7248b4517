package chaostest

import (
	"context"
	"os"
	"runtime"
	"testing"
)

// TestWorkflowKilled kills the run of a workflow at every event that it records. blackboard has all kinds of acts,
// constructs what a file can say besides. With
// CHAOS_WORKFLOW_ALL it does that to each workflow, at more moments.
func TestWorkflowKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts for a shell")
	}
	t.Parallel()
	s, ctx := stages(t), context.Background()
	all := os.Getenv("CHAOS_WORKFLOW_ALL") != ""
	for _, name := range Workflows() {
		t.Run(name, func(t *testing.T) {
			if !all && name != "blackboard" && name != "constructs" {
				t.Skip("CHAOS_WORKFLOW_ALL=1 runs it")
			}
			w, err := s.Lab.NewWorkflow(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			kills, err := w.KillAtEvents(ctx, all)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d events, %d kills; the plan has %d acts", w.Events, kills, len(w.Acts()))
		})
	}
}
