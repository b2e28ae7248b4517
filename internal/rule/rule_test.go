package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/plan"
)

func TestParseDefaults(t *testing.T) {
	got, err := Parse("docs/naming.md", []byte("# How we name things\n\nUse whole words.\n"), nil)
	want := Rule{Title: "How we name things", Dimension: "specs", Category: "general", Keywords: []string{},
		ReadMode: "optional", Priority: "medium", Scope: "project", Text: "# How we name things\n\nUse whole words."}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := Parse("docs/naming.md", []byte("Use whole words.\n"), nil); err != nil || got.Title != "naming" {
		t.Errorf("title %q, %v", got.Title, err)
	}
}

func TestParseSays(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"value":    {"---\ntitle: x\ncategory: generl\n---\ny\n", `r.md:3: category: expected one of general, exploration, planning, execution, found "generl"`},
		"twice":    {"---\ncategory: exploration planning\n---\ny\n", `r.md:2: category: expected`},
		"priority": {"---\n\npriority: urgent\n---\ny\n", `r.md:3: priority: expected one of critical, high, medium, low, found "urgent"`},
		"field":    {"---\nkeyword: x\n---\ny\n", `r.md:2: keyword: expected`},
		"keywords": {"---\nkeywords: {a: b}\n---\ny\n", `r.md:2: keywords: expected`},
		"nested":   {"---\nkeywords: [[a]]\n---\ny\n", `r.md:2: keywords: expected`},
		"title":    {"---\ntitle: [a]\n---\ny\n", `r.md:2: title: expected`},
		"empty":    {"---\ntitle: x\n---\n", `r.md: the rule says nothing`},
		"list":     {"---\n- a\n---\ny\n", `r.md:2: expected fields of a rule`},
		"bad yaml": {"---\ntitle: [\n---\ny\n", `r.md:`},
		"large":    {strings.Repeat("x", MaxBytes+1), `r.md: a rule has at most 32768 bytes`},
		"no text":  {"a\xff", `r.md: it is no text in UTF-8`},
		"long":     {"---\ntitle: " + strings.Repeat("x", 121) + "\n---\ny\n", `r.md:2: title: expected`},
		"many":     {"---\nkeywords: [" + strings.Join(numbered(41), ",") + "]\n---\ny\n", `r.md:2: keywords: expected`},
		"bomb": {"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\n" +
			"---\ny\n", `r.md:`},
	} {
		_, err := Parse("r.md", []byte(c.text), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %s", name, err, c.want)
		}
	}
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("word", i))
	}
	return all
}

// A rule is the same as a file and as a task of a register.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := anyRule(rt, "R")
		again, err := Parse("R.md", r.Markdown(), nil)
		again.ID = r.ID
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			rt.Fatal(err, diff, string(r.Markdown()))
		}
		task := &plan.Task{TaskID: plan.TaskID(r.ID), Title: r.Title, Description: r.Text}
		if meta := r.Meta(); len(meta) > 0 { // as plan.json is read
			task.Meta = meta
		}
		again, err = OfTask(task)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			rt.Fatal(err, diff)
		}
	})
}

func anyRule(rt *rapid.T, id string) Rule {
	word := rapid.StringMatching(`[a-z]{2,6}|[\x{4e00}-\x{4e20}]{2,4}`)
	r := Rule{ID: id, Title: word.Draw(rt, "title"), Text: word.Draw(rt, "text") +
		strings.Repeat("é", rapid.IntRange(0, 40).Draw(rt, "size"))}
	r.Keywords = rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(rt, "keywords")
	one := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, name) }
	r.Dimension, r.Category = one("dimension", "specs", "personal"), one("category", General, Exploration, Planning, Execution)
	r.ReadMode, r.Priority = one("readMode", Required, "optional"), one("priority", priorities...)
	r.Scope = one("scope", "project", Global)
	return r
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\ntitle: x\nkeywords: [a, b]\n---\n\ntext\n"))
	f.Add([]byte("---\ntitle: &a [*a]\n---\nx"))
	f.Add([]byte("# x\n\ny\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("r.md", data, nil)
		if err != nil {
			return
		}
		again, err := Parse("r.md", r.Markdown(), nil)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"The retry of internal/Auth/login_test.go, in 2024": "auth go internal login retry test",
		"优化缓存策略 for Go":                                     "go 优化 化缓 存策 策略 缓存",
		"用Go写":                                              "go",
		"a 1 x 42 of the":                                   "",
		"v2 don't ÜBER-Mut":                                 "don mut v2 über",
	} {
		var got []string
		for w := range Words(text) {
			got = append(got, w)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, expected %q", text, strings.Join(got, " "), want)
		}
	}
}

