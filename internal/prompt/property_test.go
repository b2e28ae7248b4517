package prompt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitwf/internal/contract"
	"gitwf/templates"
)

// anyText has a unique mark at its beginning, middle and end, so that the test can tell whether all of it is there.
func anyText(r *rapid.T, most int) Text {
	word := rapid.StringMatching(`[a-z~\x{4ef7}#`+"`"+`]{1,12}`).Draw(r, "word")
	n := rapid.IntRange(1, most/len(word)+1).Draw(r, "times")
	end := rapid.SampledFrom([]string{"", " ", "\n", "\n~~~~\n"}).Draw(r, "end")
	return Text("begin " + strings.Repeat(word+end, n) + " end")
}

func anyFiles(r *rapid.T, most int) []File {
	files := make([]File, rapid.IntRange(0, 12).Draw(r, "files"))
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("dir/file-%d.md", i), Size: 10, Text: anyText(r, most)}
	}
	return files
}

func anyData(r *rapid.T, role contract.Role) Data {
	d := sample(role)
	d.TopTask, d.Task.Description = anyText(r, 3000), anyText(r, 600)
	d.Notes, d.Answers, d.Inputs, d.Requirements = nil, nil, nil, nil
	for i := range rapid.IntRange(0, 30).Draw(r, "notes") {
		d.Notes = append(d.Notes, Note{i + 1, "learning", "", anyText(r, 12_000)})
	}
	for i := range rapid.IntRange(0, 10).Draw(r, "answers") {
		d.Answers = append(d.Answers, Answer{fmt.Sprintf("q%d", i+1), "Why?", anyText(r, 3000), ""})
	}
	for i := range rapid.IntRange(0, 10).Draw(r, "inputs") {
		d.Inputs = append(d.Inputs, Input{Name: fmt.Sprintf("IMPL-%d", 10+i), Version: 1, Files: anyFiles(r, 20_000)})
	}
	d.Requirements = anyFiles(r, 5000)
	if d.Rejected.Text = ""; rapid.Bool().Draw(r, "rejection in full") {
		d.Rejected.Text = anyText(r, 5000)
	}
	if d.Candidate != nil {
		d.Candidate.Files, d.Candidate.Diff = anyFiles(r, 20_000), anyText(r, 3000)
	}
	return d
}

// texts are all texts of the data that the role's own template prints.
func texts(role contract.Role, d Data) map[string]Text {
	all := map[string]Text{}
	for _, n := range d.Notes {
		all[fmt.Sprintf("note %d (learning)", n.Number)] = n.Text
	}
	for _, a := range d.Answers {
		all["answer to "+a.ID] = a.Text
	}
	if role != contract.RoleFeasibility && role != contract.RolePlanReview {
		for _, in := range d.Inputs {
			for _, f := range in.Files {
				all[in.what()+": "+f.Path] = f.Text
			}
		}
	}
	if role == contract.RolePlan || role == contract.RolePlanReview || role == contract.RoleSplit {
		for _, f := range d.Requirements {
			all["requirement: "+f.Path] = f.Text
		}
	}
	if d.Candidate != nil {
		all["difference from v1 to v2"] = d.Candidate.Diff
		for _, f := range d.Candidate.Files {
			all["candidate v2: "+f.Path] = f.Text
		}
	}
	all["top task"] = d.TopTask
	all["question"] = d.Question
	if role != contract.RoleFeasibility && role != contract.RoleConsult {
		all["rejection of v1"] = d.Rejected.Text
	}
	return all
}

func bindingParts(role contract.Role, d Data) []string {
	parts := []string{answerForm}
	if role.TopTask() {
		return append(parts, block("task", "top task", d.TopTask), "- A1 (MUST)", d.Rejected.Failed[0].Evidence)
	}
	if role != contract.RoleFeasibility {
		parts = append(parts, block("task", "task IMPL-3", d.Task.Description), "grep -q style.css index.html",
			"A child of eight finds the prices.")
	}
	if role != contract.RoleFeasibility && role != contract.RoleConsult {
		parts = append(parts, d.Rejected.Failed[0].Evidence)
	}
	return parts
}

func block(label, name string, t Text) string { return fenced(label, name, string(t)) }

func TestBudgetProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		role := rapid.SampledFrom(contract.Roles()).Draw(r, "role")
		d := anyData(r, role)
		budget := rapid.IntRange(2000, 120_000).Draw(r, "budget")
		p, err := Build(templates.FS, role, d, budget)
		var over *BudgetError
		if errors.As(err, &over) {
			if over.Need <= budget {
				r.Fatalf("needs %d, has %d", over.Need, budget)
			}
			if p, err = Build(templates.FS, role, d, over.Need); err != nil {
				r.Fatalf("with all that it asked for: %v", err)
			}
			budget = over.Need
		}
		if err != nil {
			r.Fatal(err)
		}
		if len(p.Text) > budget {
			r.Fatalf("%d bytes, budget %d", len(p.Text), budget)
		}
		for _, part := range bindingParts(role, d) {
			if !strings.Contains(p.Text, part) {
				r.Fatalf("a binding part is missing: %q", part)
			}
		}
		dropped := map[string]bool{}
		for _, drop := range p.Dropped {
			if drop.What == "" || drop.Bytes <= 0 || drop.Why == "" || dropped[drop.What] {
				r.Fatalf("dropped %+v", drop)
			}
			dropped[drop.What] = true
		}
		for what, text := range texts(role, d) {
			label := "material"
			if what == "top task" && role.TopTask() {
				label = "task"
			}
			whole := text == "" || strings.Contains(p.Text, block(label, what, text))
			if whole == dropped[what] {
				r.Fatalf("%s: whole %v, dropped %v", what, whole, dropped[what])
			}
		}
		if (len(p.Dropped) > 0) != strings.Contains(p.Text, "\n## Left out\n\nThis prompt has a limit.") {
			r.Fatal("the text does not say what Dropped says")
		}
	})
}
