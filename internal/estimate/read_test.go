package estimate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

// The result of a task is the same however the record is formatted.
func TestRead(t *testing.T) {
	rec := Record{TaskID: "PLAN-1", ArtifactID: "v1", Threshold: 10, Agent: "ann"}
	for i := range 12 {
		rec.Tasks = append(rec.Tasks, TaskResult{TaskID: plan.TaskID(fmt.Sprintf("IMPL-%d", i+1)), Result: Result{
			Days: float64(i), Why: "as \"task_id\": \"IMPL-3\", says\n    {\n      \"task_id\": \"IMPL-2\",\n    }\n\"estimates\": [",
		}})
	}
	long := plan.Document(rec)
	var short bytes.Buffer
	if err := json.Compact(&short, long); err != nil {
		t.Fatal(err)
	}
	for _, id := range []plan.TaskID{"IMPL-1", "IMPL-2", "IMPL-12", "IMPL-13", "PLAN-1"} {
		want := rec
		want.Tasks = []TaskResult{}
		for _, r := range rec.Tasks {
			if r.TaskID == id || id == rec.TaskID {
				want.Tasks = append(want.Tasks, r)
			}
		}
		for form, data := range map[string][]byte{"long": long, "short": short.Bytes()} {
			got, err := Read(data)
			if head, leaves, ok := Split(data); ok && id != rec.TaskID {
				got, err = ReadLeaf(head, leaves[id])
			} else if ok != (form == "long") {
				t.Errorf("%s: cut: %v", form, ok)
			}
			got.Tasks = slices.DeleteFunc(got.Tasks, func(r TaskResult) bool { return r.TaskID != id && id != rec.TaskID })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v %s", id, form, err, diff)
			}
		}
	}
	for _, wrong := range []string{
		string(long[:len(long)-5]), string(long) + "x", strings.Replace(string(long), "IMPL-3\",\n", "IMPL-2\",\n", 1),
		strings.Replace(string(long), "\n    },", "\n    } ,", 1),
	} {
		if _, _, ok := Split([]byte(wrong)); ok {
			t.Errorf("cut, though not in the form of plan.Document: %.300s", wrong)
		}
	}
}
