package workflow

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gitwf/templates"
)

const (
	cataloguePage = "../../docs/catalogue.md"
	catalogueMark = "<!-- go test ./internal/workflow -run Catalogue -update writes what follows. -->\n"
)

// systems are the digests of other systems that docs/catalogue.tsv goes through row by row.
var systems = []struct {
	letter, title string
	rows          int
}{
	{"A", "Knowledge, sessions, roadmaps, specifications, reviews", 32},
	{"B", "Brainstorm, teams for any task, and what all teams have", 42},
	{"F", "Frontend, issues, iterations, lifecycle", 70},
}

// The page of the catalogue is made from the files of the workflows, and has each row of each digest.
func TestCatalogue(t *testing.T) {
	var b strings.Builder
	b.WriteString(catalogueMark)
	catalogueOfWorkflows(t, &b)
	catalogueOfRows(t, &b)
	page, err := os.ReadFile(cataloguePage)
	if err != nil {
		t.Fatal(err)
	}
	head, generated, ok := bytes.Cut(page, []byte(catalogueMark))
	if !ok {
		t.Fatalf("%s has no line %s", cataloguePage, catalogueMark)
	}
	if *update {
		if err := os.WriteFile(cataloguePage, append(head, b.String()...), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(b.String(), catalogueMark+string(generated)); diff != "" {
		t.Errorf("docs/catalogue.md differs from the files (-want +got):\n%s", diff)
	}
}

func catalogueOfWorkflows(t *testing.T, b *strings.Builder) {
	b.WriteString("\n## The workflows\n\n| workflow | what it is for | you choose | calls, from and at most | then |\n" +
		"| --- | --- | --- | --- | --- |\n")
	guides := Guides(templates.Routes)
	for _, name := range builtins(t) {
		w := builtin(t, name)
		var choices []string
		for _, p := range w.Params() {
			if len(p.Options) > 0 {
				choices = append(choices, p.Name+": "+strings.Join(p.Options, ", "))
			}
		}
		least, most := math.MaxInt, 0
		combinations, _ := w.Choices()
		for _, in := range combinations {
			bounds, err := w.Bounds(in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			least, most = min(least, bounds.Usual), max(most, bounds.Most)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %d, %d | %s |\n", name, w.About(), strings.Join(choices, "; "), least, most,
			strings.Join(guides[name].Then, ", "))
	}
}

func catalogueOfRows(t *testing.T, b *strings.Builder) {
	data, err := os.ReadFile("../../docs/catalogue.tsv")
	if err != nil {
		t.Fatal(err)
	}
	help, err := os.ReadFile("../../cmd/git-wf/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 4 || rows[cells[0]] != nil || slices.Contains(cells, "") {
			t.Fatalf("docs/catalogue.tsv: not a row, what it is, what carries it, what shows it: %q", line)
		}
		rows[cells[0]] = cells
	}
	command := regexp.MustCompile("`git wf ([a-z]+)")
	for _, s := range systems {
		fmt.Fprintf(b, "\n## %s: %s\n\n| | system | carried by | shown by |\n| --- | --- | --- | --- |\n", s.letter, s.title)
		for n := range s.rows {
			row := fmt.Sprint(s.letter, n+1)
			cells, ok := rows[row]
			if !ok {
				t.Errorf("docs/catalogue.tsv has no row %s", row)
				continue
			}
			delete(rows, row)
			for _, m := range command.FindAllStringSubmatch(cells[2], -1) {
				if !bytes.Contains(append([]byte("\n"), help...), []byte("\n## "+m[1]+"\n")) {
					t.Errorf("%s: there is no git wf %s", row, m[1])
				}
			}
			for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[2], -1) {
				if !slices.Contains(builtins(t), name[1]) && !bytes.Contains(schemaJSON, []byte(`"`+name[1]+`"`)) {
					t.Errorf("%s: `%s` is neither a workflow nor a field of one", row, name[1])
				}
			}
			fmt.Fprintf(b, "| %s | %s | %s | `%s` |\n", row, cells[1], cells[2],
				strings.ReplaceAll(cells[3], ", ", "`, `"))
		}
	}
	for _, row := range slices.SortedFunc(maps.Keys(rows), cmp.Compare[string]) {
		t.Errorf("docs/catalogue.tsv has a row %s, which no digest has", row)
	}
}