func TestChooseByKeyword(t *testing.T) {
	for _, c := range []struct {
		keyword, task string
		want          bool
	}{
		{"retry", "Retry failed uploads", true}, {"retries", "Retry failed uploads", false},
		{"error handling", "Handling of an error", true}, {"error handling", "An error", false},
		{"缓存", "优化缓存策略", true}, {"缓存策略", "优化缓存策略", true}, {"缓存清理", "优化缓存策略", false},
		{"the", "the task", false}, {"42", "42", false},
	} {
		r := Rule{Title: "x", Text: "x", Category: General, ReadMode: "optional", Keywords: []string{c.keyword}}
		chosen, _ := Choose([]Rule{r}, Execution, Words(c.task), Budget)
		if got := len(chosen) == 1; got != c.want {
			t.Errorf("%s in %s: %v", c.keyword, c.task, got)
		}
	}
}

// TestChoose holds what the choice promises, whatever rules there are: nothing of another stage, what is general in each,
// all that fits in one of two lists, the most binding first, within the budget, and nothing left out that is more
// binding than something chosen, unless it alone is over the budget.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var rules []Rule
		for i := range rapid.IntRange(0, 12).Draw(rt, "rules") {
			rules = append(rules, anyRule(rt, fmt.Sprint("R", i)))
		}
		stage := rapid.SampledFrom([]string{"", General, Exploration, Planning, Execution}).Draw(rt, "stage")
		words := map[string]bool{}
		for _, r := range rules {
			for _, k := range r.Keywords {
				if rapid.Bool().Draw(rt, "known") {
					for w := range Words(k) {
						words[w] = true
					}
				}
			}
		}
		budget := rapid.IntRange(0, 200).Draw(rt, "budget")
		chosen, dropped := Choose(rules, stage, words, budget)
		if len(chosen) == 0 && len(dropped) == 0 && stage == General && slices.ContainsFunc(rules,
			func(r Rule) bool { return r.Category == General && r.ReadMode == Required }) {
			rt.Fatal("a required general rule is lost")
		}
		in := func(id string) bool {
			return slices.ContainsFunc(chosen, func(r Rule) bool { return r.ID == id }) ||
				slices.ContainsFunc(dropped, func(x Dropped) bool { return x.Rule.ID == id })
		}
		sum := 0
		for i, r := range chosen {
			if sum += utf8.RuneCountInString(r.Text); i > 0 && binding(chosen[i-1], r) > 0 {
				rt.Fatalf("%v stands before %v", chosen[i-1], r)
			}
			for _, x := range dropped {
				if binding(x.Rule, r) < 0 && x.Rule.size() <= budget {
					rt.Fatalf("%v is left out, %v is not", x.Rule, r)
				}
			}
		}
		if sum > budget {
			rt.Fatalf("%d characters, more than %d", sum, budget)
		}
		for _, r := range rules {
			ofStage := stage == "" || r.Category == General || r.Category == stage
			if want := ofStage && (r.ReadMode == Required || r.fits(words)); in(r.ID) != want {
				rt.Fatalf("%v: %v, expected %v", r, in(r.ID), want)
			}
		}
		// one more rule that is less binding than all takes nothing from the others
		least := Rule{ID: "LEAST", Text: "x", Category: General, ReadMode: "optional", Dimension: "personal",
			Priority: "low", Keywords: []string{"common"}}
		words["common"] = true
		before, _ := Choose(rules, stage, words, budget)
		after, _ := Choose(append(slices.Clone(rules), least), stage, words, budget)
		if n := len(before); len(after) < n || n > 0 && !cmp.Equal(before, after[:n]) {
			rt.Fatalf("%v, before %v", after, before)
		}
	})
}

func TestChooseAtBudget(t *testing.T) {
	of := func(n int, mode string) Rule {
		return Rule{ID: mode, Text: strings.Repeat("字", n), Category: General, ReadMode: mode, Priority: "low"}
	}
	for n, want := range map[int]int{Budget - 1: 1, Budget: 1, Budget + 1: 0} {
		if chosen, dropped := Choose([]Rule{of(n, Required)}, "", nil, Budget); len(chosen) != want ||
			len(chosen)+len(dropped) != 1 {
			t.Errorf("%d characters: %d chosen, %d dropped", n, len(chosen), len(dropped))
		}
	}
}

