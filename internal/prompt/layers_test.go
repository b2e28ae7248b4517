package prompt_test

import (
	"sync"
	"testing"
	"testing/fstest"

	"gitwf/internal/contract"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
	"gitwf/templates"
)

// Templates that are parsed once make the same prompts, also concurrently, and a broken one stays an error.
func TestLayersParseOnce(t *testing.T) {
	d := prompt.Data{PlanID: "WFS-x", Title: "x", Task: prompt.TaskOf(&plan.Task{TaskID: "IMPL-1", Title: "a"}, 90)}
	want, err := prompt.Build(templates.FS, contract.RoleAction, d, prompt.DefaultBudget)
	if err != nil {
		t.Fatal(err)
	}
	files := prompt.Layers(prompt.Layer{FS: templates.FS})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := prompt.Build(files, contract.RoleAction, d, prompt.DefaultBudget)
			if err != nil || got.Text != want.Text {
				t.Errorf("%v\n%s", err, got.Text)
			}
		})
	}
	wg.Wait()
	broken := prompt.Layers(prompt.Layer{Name: "mine",
		FS: fstest.MapFS{"prompts/action.md": {Data: []byte("{{.Nothing}}")}}}, prompt.Layer{FS: templates.FS})
	for range 2 {
		if _, err := prompt.Build(broken, contract.RoleAction, d, prompt.DefaultBudget); err == nil {
			t.Error("a field that there is not was no error")
		}
	}
}
