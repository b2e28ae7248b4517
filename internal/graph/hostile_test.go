package graph_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
)

// hostile are titles that try to leave their place in one of the formats.
func hostile() []string {
	return []string{
		`"quoted" 'single' ` + "`tick`", "two\nlines\r\nand\ttab", `a --> b`, `"]; n1 --> n2; click n1 "javascript:alert(1)"`,
		`<script>alert(1)</script>`, `</title></svg><img src=x onerror=alert(1)>`, `]]> <![CDATA[ <!-- -->`,
		`&lt;b&gt; &amp; &#34; #quot; #35;`,
		`back\slash \" \N \G \n \l`, "escape \x1b[31m red \x07\x00\x7f", "right \u202eto left\u202c \u2066x\u2069 \u200f",
		"%%{init: {'theme':'dark'}}%%",
		"---\nconfig: x\n---", "subgraph end", "end", "1. list", "- item", "# heading", "**bold** _under_ ~~x~~", ":::done",
		"{{x}} [[y]] ((z)) >w]",
		"bad \xff\xfe utf8 \xed\xa0\x80", "\ufffe\uffff\u2028\u2029\ufeff", "style n1 fill:#f00", "e\u0301 👩‍👩‍👧 中文 العربية",
		strings.Repeat("長", 300), "", " ", "|pipe| $x$ $$y$$",
		`" -> "GOAL-1" [label="x`, `<b>html</b>`, `\`, `"`, `\"`,
	}
}

// named is a graph whose tasks have the titles.
func named(titles []string) graph.Graph {
	g := graph.Graph{PlanID: "WFS-x", Title: titles[0], Nodes: []graph.Node{{ID: "GOAL-1", Kind: plan.Goal, Title: "Root",
		Class: graph.Running, Status: plan.StatusInProgress}}}
	classes := []graph.Class{graph.Ready, graph.Running, graph.Review, graph.Done, graph.Rejected, graph.Pending,
		graph.Blocked, graph.Abandoned}
	before := plan.TaskID("")
	for i, title := range titles {
		id := plan.TaskID("IMPL-" + string(rune('0'+i/10)) + string(rune('0'+i%10)))
		check := id.CheckID()
		g.Nodes = append(g.Nodes, graph.Node{ID: id, Kind: plan.Action, Title: title, Parent: "GOAL-1", Class: classes[i%8],
			Status: plan.StatusReady, Critical: i%2 == 0},
			graph.Node{ID: check, Kind: plan.Check, Title: title, Parent: "GOAL-1", Class: graph.Pending,
				Status: plan.StatusPending})
		g.Edges = append(g.Edges, graph.Edge{From: "GOAL-1", To: id, Kind: graph.Decompose},
			graph.Edge{From: check, To: id, Kind: graph.Reviews})
		if i%3 > 0 {
			g.Edges = append(g.Edges, graph.Edge{From: id, To: before, Kind: graph.DependsOn, Critical: i%3 == 1})
		}
		before = id
	}
	return g
}

func draw(t testing.TB, format string, g graph.Graph) string {
	t.Helper()
	var out bytes.Buffer
	if err := formats()[format](&out, g); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// obeyed finds what a terminal or a reader would obey rather than show.
func obeyed(text string) string {
	if !utf8.ValidString(text) {
		return "no UTF-8"
	}
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') {
			return strings.Trim(string(rune(r)), "")
		}
	}
	return ""
}

// wellFormed reads a picture as XML, and finds what does not belong in one: scripts, what is fetched, elements of
// others.
func wellFormed(t testing.TB, svg string, nodes int) {
	t.Helper()
	known := map[string]bool{"svg": true, "title": true, "style": true, "marker": true, "path": true, "rect": true,
		"text": true, "tspan": true, "g": true}
	dec := xml.NewDecoder(strings.NewReader(svg))
	tasks := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !known[start.Name.Local] {
			t.Errorf("the element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "data-task" {
				tasks++
			}
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "url(") &&
				!strings.HasPrefix(a.Value, "url(#wf-") {
				t.Errorf("the attribute %s=%s", a.Name.Local, a.Value)
			}
		}
	}
	if tasks != nodes {
		t.Errorf("%d tasks are drawn, want %d", tasks, nodes)
	}
	for _, word := range []string{"http:", "https:", "@import", "<script", "javascript:\""} {
		if rest := strings.Replace(svg, `xmlns="http://www.w3.org/2000/svg"`, "", 1); strings.Contains(rest, word) {
			t.Errorf("%s is in the picture", word)
		}
	}
}

