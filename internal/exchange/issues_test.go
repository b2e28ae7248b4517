package exchange

import (
	"fmt"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func TestIssueSeverity(t *testing.T) {
	for labels, want := range map[string]string{
		`"bug"`: "", `"critical"`: "critical", `{"name": "High"}`: "high", `"priority: high"`: "high",
		`"Priority/Medium"`: "medium", `"severity:low"`: "low", `"P0"`: "critical", `"p3"`: "low",
		`"low", "P1"`: "high", `"P4"`: "", `"high-contrast"`: "", `5, null, {}, []`: "",
	} {
		issues, wrong := Issues("i.json", []byte(`[{"number": 1, "title": "t", "labels": [`+labels+`]}]`))
		if len(wrong) > 0 || len(issues) != 1 || issues[0].Severity != want {
			t.Errorf("%s: %+v %v, want %q", labels, issues, wrong, want)
		}
	}
}

func TestIssueTooLong(t *testing.T) {
	text := strings.Repeat("x", maxText)
	for _, body := range []string{text[:maxText-1], text} {
		task, err := Issue{Number: "17", Title: "t", Text: body}.Task()
		if fits := len(body) < maxText; fits != (err == nil) || fits && task.Description != body ||
			!fits && !strings.Contains(err.Error(), "17: the text has 20001") {
			t.Errorf("%d characters: %v", len(body), err)
		}
	}
}

// Whatever a file says, what is taken from it makes a register that is valid, and none of it is a command line.
func FuzzIssues(f *testing.F) {
	f.Add(`[{"number": 7, "title": "Crash", "state": "OPEN", "url": "https://x/7", "labels": [{"name": "P0"}],` +
		` "body": "In ` + "`a/b.go`" + `\n- [ ] works\n- [x] seen\n- [ ] \u202e\n"}]`)
	f.Add(`[{"number": "../..", "title": "\u0000\u001b", "body": null, "labels": [1, {}, "sev/9"]}, {"title": "a", "number": 1.5}]`)
	f.Add(`{"title": "` + strings.Repeat("x", 300) + `", "body": "a/../b ./c/** .git/config /etc/x.md C:\\x"}`)
	f.Add(`[[], {}, null`)
	f.Fuzz(func(t *testing.T, text string) {
		issues, _ := Issues("i.json", []byte(text))
		p := &plan.Plan{SchemaVersion: 2, Title: "x", TopTask: "x", RootTaskID: plan.RootID, Register: true,
			Tasks: []*plan.Task{{TaskID: plan.RootID, NodeType: plan.Goal, Title: "x",
				FinalDeliverableSpec: &plan.FinalDeliverableSpec{Mode: plan.PassThrough}}}}
		for i, issue := range issues[:min(len(issues), 100)] {
			task, err := issue.Task()
			if err != nil {
				continue
			}
			task.TaskID, task.ParentTaskID = plan.TaskID(fmt.Sprintf("ISSUE-%d", i+1)), plan.RootID
			p.Tasks = append(p.Tasks, task)
		}
		if len(p.Tasks) == 1 {
			return
		}
		data, err := plandoc.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		read, err := plandoc.ParseValid("register.json", data, policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		if lines := plandoc.CommandLines(read); len(lines) > 0 {
			t.Errorf("has command lines: %v", lines)
		}
	})
}
