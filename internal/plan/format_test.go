package plan

import (
	"flag"
	"fmt"
	"gitwf/internal/schema"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readFormat(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// table returns the rows of the document's table whose first heading is the given one, without backquotes.
func table(t *testing.T, heading string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(readFormat(t), "\n| "+heading+" |")
	if !found {
		t.Fatalf("docs/format.md has no table %q", heading)
	}
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		if i > 1 && !strings.HasPrefix(line, "|") {
			break
		}
		if i > 1 {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			for j, c := range cells {
				cells[j] = strings.ReplaceAll(strings.TrimSpace(c), "`", "")
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestFormatConfig holds the descriptions in schema.json, and what an agent may not set in docs/format.md, against
// Config.
func TestFormatConfig(t *testing.T) {
	described := configSchema(t)
	bounds := map[string][]string{}
	for _, l := range configLimits() {
		bounds[l.wider] = append(bounds[l.wider], "`"+l.name+"`")
		text := strings.ReplaceAll(described(l.name), "100 MiB", "104857600")
		if usual := strconv.FormatFloat(l.usual, 'f', -1, 64); l.usual > 0 && !strings.HasSuffix(text, "Default "+usual+".") {
			t.Errorf("schema.json says of %s: %s", l.name, text)
		}
	}
	_, rule, _ := strings.Cut(readFormat(t), "- an agent's plan sets none of ")
	above, rest, _ := strings.Cut(rule, "above what held before it")
	below, _, _ := strings.Cut(rest, "below")
	for wider, text := range map[string]string{"more": above, "less": below} {
		if got := regexp.MustCompile("`[a-z_]+`").FindAllString(text, -1); !sameNames(got, bounds[wider]) {
			t.Errorf("docs/format.md names %v, the program %v", got, bounds[wider])
		}
	}
}

// configSchema gives what schema.json says of a field of config.
func configSchema(t *testing.T) func(name string) string {
	t.Helper()
	text, err := os.ReadFile("../plandoc/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) string {
		field := whole.At([]string{"config", name})
		if field == nil {
			t.Errorf("schema.json has no config.%s", name)
			return ""
		}
		return field.Description
	}
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// situation is a set of conditions for one task of statusPlan to be in.
type situation struct {
	names  map[TaskID][]string
	claims Claims
	closed bool // the dependency is DONE
	gone   bool // the plan says that IMPL-1 was done elsewhere
	last   map[TaskID]int
}

func (x *situation) add(id TaskID, names ...string) { x.names[id] = append(x.names[id], names...) }

// version adds a version and, unless verdict is "", its review.
func (x *situation) version(id TaskID, verdict Verdict) {
	x.last[id]++
	v := x.last[id]
	x.add(id, fmt.Sprintf("artifacts/v%d/artifact.json", v), fmt.Sprintf("artifacts/v%d/files", v))
	if verdict != "" {
		rec := ReviewRecord{v, v, 50, "ann", verdict}
		x.add(id, rec.Text(), rec.Path())
	}
}

func (x *situation) claim(id TaskID) {
	x.claims[id] = Claim{Task: id, Agent: "exec", Expires: noon.Add(time.Second)}
}

// statusPlan is a goal with one task that all tables are about, a task that it depends on outside of that goal, and,
// if it assembles, a root that is not done before the one task is.
func statusPlan(assembles bool) *Plan {
	action := func(id, parent TaskID, deps ...TaskID) *Task {
		return &Task{TaskID: id, NodeType: Action, ParentTaskID: parent, DependsOn: deps, Requires: []Requirement{}}
	}
	check := func(id TaskID) *Task { return &Task{TaskID: id.CheckID(), NodeType: Check, ReviewTargetTaskID: id} }
	it := action("IMPL-1", "GOAL-2", "IMPL-2")
	it.Requires = []Requirement{{Name: "the logo", Count: 2}}
	p := &Plan{RootTaskID: "GOAL-1", Config: Config{MaxAttempts: 2, MaxLost: 2}, Tasks: []*Task{
		{TaskID: "GOAL-1", NodeType: Goal}, {TaskID: "GOAL-2", NodeType: Goal, ParentTaskID: "GOAL-1"},
		it, check("IMPL-1"), action("IMPL-2", "GOAL-1"), check("IMPL-2"),
	}}
	if assembles {
		p.Tasks[0].FinalDeliverableSpec = &FinalDeliverableSpec{Mode: Assemble, AssembleTaskID: "IMPL-1"}
	}
	return p
}

func (x *situation) status(of TaskID, assembles bool) (Status, string) {
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for id, names := range x.names {
		r.Tasks[id] = ParseTaskRecords(namesOf(strings.Join(names, "\n")))
	}
	p := statusPlan(assembles)
	if x.gone {
		p.Task("IMPL-1").DoneElsewhere = "completed"
	}
	s := Derive(p, r, x.claims, noon)
	return s.Tasks[of].Status, s.Reason(s.Tasks[of])
}

// condition makes the condition of a row hold. Conditions of one group can't hold at once for one version; the group's
// later one is made to hold for an older version then.
type condition struct {
	make  func(*situation)
	group string
}

func attempts(format string) func(*situation) {
	return func(x *situation) { x.add("IMPL-1", fmt.Sprintf(format, 1), fmt.Sprintf(format, 2)) }
}

func verdictIs(v Verdict) func(*situation) {
	return func(x *situation) { x.version("IMPL-1", v) }
}

var actionConditions = map[string]condition{
	"marked abandoned":                         {make: func(x *situation) { x.add("IMPL-1", "marks/0002-abandoned.json") }},
	"the plan says that it was done elsewhere": {make: func(x *situation) { x.gone = true }},
	"marked closed":                            {make: func(x *situation) { x.add("IMPL-1", "marks/0001-closed.json") }},
	"a claim that has not expired":             {make: func(x *situation) { x.claim("IMPL-1") }},
	"a question without an answer":             {make: func(x *situation) { x.add("IMPL-1", "questions/q1.json") }},
	"a required input missing": {make: func(x *situation) {
		x.names["IMPL-1"] = slices.DeleteFunc(x.names["IMPL-1"], isSecondInput)
	}},
	"attempts reach max_attempts":  {make: attempts("attempts/a%d-error.json")},
	"lost attempts reach max_lost": {make: attempts("attempts/a%d-lost.json")},
	"rejected versions reach the CHECK's max_rounds, or else max_attempts": {make: func(x *situation) {
		x.version("IMPL-1", Rejected)
		x.version("IMPL-1", Rejected)
	}},
	"newest version awaits review": {verdictIs(""), "verdict"},
	"newest version rejected":      {verdictIs(Rejected), "verdict"},
	"newest version approved":      {verdictIs(Approved), "verdict"},
	"newest version approved, refused where it was to land, and landed nowhere": {func(x *situation) {
		x.version("IMPL-1", Approved)
		x.add("IMPL-1", fmt.Sprintf("landings/l%d-v%[1]d-refused.json", x.last["IMPL-1"]))
	}, "verdict"},
	"newest version approved and stale": {func(x *situation) {
		x.version("IMPL-1", Approved)
		x.add("IMPL-1", fmt.Sprintf("artifacts/v%d/from/IMPL-2-v2", x.last["IMPL-1"]))
	}, "verdict"},
	"a dependency is not DONE": {make: func(x *situation) { x.closed = false }},
	"otherwise":                {make: func(*situation) {}},
}

const secondInput = "inputs/the%20logo/2.json"

func isSecondInput(name string) bool { return name == secondInput }

var checkConditions = map[string]condition{
	"its target is ABANDONED": {make: func(x *situation) {
		x.add("IMPL-1", "marks/0001-abandoned.json")
	}},
	"its target is DONE_ELSEWHERE":              {make: func(x *situation) { x.gone = true }},
	"a claim on the CHECK that has not expired": {make: func(x *situation) { x.claim("CHECK-IMPL-1") }},
	"newest version has its verdict":            {make: verdictIs(Approved)},
	"its target is not READY_TO_CHECK": {make: func(x *situation) {
		x.add("IMPL-1", "questions/q1.json")
	}},
	"attempts to review the newest version reach max_attempts":  {make: attempts("attempts/a%d-v1-error.json")},
	"lost attempts to review the newest version reach max_lost": {make: attempts("attempts/a%d-v1-lost.json")},
	"otherwise": {make: func(*situation) {}},
}

var goalConditions = map[string]condition{
	"marked abandoned": {make: func(x *situation) { x.add("GOAL-2", "marks/0001-abandoned.json") }},
	"all of its leaves are DONE, and the assembling task of an assembled GOAL": {verdictIs(Approved), "leaf"},
	"it has no leaf, and a task below it was done elsewhere":                   {func(x *situation) { x.gone = true }, "leaf"},
	"it has no leaf":           {func(x *situation) { x.add("IMPL-1", "marks/0001-abandoned.json") }, "leaf"},
	"work on a leaf has begun": {make: func(x *situation) { x.add("IMPL-1", "attempts/a1-error.json") }},
	"otherwise":                {make: func(*situation) {}},
}

// fresh is a situation in which no row but the last holds.
func fresh() *situation {
	x := &situation{names: map[TaskID][]string{}, claims: Claims{}, last: map[TaskID]int{}, closed: true}
	x.add("IMPL-1", "inputs/the%20logo/1.json", secondInput)
	return x
}

// TestFormatStatuses holds Derive against the tables of the document: of every two rows whose conditions hold, the
// first gives the status.
func TestFormatStatuses(t *testing.T) {
	tests := []struct {
		kind       string
		task       TaskID
		conditions map[string]condition
		begin      func(*situation)
	}{
		{"an ACTION", "IMPL-1", actionConditions, func(*situation) {}},
		{"a CHECK", "CHECK-IMPL-1", checkConditions, verdictIs("")},
		{"a GOAL", "GOAL-2", goalConditions, func(*situation) {}},
	}
	for _, tt := range tests {
		rows := table(t, "first that holds, of "+tt.kind)
		if len(rows) < 5 {
			t.Errorf("the table of %s has %d rows", tt.kind, len(rows))
		}
		for i, first := range rows {
			for _, second := range rows[i:] {
				name := fmt.Sprintf("%s/%s, and %s", tt.kind, first[0], second[0])
				t.Run(name, func(t *testing.T) {
					one, known := tt.conditions[first[0]]
					two, knownToo := tt.conditions[second[0]]
					if !known || !knownToo {
						t.Fatalf("the document has a condition that this test does not know")
					}
					if one.group == "leaf" && two.group == "leaf" && first[0] != second[0] {
						t.Skip("can't hold at once")
					}
					x := fresh()
					tt.begin(x)
					order := []condition{one, two}
					if one.group != "" && one.group == two.group {
						order = []condition{two, one}
					}
					if first[0] == second[0] {
						order = order[:1]
					}
					for _, c := range order {
						c.make(x)
					}
					if x.closed {
						x.version("IMPL-2", Approved)
					}
					if got, reason := x.status(tt.task, false); string(got) != first[1] {
						t.Errorf("Derive gives %s (%s), the document %s; records %q", got, reason, first[1], x.names)
					}
				})
			}
		}
	}
}

// An assembled goal is done when all of its leaves are, and the assembling task too, wherever that is.
func TestFormatAssembledGoal(t *testing.T) {
	x := fresh()
	x.version("IMPL-1", Approved)
	x.version("IMPL-2", Rejected)
	for _, assembles := range []bool{true, false} {
		if got, _ := x.status("GOAL-1", assembles); got != StatusInProgress {
			t.Errorf("assembled %v, with a leaf that is to be made again: %s", assembles, got)
		}
	}
	x.version("IMPL-2", Approved)
	if got, _ := x.status("GOAL-1", true); got != StatusDone {
		t.Errorf("with all of its leaves: %s", got)
	}
	x = fresh()
	x.version("IMPL-2", Approved)
	if got, _ := x.status("GOAL-1", true); got != StatusInProgress {
		t.Errorf("without the assembling task: %s", got)
	}
}

// What ends: a claim, a round of attempts, an abandonment.
func TestFormatWhatEnds(t *testing.T) {
	tests := []struct {
		name string
		make func(*situation)
		task TaskID
		want Status
	}{
		{"an expired claim", func(x *situation) { x.claims["IMPL-1"] = Claim{Expires: noon} }, "IMPL-1", StatusReady},
		{"an expired claim on the check", func(x *situation) {
			x.version("IMPL-1", "")
			x.claims["CHECK-IMPL-1"] = Claim{Expires: noon}
		}, "CHECK-IMPL-1", StatusReady},
		{"restored", func(x *situation) {
			x.add("IMPL-1", "marks/0001-abandoned.json", "marks/0002-restored.json")
		}, "IMPL-1", StatusReady},
		{"abandoned again", func(x *situation) {
			x.add("IMPL-1", "marks/0001-abandoned.json", "marks/0002-restored.json", "marks/0003-abandoned.json")
		}, "IMPL-1", StatusAbandoned},
		{"answered", func(x *situation) { x.add("IMPL-1", "questions/q1.json", "answers/q1.json") }, "IMPL-1", StatusReady},
		{"the other question answered", func(x *situation) {
			x.add("IMPL-1", "questions/q1.json", "questions/q2.json", "answers/q1.json")
		}, "IMPL-1", StatusWaitingInput},
		{"attempts before the reset", func(x *situation) {
			attempts("attempts/a%d-error.json")(x)
			x.add("IMPL-1", "resets/s1-a2-r0.json")
		}, "IMPL-1", StatusReady},
		{"one attempt after the reset", func(x *situation) {
			attempts("attempts/a%d-error.json")(x)
			x.add("IMPL-1", "resets/s1-a1-r0.json")
		}, "IMPL-1", StatusReady},
		{"the newest reset counts", func(x *situation) {
			attempts("attempts/a%d-error.json")(x)
			x.add("IMPL-1", "resets/s2-a2-r0.json", "resets/s1-a0-r0.json")
		}, "IMPL-1", StatusReady},
		{"lost attempts before the reset", func(x *situation) {
			attempts("attempts/a%d-lost.json")(x)
			x.add("IMPL-1", "resets/s1-a2-r0.json")
		}, "IMPL-1", StatusReady},
		{"lost attempts, then a failed one", func(x *situation) {
			attempts("attempts/a%d-lost.json")(x)
			x.add("IMPL-1", "attempts/a3-error.json")
		}, "IMPL-1", StatusReady},
		{"lost attempts, then a question", func(x *situation) {
			attempts("attempts/a%d-lost.json")(x)
			x.add("IMPL-1", "attempts/a3-needs_input.json")
		}, "IMPL-1", StatusReady},
		{"a lost attempt and a failed one", func(x *situation) {
			x.add("IMPL-1", "attempts/a1-error.json", "attempts/a2-lost.json")
		}, "IMPL-1", StatusReady},
		{"rejections before the reset", func(x *situation) {
			x.version("IMPL-1", Rejected)
			x.version("IMPL-1", Rejected)
			x.add("IMPL-1", "resets/s1-a0-r2.json")
		}, "IMPL-1", StatusToBeModified},
		{"attempts of the check are not the task's", attempts("attempts/a%d-v1-error.json"), "IMPL-1", StatusReady},
		{"attempts of the task are not the check's", func(x *situation) {
			x.version("IMPL-1", "")
			x.add("IMPL-1", "attempts/a1-lost.json", "attempts/a2-v1-lost.json")
		}, "CHECK-IMPL-1", StatusReady},
		{"attempts to review an older version", func(x *situation) {
			x.version("IMPL-1", Rejected)
			x.version("IMPL-1", "")
			attempts("attempts/a%d-v1-lost.json")(x)
		}, "CHECK-IMPL-1", StatusReady},
		{"attempts to review before the reset", func(x *situation) {
			x.version("IMPL-1", "")
			attempts("attempts/a%d-v1-lost.json")(x)
			x.add("IMPL-1", "resets/s1-a2-r0.json")
		}, "CHECK-IMPL-1", StatusReady},
		{"a later approval by the same reviewer", func(x *situation) {
			x.version("IMPL-1", Rejected)
			x.add("IMPL-1", "reviews/r2-v1-95-ann/APPROVED.md", "reviews/r2-v1-95-ann/review.json")
		}, "IMPL-1", StatusDone},
		{"a later approval by another reviewer", func(x *situation) {
			x.version("IMPL-1", Rejected)
			x.add("IMPL-1", "reviews/r2-v1-95-bob/APPROVED.md", "reviews/r2-v1-95-bob/review.json")
		}, "IMPL-1", StatusToBeModified},
		{"a later rejection by the same reviewer", func(x *situation) {
			x.version("IMPL-1", Approved)
			x.add("IMPL-1", "reviews/r2-v1-5-ann/REJECTED.md", "reviews/r2-v1-5-ann/review.json")
		}, "IMPL-1", StatusToBeModified},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := fresh()
			x.version("IMPL-2", Approved)
			tt.make(x)
			if got, reason := x.status(tt.task, false); got != tt.want {
				t.Errorf("%s (%s), want %s", got, reason, tt.want)
			}
		})
	}
}

// The document lists the events that there are, in their order.
func TestFormatEvents(t *testing.T) {
	_, section, _ := strings.Cut(readFormat(t), "\n## 6. Events\n")
	section, _, _ = strings.Cut(section, "\nT is `Wf-Task`")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^- `([a-z]+)`(?: \\([^)]*\\))?: ").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	known, changeBundles := EventKinds()
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Error(diff)
	}
	for _, e := range changeBundles {
		if !slices.Contains(known, e) && e != EventJoined { // which is no event: no state decides it
			t.Errorf("%s is no event", e)
		}
	}
}

var update = flag.Bool("update", false, "write docs/format/records.md again")

// TestFormatTables holds docs/format/records.md, which follows from the program: the kinds of records, their fields, the
// rules of what they say, and the limits of a plan with what schema.json says of them.
func TestFormatTables(t *testing.T) {
	const name = "../../docs/format/records.md"
	made := strings.Join(slices.Concat(
		[]string{"# Records, as the program has them", "",
			"Look up here what [the format](../format.md) allows in a record. A test writes this file from the program's own tables",
			"(`go test ./internal/plan -run FormatTables -update`). Sections are the format's.", "", "## Kinds", ""}, kindsTable(t),
		[]string{"", "## Fields", "", "`?`: left out when empty.", ""}, fieldsTable(),
		[]string{"", "## Rules", ""}, rulesTable(),
		[]string{"", "## Limits", ""}, configTable(t)), "\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, strings.ReplaceAll(string(found), "\r\n", "\n")); diff != "" {
		t.Errorf("go test ./internal/plan -run FormatTables -update (- in the program, + in the file): %s", diff)
	}
}

// markdownTable formats rows, of which the first is the head.
func markdownTable(rows ...[]string) []string {
	rows = slices.Insert(rows, 1, slices.Repeat([]string{"---"}, len(rows[0])))
	var lines []string
	for _, row := range rows {
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
	}
	return lines
}

func quoted(s string) string { return "`" + s + "`" }

func configTable(t *testing.T) []string {
	described := configSchema(t)
	rows := [][]string{{"field of `config`", "meaning"}}
	for field := range reflect.TypeFor[Config]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		rows = append(rows, []string{quoted(name), described(name)})
	}
	return markdownTable(rows...)
}

func kindsTable(t *testing.T) []string {
	code := func(words []string) string { return quoted(strings.Join(words, "`, `")) }
	rows := [][]string{{"records in", "names", "event", "read for a status"}}
	for _, k := range kindTable().list {
		var forms []string
		for _, f := range k.Forms {
			forms = append(forms, f.Text)
		}
		rows = append(rows, []string{quoted(k.Dir + "/"), code(forms), code(k.Events), k.Reads})
		for _, e := range k.Events {
			if known, _ := EventKinds(); !slices.Contains(known, e) {
				t.Errorf("%s: %s is no event", k.Dir, e)
			}
		}
	}
	return markdownTable(rows...)
}

func rulesTable() []string {
	rows := [][]string{{"record", "MUST"}}
	for _, text := range everyRule {
		rows = append(rows, []string{"every", text})
	}
	for _, k := range kindTable().list {
		for _, text := range k.Content.rules {
			rows = append(rows, []string{quoted(k.Dir + "/"), text})
		}
	}
	return markdownTable(rows...)
}

// fieldsTable lists the fields of each document as they are written. Documents of one type share a row, and so do what
// several documents hold.
func fieldsTable() []string {
	shared := []struct {
		name string
		typ  reflect.Type
	}{
		{"a criterion's result", reflect.TypeFor[CriterionResult]()}, {"a step's result", reflect.TypeFor[Prepared]()},
		{"`usage`", reflect.TypeFor[Usage]()}, {"a claim", reflect.TypeFor[Claim]()},
	}
	apart := map[reflect.Type]bool{reflect.TypeFor[Note](): true, reflect.TypeFor[Rubric](): true}
	for _, s := range shared {
		apart[s.typ] = true
	}
	var types []reflect.Type
	names := map[reflect.Type][]string{}
	for _, k := range kindTable().list {
		if k.Document != nil {
			typ := reflect.TypeOf(k.Document)
			if names[typ] == nil {
				types = append(types, typ)
			}
			names[typ] = append(names[typ], quoted(k.Dir+"/"+k.Forms[0].Text))
		}
	}
	rows := [][]string{{"document", "fields"}}
	for _, typ := range types {
		rows = append(rows, []string{strings.Join(names[typ], ", "), fieldsOf(typ, apart)})
	}
	for _, s := range shared {
		rows = append(rows, []string{s.name, fieldsOf(s.typ, apart)})
	}
	return markdownTable(rows...)
}

// fieldsOf lists the fields of a type, with those of the types inside, but for those that are apart.
func fieldsOf(typ reflect.Type, apart map[reflect.Type]bool) string {
	var list []string
	for _, field := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "-" {
			continue
		}
		elem, text := field.Type, name
		if elem.Kind() == reflect.Slice {
			elem, text = elem.Elem(), name+"[]"
		}
		text = quoted(text)
		if options == "omitempty" {
			text += "?"
		}
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct && elem != reflect.TypeFor[time.Time]() && !apart[elem] {
			text += " {" + fieldsOf(elem, apart) + "}"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