func TestHostileTitles(t *testing.T) {
	g := named(hostile())
	for name := range formats() {
		if bad := obeyed(draw(t, name, g)); bad != "" {
			t.Errorf("%s: %q is in what is drawn", name, bad)
		}
	}
	wellFormed(t, draw(t, "svg", g), len(g.Nodes))
	// A title is text in one place: whatever it says, the lines are as many and of the same kinds.
	plain := make([]string, len(hostile()))
	a, b := strings.Split(draw(t, "mermaid", g), "\n"), strings.Split(draw(t, "mermaid", named(plain)), "\n")
	if len(a) != len(b) {
		t.Fatalf("%d lines, %d with empty titles", len(a), len(b))
	}
	for i := range a {
		if first, want := strings.Fields(a[i]+" ."), strings.Fields(b[i]+" ."); first[0] != want[0] {
			t.Errorf("line %d: begins with %s, want %s", i+1, first[0], want[0])
		}
	}
}

// TestMermaidIsReadByMermaid parses with the real library. It needs node, and in GIT_WF_TEST_MERMAID a directory in
// which `npm install mermaid@12.3.0 jsdom@31.0.1` was run.
func TestMermaidIsReadByMermaid(t *testing.T) {
	dir := os.Getenv("GIT_WF_TEST_MERMAID")
	if dir == "" {
		t.Skip("GIT_WF_TEST_MERMAID names no directory with mermaid and jsdom")
	}
	script, err := os.ReadFile("testdata/mermaid.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--input-type=module", "-e", string(script))
	cmd.Dir = dir
	g := named(hostile())
	cmd.Stdin = strings.NewReader(draw(t, "mermaid", g))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var read struct {
		Nodes map[string]string // what is shown of each
		Edges int
	}
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatal(err)
	}
	if want := len(g.Edges) + 3; read.Edges != want {
		t.Errorf("%d edges, want %d", read.Edges, want)
	}
	if want := len(g.Nodes) + 4 + 8; len(read.Nodes) != want {
		t.Errorf("%d nodes, want %d", len(read.Nodes), want)
	}
	shown := ""
	for _, text := range read.Nodes {
		shown += text + "\n"
	}
	for _, want := range []string{`"]; n1 --> n2; click n1 "javascript:alert(1)"`, `<script>alert(1)</script>`,
		`back\slash \" \N \G \n \l`, `&lt;b&gt; &amp; &#34; #quot; #35;`, "%%{init: {'theme':'dark'}}%%"} {
		if !strings.Contains(shown, want) {
			t.Errorf("mermaid does not show %s; it shows\n%s", want, shown)
		}
	}
}

// FuzzTitles: whatever a title says, every format stays whole.
func FuzzTitles(f *testing.F) {
	for _, title := range hostile() {
		f.Add(title, "IMPL-1")
		f.Add("title", title)
	}
	lines := map[string]int{}
	for name := range formats() {
		lines[name] = strings.Count(draw(f, name, named([]string{"some", "other"})), "\n")
	}
	f.Fuzz(func(t *testing.T, title, id string) {
		g := named([]string{title, "other"})
		for _, n := range g.Nodes {
			if string(n.ID) == id {
				t.Skip("each id is there once")
			}
		}
		g.Nodes[1].ID = plan.TaskID(id)
		for i := range g.Edges {
			for _, end := range []*plan.TaskID{&g.Edges[i].From, &g.Edges[i].To} {
				if *end == "IMPL-00" {
					*end = plan.TaskID(id)
				}
			}
		}
		for name := range formats() {
			text := draw(t, name, g)
			if bad := obeyed(text); bad != "" {
				t.Fatalf("%s: %q is in what is drawn", name, bad)
			}
			if n := strings.Count(text, "\n"); name != "txt" && n != lines[name] { // lines of text are set anew
				t.Fatalf("%s: %d lines, want %d\n%s", name, n, lines[name], text)
			}
			if name == "svg" {
				wellFormed(t, text, len(g.Nodes))
			}
		}
	})
}
