package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// readText reads texts as files a.md, b.md and so on.
func readText(t testing.TB, texts ...string) *Graph {
	t.Helper()
	var sources []Source
	for i, text := range texts {
		sources = append(sources, Source{Place{File: string(rune('a'+i)) + ".md"}, text})
	}
	g, err := Read(sources)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// says is what items a text has, each with its line, title and links.
func says(g *Graph) string {
	var all []string
	for _, it := range g.Items {
		all = append(all, fmt.Sprintf("%d %s %q %s", it.Line, it.ID, it.Title, strings.Join(it.Traces, " ")))
	}
	return strings.Join(all, "\n")
}

func TestItems(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"headings", "# G-001 Sell\n## REQ-001: Accounts\ntext\nTraces: G-001\n",
			"1 G-001 \"Sell\" \n2 REQ-001 \"Accounts\" G-001"},
		{"items of lists", "- **NFR-SEC-001**: Safe\n  Traces: G-001, G-002\n* [ ] STORY-1 do\n",
			"1 NFR-SEC-001 \"Safe\" G-001 G-002\n3 STORY-1 \"do\" "},
		{"links in bold, in an item, behind an item's list",
			"### `EPIC-1` – Shop\n- size: L\n- **Traces:** REQ-1\n\nTraces to: ADR-1\n",
			"1 EPIC-1 \"Shop\" REQ-1 ADR-1"},
		{"links in the same line", "- STORY-2 Buy (Traces: EPIC-1)\n", "1 STORY-2 \"Buy\" EPIC-1"},
		{"links that are links", "# REQ-1 a\nTraces: [G-001](brief.md#g-001)\n", "1 REQ-1 \"a\" G-001"},
		{"a story that names its epic", "- STORY-EPIC-001-002 Sow\n", "1 STORY-EPIC-001-002 \"Sow\" EPIC-001"},
		{"each link once", "# REQ-1 a\nTraces: G-1, G-1\nTraces: G-1\n", "1 REQ-1 \"a\" G-1"},
		{"Chinese", "## REQ-001：登录\nTraces：G-001\n", "1 REQ-001 \"登录\" G-001"},
		{"mentions", "- REQ-001\n- REQ-001, REQ-002\n- [REQ-001](a.md) Accounts\nREQ-003 prose\n", ""},
		{"no ids", "# REQ-1a x\n# XREQ-1 x\n# REQ x\n# req-1 x\n# REQ-1-x y\n", ""},
		{"code and comments", "# G-1 a\n```\n# REQ-1 b\nTraces: G-2\n```\n<!--\nTraces: G-3\n-->\n", "1 G-1 \"a\" "},
		{"before the first item", "Traces: G-1\n# G-1 a\n", "2 G-1 \"a\" "},
		{"prose about traces", "# REQ-1 a\nIt traces: G-1.\n", "1 REQ-1 \"a\" "},
		{"below a heading that is none", "# REQ-1 a\n## Why\nTraces: G-1\n", "1 REQ-1 \"a\" G-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(readText(t, tt.text)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// whole is a specification without a gap.
const whole = "# G-1 a\n# REQ-1 a\nTraces: G-1\n# NFR-P-1 a\nTraces: G-1\n# ADR-1 a\nTraces: NFR-P-1\n" +
	"# EPIC-1 a\nTraces: REQ-1, ADR-1\n# STORY-1 a\nTraces: EPIC-1\n"

func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		all        bool
		want       string // codes and ids
	}{
		{"none", whole, true, ""},
		{"one id twice", whole + "- REQ-1 again\n", false, "duplicate REQ-1"},
		{"a link to nobody", whole + "# REQ-2 b\nTraces: G-9, REQ-1\n# EPIC-2 b\nTraces: REQ-2\n" +
			"- STORY-2 b, Traces: EPIC-2\n", false, "unknown REQ-2"},
		{"an id in lower case", whole + "# REQ-2 b\nTraces: g-1\n", false, "unknown REQ-2, uncovered REQ-2"},
		{"a goal without requirement", whole + "# G-2 b\n", false, "uncovered G-2"},
		{"a requirement without epic", whole + "# REQ-2 b\nTraces: G-1\n", false, "uncovered REQ-2"},
		{"one that only a story with an epic has", whole + "# REQ-2 b\nTraces: G-1\n" +
			"# STORY-2 b\nTraces: REQ-2, EPIC-1\n", false, ""},
		{"one that only a story without an epic has", whole + "# REQ-2 b\nTraces: G-1\n" +
			"# STORY-2 b\nTraces: REQ-2\n", false, "uncovered REQ-2"},
		{"one that another requirement has", whole + "# REQ-2 b\nTraces: G-1\n" +
			"# REQ-3 b\nTraces: REQ-2\n# EPIC-2 b\nTraces: REQ-3\n# STORY-EPIC-2-1 b\n", false, ""},
		{"a decision without epic", whole + "# ADR-2 b\nTraces: REQ-1\n", false, "uncovered ADR-2"},
		{"an epic without story", whole + "# EPIC-2 b\nTraces: REQ-1\n", false, "uncovered EPIC-2"},
		{"from nothing", whole + "# STORY-2 b\n", false, "unlinked STORY-2"},
		{"a link down", whole + "# REQ-2 b\nTraces: EPIC-1, G-1\n", false, "unknown REQ-2, uncovered REQ-2"},
		{"a circle", whole + "# EPIC-2 b\nTraces: EPIC-3, REQ-1\n" +
			"# EPIC-3 b\nTraces: EPIC-2\n# STORY-2 b\nTraces: EPIC-2\n", false, "cycle EPIC-3"},
		{"a circle with a link down", whole + "# EPIC-2 b\nTraces: REQ-1, STORY-2\n" +
			"# STORY-2 b\nTraces: EPIC-2\n", false, "unknown EPIC-2"},
		{"itself", whole + "# G-2 b\nTraces: G-2\n# REQ-2 c\nTraces: G-2\n" +
			"# EPIC-2 b\nTraces: REQ-2\n- STORY-EPIC-2-1 c\n", false, "cycle G-2"},
		{"only goals", "# G-1 a\n", false, ""},
		{"only goals, all demanded", "# G-1 a\n", true, "uncovered G-1"},
		{"no epics yet", "# G-1 a\n# REQ-1 a\nTraces: G-1\n# ADR-1 a\nTraces: REQ-1\n", false, ""},
		{"no epics yet, all demanded", "# G-1 a\n# REQ-1 a\nTraces: G-1\n# ADR-1 a\nTraces: REQ-1\n", true,
			"uncovered REQ-1, uncovered ADR-1"},
		{"no stories yet", strings.Split(whole, "# STORY-1")[0], false, ""},
		{"no stories yet, all demanded", strings.Split(whole, "# STORY-1")[0], true, "uncovered EPIC-1"},
		{"a later kind demands those before it", "# G-1 a\n# STORY-1 a\nTraces: G-1\n", false, "uncovered G-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, gap := range readText(t, tt.text).Gaps(tt.all) {
				got = append(got, strings.TrimSpace(gap.Code+" "+gap.ID))
				if gap.ID != "" && (gap.Line == 0 || gap.File != "a.md") {
					t.Errorf("%s is nowhere: %+v", gap.ID, gap.Place)
				}
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, want %q", strings.Join(got, ", "), tt.want)
			}
		})
	}
}

