package estimate_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitwf/internal/estimate"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/templates"
)

// shipped returns the table that comes with the program.
func shipped(t interface{ Fatal(...any) }) estimate.Weights {
	data, err := templates.FS.ReadFile(estimate.File)
	if err != nil {
		t.Fatal(err)
	}
	w, err := estimate.ParseWeights(estimate.File, data, estimate.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func action(title, description string, criteria int, files ...string) *plan.Task {
	t := &plan.Task{NodeType: plan.Action, Title: title, Description: description,
		DeliverableSpec: &plan.DeliverableSpec{Files: files}}
	for i := range criteria {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{ID: fmt.Sprint("A", i), Severity: plan.Must,
			Run: "test -s x"})
	}
	return t
}

func numbered(form string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(form, i))
	}
	return all
}

func TestEstimate(t *testing.T) {
	long := strings.Repeat("The page shows what the reader asked for. ", 500)
	tests := []struct {
		name        string
		task        *plan.Task
		least, most float64
	}{
		{"nothing said", &plan.Task{}, 0.1, 0.5},
		{"a script of one file", action("Write backup.sh", "A shell script that copies the database.", 2, "backup.sh"), 0.5,
			2},
		{"the same in Chinese", action("编写备份脚本", "用 shell 编写数据库备份脚本 backup.sh。", 2, "backup.sh"), 0.5, 2},
		{"a page with game", action("Create a 2048 game", "One HTML page with the game, playable with the arrow keys.", 6,
			"index.html"), 1, 4},
		{"twelve files, twenty criteria", action("The shop", "", 20, numbered("mod%d.go", 12)...), 10.1, 25},
		{"a form of twenty fields", action("The form", "One page, form.html. Its fields:\n- "+
			strings.Join(numbered("field%d.first, a word", 20), "\n- "), 2, "form.html"), 0.5, 3},
		{"a long description has a limit", action("Page", long, 2, "index.html"), 1, 8},
		{"a count that nobody means", &plan.Task{Requires: []plan.Requirement{{Count: math.MaxInt}, {Count: -5}}}, 100,
			estimate.Most},
	}
	w := shipped(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := w.Estimate(tt.task)
			if e.Days < tt.least || e.Days > tt.most {
				t.Errorf("%v person-days, want %v to %v:\n%s", e.Days, tt.least, tt.most, strings.Join(e.Why, "\n"))
			}
		})
	}
}

func TestWhyNamesEachTerm(t *testing.T) {
	task := action("Migrate the store", "Moves auth.go, and what `legacy` holds.", 2, "new.go", "test/*.go")
	task.AcceptanceCriteria = append(task.AcceptanceCriteria, plan.Criterion{Severity: plan.Should})
	task.DependsOn, task.Covers, task.Requires = []plan.TaskID{"IMPL-1"}, []string{"R1"},
		[]plan.Requirement{{Name: "dump"}}
	e := shipped(t).Estimate(task)
	want := []string{
		"1 task x 0.3 = 0.3", "1 file x 0.5 = 0.5", "1 pattern of files x 1 = 1",
		"2 MUST with a command x 0.2 = 0.4", "1 SHOULD judged by reading x 0.1 = 0.1",
		"1 task that it depends on x 0.1 = 0.1",
		"1 required input x 0.3 = 0.3", "1 root criterion that it covers x 0.05 = 0.05", "description of 7 words = 0.03",
		`work of the kind migrate ("migrat") x 1.5 = +1.39`,
	}
	if got := strings.Join(e.Why, "\n"); got != strings.Join(want, "\n") || e.Days != 4.2 {
		t.Errorf("%v person-days, want 4.2:\n%s", e.Days, got)
	}
}

func TestVerbs(t *testing.T) {
	tests := []struct{ name, title, want string }{
		{"english", "Migrate the data", "migrate"},
		{"inflected", "Migrating the data", "migrate"},
		{"inside of a word", "Emigration", ""},
		{"after a word that has it inside", "emigration, migration", "migrate"},
		{"chinese", "把数据迁移到新库", "migrate"},
		{"english next to chinese", "把数据migrate到新库", "migrate"},
		{"the largest counts", "Test and migrate", "migrate"},
		{"none", "Poem", ""},
	}
	w := shipped(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, line := range w.Estimate(&plan.Task{Title: tt.title}).Why {
				if rest, ok := strings.CutPrefix(line, "work of the kind "); ok {
					got, _, _ = strings.Cut(rest, " ")
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Each task of the examples is small, far below the threshold of 10.
func TestExamplesPass(t *testing.T) {
	w := shipped(t)
	for _, name := range []string{"hello.yaml", "release-dossier.yaml"} {
		data, err := os.ReadFile("../../examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plandoc.ParseValid(name, data, policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range p.Tasks {
			if task.NodeType != plan.Action {
				continue
			}
			e := w.Estimate(task)
			if e.Days > 5 {
				t.Errorf("%s: %s: %v person-days, its author says %v:\n%s", name, task.TaskID, e.Days, task.EstimatedPersonDays,
					strings.Join(e.Why, "\n"))
			}
		}
	}
}

// TestMonotone: for any task, one more file or criterion never lowers the estimate, and the number is valid.
func TestMonotone(t *testing.T) {
	w := shipped(t)
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab.,、；`-/*\n 迁移测试mG0")))
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.SampledFrom([]string{"a.go", "b/a.go", "c.ab", "*.go", "ab.ma", ""}), 0, 6).Draw(t,
			"files")
		task := action(text.Draw(t, "title"), text.Draw(t, "description"), rapid.IntRange(0, 5).Draw(t, "criteria"), files...)
		before := w.Estimate(task).Days
		if before < estimate.Least || before > estimate.Most || math.IsNaN(before) {
			t.Fatalf("%v is no estimate", before)
		}
		file := rapid.SampledFrom([]string{"a.go", "m.ab", "x/b.mg", "**/*.a"}).Draw(t, "file")
		task.DeliverableSpec.Files = append(task.DeliverableSpec.Files, file)
		if after := w.Estimate(task).Days; after < before {
			t.Fatalf("%v became %v with the file %s", before, after, file)
		}
		before = w.Estimate(task).Days
		task.AcceptanceCriteria = append(task.AcceptanceCriteria, plan.Criterion{
			Severity: rapid.SampledFrom([]string{plan.Must, plan.Should, ""}).Draw(t, "severity"),
			Run:      rapid.SampledFrom([]string{"", "true"}).Draw(t, "run"),
		})
		if after := w.Estimate(task).Days; after < before {
			t.Fatalf("%v became %v with another criterion", before, after)
		}
	})
}
