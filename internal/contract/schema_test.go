package contract

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// What prompts show must be what is accepted, by the published schema and by Parse.
func TestExamples(t *testing.T) {
	whole, err := parsedSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range Roles() {
		for _, result := range role.Results() {
			example := Example(role, result)
			if example == nil {
				t.Errorf("%s has no example of %s", role, result)
				continue
			}
			var v any
			if err := json.Unmarshal(example, &v); err != nil {
				t.Fatal(err)
			}
			if problems := whole.Check(v); problems != nil {
				t.Errorf("%s %s: %+v", role, result, problems)
			}
			r, err := Parse(wants(role), example)
			if err != nil || r.Type != result {
				t.Errorf("%s %s: %s, %v", role, result, r.Type, err)
			}
		}
	}
	if Example(RoleCheck, Artifact) != nil || Example("cook", Artifact) != nil {
		t.Error("an example of what the role may not reply")
	}
}

// The plans in the examples are plans.
func TestExamplePlans(t *testing.T) {
	r, err := Parse(wants(RolePlan), Example(RolePlan, Artifact))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := plandoc.ParseValid(r.Files[0].Path, r.Files[0].Content, policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	r, err = Parse(wants(RoleSplit), Example(RoleSplit, Artifact))
	if err != nil {
		t.Fatal(err)
	}
	fragment, err := plandoc.Parse(r.Files[0].Path, r.Files[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	// The example splits IMPL-2 of a plan such as that of the other example.
	whole.Tasks = append(whole.Tasks, &plan.Task{
		TaskID: "PLAN-1", NodeType: plan.Action, ParentTaskID: whole.RootTaskID, SplitTargetTaskID: "IMPL-2",
		DeliverableSpec: &plan.DeliverableSpec{Format: plan.FormatPlan},
	})
	if _, err := whole.Merged("PLAN-1", fragment, 1); err != nil {
		t.Error(err)
	}
}

// The published schema as a whole and the parts that Parse uses agree on what they refuse.
func TestSchemaAsAWhole(t *testing.T) {
	whole, err := parsedSchema()
	if err != nil {
		t.Fatal(err)
	}
	for name, reply := range map[string]string{
		"no result":      `{"schema_version":1}`,
		"unknown result": `{"schema_version":1,"result_type":"DONE"}`,
		"no needs":       `{"schema_version":1,"result_type":"NEEDS_INPUT"}`,
		"score":          `{"schema_version":1,"result_type":"REVIEW","verdict":"APPROVED","score":101,"criteria":[]}`,
		"version":        `{"schema_version":2,"result_type":"NOOP"}`,
		"noop, files":    `{"schema_version":1,"result_type":"NOOP","files":[{"path":"a","content":""}]}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(reply), &v); err != nil {
			t.Fatal(err)
		}
		if whole.Check(v) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

type schemaNode struct {
	Description string                `json:"description"`
	Properties  map[string]schemaNode `json:"properties"`
	Items       *schemaNode           `json:"items"`
	Defs        map[string]schemaNode `json:"$defs"`
	Examples    []any                 `json:"examples"`
}

// Every field is described, and what errors show as an example passes.
func TestSchemaIsDescribed(t *testing.T) {
	whole, err := parsedSchema()
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for name, def := range root.Defs {
		if def.Description == "" || len(def.Properties) == 0 {
			t.Errorf("%s has no description, or no fields", name)
		}
		for field, p := range def.Properties {
			at := "/$defs/" + name + "/properties/" + field
			if p.Description == "" {
				t.Errorf("%s has no description", at)
			}
			for _, e := range p.Examples {
				if problems := whole.Part(at).Check(e); problems != nil {
					t.Errorf("%s: %+v", at, problems)
				}
			}
		}
	}
}

// Each code says what it stands for, and docs/agents.md lists it.
func TestCodesAreDocumented(t *testing.T) {
	source, manual := readFile(t, "violation.go"), readFile(t, "../../docs/agents.md")
	codes := regexp.MustCompile(`(?m)^\tcode\w+\s+= "([^"]+)"\s+// \w`).FindAllStringSubmatch(source, -1)
	if len(codes) < 20 {
		t.Fatalf("only %d codes found", len(codes))
	}
	for _, m := range codes {
		if !strings.Contains(manual, "`"+m[1]+"`") {
			t.Errorf("docs/agents.md does not list %s", m[1])
		}
	}
}

// Each reply in docs/agents.md is one, for the role that its fence names.
func TestManual(t *testing.T) {
	fences := regexp.MustCompile("(?s)```json reply (\\w+)\n(.*?)```").FindAllStringSubmatch(readFile(t,
		"../../docs/agents.md"), -1)
	if len(fences) < 3 {
		t.Fatalf("only %d replies in docs/agents.md", len(fences))
	}
	for _, m := range fences {
		if _, err := Parse(wants(Role(m[1])), []byte(m[2])); err != nil {
			t.Errorf("%s: %v\n%s", m[1], err, m[2])
		}
	}
	v := violationOf(t, wants(RoleCheck),
		`{"schema_version":1,"result_type":"REVIEW","verdict":"APPROVED","score":99,"criteria":[{"id":"A1","pass":true,"evidence":"x"}]}`)
	if v == nil {
		t.Fatal("a review without A2 is accepted")
	}
	_, shown, _ := strings.Cut(readFile(t, "../../docs/agents.md"), "```json violation\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !strings.Contains(v.Feedback(), "\n\n"+shown+"\n") {
		t.Errorf("docs/agents.md shows\n%sthe agent gets\n%s", shown, v.Feedback())
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// TestRolesDocumented holds the table of docs/agents.md against that of the roles.
func TestRolesDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Roles() {
		var results []string
		for _, result := range r.Results() {
			results = append(results, "`"+string(result)+"`")
		}
		_, rest, _ := strings.Cut(string(data), "\n| `"+r.Env()+"` | ")
		row, _, _ := strings.Cut(rest, "\n")
		if !strings.HasSuffix(row, " | "+strings.Join(results, ", ")+" |") {
			t.Errorf("docs/agents.md says of %s: %s", r, row)
		}
		if way := r.Way(); way.Way() != way || r.Usual() == "" {
			t.Errorf("%s is told the rules of %s, and replies %q", r, way, r.Usual())
		}
	}
	if r := Role("boss"); len(r.Results()) > 0 || r.Usual() != "" || r.Env() != "" {
		t.Errorf("there is a role %s", r)
	}
}