// Each text alone may lack what the others have; together they are whole.
func TestSeveralTexts(t *testing.T) {
	parts := strings.SplitAfter(whole, "Traces: G-1\n")
	g := readText(t, parts...)
	if says(g) == says(readText(t, whole)) || len(g.Gaps(true)) > 0 || g.Items[3].File != "c.md" {
		t.Errorf("%s\n%v", says(g), g.Gaps(true))
	}
}

// What is far too long or too much is refused; what is just allowed takes no longer than its length.
func TestHostile(t *testing.T) {
	if _, err := Read([]Source{{Text: strings.Repeat("x", MaxFile+1)}}); err == nil {
		t.Error("a huge text was read")
	}
	var b strings.Builder
	for i := range MaxItems + 1 {
		fmt.Fprintf(&b, "- G-%d x\n", i)
	}
	if _, err := Read([]Source{{Text: b.String()}}); err == nil {
		t.Error("too many items were read")
	}
	for name, text := range map[string]string{
		"links of one item": "# REQ-1 a\n" + strings.Repeat("Traces: G-1, G-2\n", MaxFile/20),
		"links in one line": "# REQ-1 a\nTraces: " + strings.Repeat("G-1, REQ-1 ", MaxFile/12),
		"lines":             strings.Repeat("\n", MaxFile),
		"brackets":          "# REQ-1 a\nTraces: " + strings.Repeat("](", MaxFile/3),
		"a long circle":     circle(MaxItems, 1),
		"many circles":      circle(MaxItems, 2),
		"layers":            layers(100, 10),
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			g := readText(t, text)
			g.Gaps(true)
			g.Around(g.Items[:min(1, len(g.Items))])
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// circle is n items that each come from the next, and from the one step before.
func circle(n, step int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- REQ-%d x Traces: REQ-%d, REQ-%d\n", i, (i+1)%n, (i+n-step+1)%n)
	}
	return b.String()
}

// layers has each item come from all of the layer before: there are wide^deep ways.
func layers(deep, wide int) string {
	var b strings.Builder
	for i := range deep {
		for j := range wide {
			fmt.Fprintf(&b, "- REQ-%d x", i*wide+j)
			for k := 0; i > 0 && k < wide; k++ {
				fmt.Fprintf(&b, " %s REQ-%d", []string{"Traces:", ","}[min(k, 1)], (i-1)*wide+k)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// What the items say in JSON, written as Markdown again, has the same items, links and gaps.
func FuzzRead(f *testing.F) {
	for _, text := range []string{whole, circle(3, 2), layers(3, 2),
		"- STORY-EPIC-001-001 a\n- G-1 x, Traces: REQ-1\n# REQ-1\n",
		"# G-1 \x1b[31m\n# REQ-1 a Traces: b-1 (Traces: c-2)\n- REQ-1 b\n", "# G-1 `x\n```\n# G-2\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Read([]Source{{Text: text}})
		if err != nil {
			return
		}
		data, err := json.Marshal(g.Items)
		if err != nil {
			t.Fatal(err)
		}
		var items []Item
		if err := json.Unmarshal(data, &items); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, it := range items {
			fmt.Fprintf(&b, "# %s\nTraces: %s\n", it.ID, strings.Join(it.Traces, ", "))
		}
		again, err := Read([]Source{{Text: b.String()}})
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Items) != len(g.Items) {
			t.Fatalf("%d items, then %d\n%s", len(g.Items), len(again.Items), b.String())
		}
		for i, it := range g.Items {
			a, b := slices.Clone(it.Traces), slices.Clone(again.Items[i].Traces)
			slices.Sort(a)
			slices.Sort(b)
			if it.ID != again.Items[i].ID || !slices.Equal(a, b) {
				t.Errorf("%s from %q, then %s from %q", it.ID, a, again.Items[i].ID, b)
			}
			if len(again.Items[i].Up) != len(it.Up) || len(again.Items[i].down) != len(it.down) {
				t.Errorf("%s has other links", it.ID)
			}
		}
		codes := func(gaps []Gap) (all []string) {
			for _, gap := range gaps {
				if gap.Code != "duplicate" && gap.Code != "cycle" { // the order of links says where a circle begins
					all = append(all, gap.Code+" "+gap.ID)
				}
			}
			slices.Sort(all)
			return all
		}
		if a, b := codes(g.Gaps(true)), codes(again.Gaps(true)); !slices.Equal(a, b) {
			t.Errorf("gaps %q, then %q", a, b)
		}
	})
}
