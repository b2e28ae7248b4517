package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/contract"
	"gitwf/internal/plan"
)

// The same text makes the same plan: if it is useless, the outliner asks for another, and uses what it asked for.
func TestOutliner(t *testing.T) {
	const good = "# Pages\n\n- [ ] R1: There are pages\n\n## Task 1: Pages (1d)\n\n- deliverable: `pages.txt`\n- acceptance:\n  - `test -s pages.txt` -> exit 0\n"
	tests := []struct {
		name     string
		topTask  string
		files    map[string]string // below In
		attempt  int
		rejected bool
		kind     Kind
		words    string // in the summary or in the question
		needs    string // the name of what is asked for
	}{
		{"the top task", good, nil, 1, false, Artifact, "Made from the top task", ""},
		{"a file that came with it", "Do it", map[string]string{"inputs/requirements/2/b.md": good,
			"inputs/requirements/10/a.md": "# No"}, 1, false, Artifact, "Made from b.md", ""},
		{"no outline", "Create a 2048 game", nil, 1, false, NeedsInput,
			"No plan can be made of the top task: the top task:1: ", "markdown-1"},
		{"rejected", good, nil, 2, true, NeedsInput, "was rejected (git wf show PLAN-1 --review says why)", "markdown-2"},
		{"what was asked for", "Do it", map[string]string{"inputs/requirements/1/a.md": "# No",
			"inputs/markdown-2/1/x.txt": good}, 3, true, Artifact, "Made from x.txt", ""},
		{"the newest", "Do it", map[string]string{"inputs/markdown-10/1/x.md": good, "inputs/markdown-2/1/y.md": "# No"}, 11,
			true, Artifact, "Made from x.md", ""},
		{"rejected too", "Do it", map[string]string{"inputs/markdown-2/1/x.md": good}, 4, true, NeedsInput,
			"The plan made of x.md was rejected", "markdown-4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := Job{Task: &plan.Task{TaskID: "PLAN-1"}, TopTask: tt.topTask, Attempt: tt.attempt, Role: contract.RolePlan,
				In: t.TempDir(), Out: t.TempDir()}
			if tt.rejected {
				job.Feedback = "REJECTED.md"
			}
			for name, text := range tt.files {
				file := filepath.Join(job.In, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			res, err := outliner{}.Run(t.Context(), job)
			if err != nil || res.Kind != tt.kind || !strings.Contains(res.Summary+res.Message, tt.words) {
				t.Fatalf("got %+v, %v", res, err)
			}
			_, made := os.Stat(filepath.Join(job.Out, "plan.yaml"))
			if (tt.kind == Artifact) != (made == nil) {
				t.Errorf("plan.yaml: %v", made)
			}
			if tt.needs != "" && (len(res.Needs) != 1 || res.Needs[0].Name != tt.needs || res.Needs[0].Kind != plan.AskFile) {
				t.Errorf("asks %+v", res.Needs)
			}
		})
	}
}