func TestCheck(t *testing.T) {
	rules := []Rule{
		{ID: "R1", Title: "Names", Text: "Use whole words.", ReadMode: "optional", Keywords: []string{"the", "names"}},
		{ID: "R2", Title: "names", Text: "Write clean code that is robust.", ReadMode: "optional"},
		{ID: "R3", Title: "Long", Text: strings.Repeat("x", 7000), ReadMode: Required, Category: General},
		{ID: "R4", Title: "Too long", Text: strings.Repeat("y", 8001), ReadMode: Required, Category: Planning},
		{ID: "R5", Title: "More", Text: strings.Repeat("z", 3000), ReadMode: Required, Category: Execution},
		{ID: "R6", Title: "Fine", Text: "A function has at most 50 good lines.", ReadMode: Required, Category: Exploration},
		{ID: "R7", Title: "Dead", Text: "Use tabs.", ReadMode: "optional", Keywords: []string{"the", "42"}},
	}
	var got []string
	for _, f := range Check(rules) {
		got = append(got, strings.TrimSpace(f.Rule+" "+f.Code))
	}
	want := []string{"R2 duplicate-title", "R2 no-keywords", "R2 vague", "R4 too-long", "R7 no-keywords", "over-budget",
		"over-budget"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found := Check(rules[5:6]); len(found) > 0 {
		t.Error(found)
	}
}

func TestLearned(t *testing.T) {
	for _, seed := range append(Seeds(), Profile([]string{"a.go"})) {
		r, err := Parse("seed", seed.Markdown(), nil)
		if diff := cmp.Diff(seed, r); err != nil || diff != "" || len(Check([]Rule{r})) > 0 {
			t.Error(err, diff, Check([]Rule{r}))
		}
	}
	for text, want := range map[string]string{
		"Never log a password.":                           "constraint security required general",
		"A slow query must not run in a request.":         "constraint performance required general",
		"Modules are forbidden to import the shell.":      "constraint architecture required general",
		"No Python 2.":                                    "constraint tech stack required general",
		"Variables are named after what they hold.":       "convention naming patterns optional general",
		"Each package has a doc comment.":                 "convention documentation optional general",
		"Helpers live in the folder lib.":                 "convention file structure optional general",
		"Tabs, and 120 columns.":                          "convention coding style optional general",
		"It turns out that the tests share a port.":       "learning testing optional execution",
		"We realized that reviews before lunch are short": "learning process optional execution",
		"We discovered a second clock.":                   "learning other optional execution",
		"禁止在日志里写密码":                                       "constraint security required general",
		"我们发现测试不稳定":                                       "learning testing optional execution",
	} {
		r := Learned("x", text, "WFS-x note 1")
		if got := strings.Join([]string{r.Kind, r.Keywords[0], r.ReadMode, r.Category}, " "); got != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
	}
	one := Consolidate("x", []Rule{{Text: "Never a.", From: []string{"WFS-x note 1"}},
		{Text: "We learned b.\nTwice.", From: []string{"WFS-y note 2", "WFS-x note 1"}}})
	if diff := cmp.Diff([]string{"WFS-x note 1", "WFS-y note 2"}, one.From); diff != "" ||
		one.Text != "- Never a.\n- We learned b.\n  Twice." {
		t.Error(diff, one)
	}
	profile := Profile([]string{"go.mod", "a/a.go", "a/a_test.go", "web/x.ts", "web/package.json", "LICENSE"})
	want := "This project is made with, by files:\n\n- languages: Go, TypeScript\n- build: go, npm\n- tests: go test"
	if profile.Text != want || profile.ReadMode != Required || len(Check([]Rule{profile})) > 0 {
		t.Errorf("%s", profile.Text)
	}
}

// What a register of somebody else's says is bounded, and shown as text.
func TestOfTaskIsHostile(t *testing.T) {
	task := func(text string, meta map[string]any) *plan.Task {
		return &plan.Task{TaskID: "RULE-1", Title: "a\x1b[2J\u202eb\n" + strings.Repeat("x", 500), Description: text, Meta: meta}
	}
	for name, c := range map[string]struct {
		task *plan.Task
		want string
	}{
		"huge":     {task(strings.Repeat("x", MaxBytes+1), nil), "at most 32768 bytes"},
		"nothing":  {task(" \n", nil), "says nothing"},
		"field":    {task("x", map[string]any{"path": "../../etc"}), "path: expected"},
		"value":    {task("x", map[string]any{"category": []any{"general"}}), "category: expected"},
		"keywords": {task("x", map[string]any{"keywords": []any{map[string]any{}}}), "keywords: expected"},
		"long":     {task("x", map[string]any{"keywords": []any{strings.Repeat("k", 121)}}), "keywords: expected"},
	} {
		if _, err := OfTask(c.task); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %s", name, err, c.want)
		}
	}
	r, err := OfTask(task("a\x00\x1b[31mb", nil))
	if err != nil || strings.ContainsAny(r.Title+r.Text, "\x00\x1b\n\u202e") || utf8.RuneCountInString(r.Title) > 120 {
		t.Errorf("%v: %q, %q", err, r.Title, r.Text)
	}
	rules := slices.Repeat([]Rule{{Text: "x", Category: General, ReadMode: "optional", Keywords: numbered(40)}}, 10_000)
	if chosen, _ := Choose(rules, Execution, Words("word39"), Budget); len(chosen) != Budget {
		t.Errorf("%d of 10000 rules chosen", len(chosen))
	}
}
