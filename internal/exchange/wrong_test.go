package exchange

import (
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// What is wrong with a source is a finding if something is lost by it, else a note; a plan comes of it where it can.
func TestReadWrong(t *testing.T) {
	const boxes = "# Do\n\n- [ ] one é\n- [x] two\n"
	deep := `{"tasks": [{"id": 1, "title": "a", "subtasks": ` + strings.Repeat(`[{"id": 1, "title": "b", "subtasks": `, 90) +
		"[]" + strings.Repeat("}]", 90) + "}]}"
	for _, tt := range []struct {
		name, path, text string
		findings, notes  []string
		tasks            int
	}{
		{"sound", "TODO.md", boxes, nil, nil, 2},
		{"a byte order mark, and Windows' lines", "TODO.md", "\ufeff" + strings.ReplaceAll(boxes, "\n", "\r\n"), nil, nil, 2},
		{"UTF-16", "TODO.md", "\xff\xfe#\x00", []string{"not-utf8"}, nil, 0},
		{"Latin-1", "TODO.md", "# Do\n\n- [ ] one \xe9\n", []string{"not-utf8"}, nil, 0},
		{"a NUL", "TODO.md", "# Do\n\n- [ ] one \x00\n", []string{"nul"}, nil, 0},
		{"broken JSON", "tasks.json", `{"tasks": [{"id": 1, "title": "a"}`, []string{"syntax"}, nil, 0},
		{"a task that is none", "tasks.json", `{"tasks": [{"id": 1, "title": "a"}, 7]}`, []string{"wrong-type"}, nil, 1},
		{"a task without an id", "tasks.json", `{"tasks": [{"id": 1, "title": "a"}, {"title": "b"}]}`,
			nil, []string{"missing-field"}, 2},
		{"too deep", "tasks.json", deep, []string{"too-deep"}, nil, 1},
		{"two of one id, and who waits for it", "tasks.json",
			`{"tasks": [{"id": 1, "title": "a"}, {"id": 1, "title": "b"}, {"id": 2, "title": "c", "dependencies": [1]}]}`,
			[]string{"duplicate-id"}, []string{"duplicate-id"}, 3},
		{"a circle", "tasks.json",
			`{"tasks": [{"id": 1, "title": "a", "dependencies": [2]}, {"id": 2, "title": "b", "dependencies": [1]}]}`,
			[]string{"cycle"}, nil, 2},
		{"a circle of what is done", "tasks.json", `{"tasks": [{"id": 1, "title": "a", "status": "done", "dependencies": [2]},
			{"id": 2, "title": "b", "status": "done", "dependencies": [1]}]}`, nil, []string{"cycle"}, 2},
		{"a comment, and a comma behind the last item", "tasks.json", `{"tasks": [{"id": 1, "title": "a"}, /* b */ ]}`,
			nil, []string{"json-comments"}, 1},
		{"an id that is none", "backlog/task-1.md", "---\nid: [a]\nstatus: Done\n---\nIt is done.\n", []string{"no-tasks"},
			[]string{"no-task"}, 0},
		{"a word that nobody knows", "tasks.json", `{"tasks": [{"id": 1, "title": "a", "status": "pondered"}]}`, nil,
			[]string{"unknown-status"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := sample(map[string]string{tt.path: tt.text})
			found, findings := Find(fsys, tt.path)
			var notes plan.Findings
			tasks := 0
			if len(found) == 1 {
				i := Read(fsys, found[0], Options{})
				findings, notes = append(findings, i.Findings...), i.Notes
				if i.Plan != nil {
					for _, task := range i.Plan.Tasks {
						if task.NodeType == plan.Action {
							tasks++
						}
					}
				}
			}
			if got := codes(findings); !slices.Equal(got, tt.findings) {
				t.Errorf("findings %v, want %v: %v", got, tt.findings, findings)
			}
			if got := codes(notes); !slices.Equal(got, tt.notes) {
				t.Errorf("notes %v, want %v: %v", got, tt.notes, notes)
			}
			if tasks != tt.tasks {
				t.Errorf("%d tasks, want %d", tasks, tt.tasks)
			}
		})
	}
}

// codes are the codes of findings, each once.
func codes(fs plan.Findings) (all []string) {
	for _, f := range fs {
		if !slices.Contains(all, f.Code) {
			all = append(all, f.Code)
		}
	}
	return all
}
