package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

func sample() Context {
	return Context{
		Task: &plan.Task{
			TaskID: "IMPL-2", NodeType: plan.Action, Title: "Write the page", Description: "With <b>bold</b> & more.",
			DeliverableSpec: &plan.DeliverableSpec{Format: "html", Filename: "index.html", OutputDir: "site", SingleFile: true,
				Description: "One page."},
		},
		Plan: PlanContext{PlanID: "WFS-shop", Title: "Shop", TopTask: "Make me a shop"},
		Criteria: []plan.Criterion{
			{ID: "A1", Statement: "It links the style.", Severity: plan.Must, Run: "grep -q style.css index.html"},
			{ID: "A2", Statement: "It reads well.", Severity: plan.Should},
		},
		Inputs: []Input{{TaskID: "IMPL-1", Version: 2, Files: []InputFile{{Path: "style.css",
			BundlePath: "style_IMPL-1/style.css"}}}},
		HandedIn: []HandedIn{{Name: "logo", Path: "inputs/logo/1/logo.svg"}},
		Notes:    []plan.Note{{Category: "decisions", Text: "Blue."}},
	}
}

func TestContextWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "context.json")
	if err := sample().Write(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got Context
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{
		"\n    \"task_id\": \"IMPL-2\"", "<b>bold</b> & more", `"top_task": "Make me a shop"`,
		`"bundle_path": "style_IMPL-1/style.css"`, `"version": 2`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in\n%s", part, data)
		}
	}
}

func TestContextWriteEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "context.json")
	c := Context{Task: &plan.Task{TaskID: "IMPL-1"}, Inputs: []Input{{TaskID: "IMPL-0", Version: 1}}}
	if err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	for _, part := range []string{`"criteria": []`, `"notes": []`, `"files": []`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in\n%s", part, data)
		}
	}
	if c.Inputs[0].Files != nil {
		t.Error("Write changed its receiver's inputs")
	}
}
