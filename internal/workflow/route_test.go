package workflow

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gitwf/templates"
)

// routed is what git wf do makes of a sentence: a workflow, none, or ask with what it asks about.
func routed(all map[string]Guide, sentence string) (answer string, close []Candidate) {
	var candidates []Candidate
	for name, g := range all {
		candidates = append(candidates, g.Candidate(name, sentence, nil))
	}
	n := Choose(candidates)
	if n > 1 {
		return "ask", candidates[:n]
	}
	return candidates[0].Name, candidates[:2]
}

// What users write comes to the right workflow, or they are asked, rarely; it never comes to a wrong one.
func TestRouteSentences(t *testing.T) {
	all := Guides(templates.Routes)
	for _, file := range []string{"tuned", "heldout"} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/route/" + file + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			right, asked, of := 0, 0, 0
			for line := range strings.Lines(string(data)) {
				line = strings.TrimSpace(line)
				answers, sentence, ok := strings.Cut(line, ": ")
				if !ok || strings.HasPrefix(line, "#") {
					continue
				}
				of++
				want := strings.Split(answers, "|")
				got, close := routed(all, sentence)
				switch {
				case slices.Contains(want, strings.Replace(got, Free, "free", 1)):
					right++
				case got == "ask" && slices.ContainsFunc(close, func(c Candidate) bool { return slices.Contains(want, c.Name) }):
					asked++
					t.Logf("asks: %s\n%v", line, said(close))
				default:
					t.Errorf("%s: %s\n%v", got, line, said(close))
				}
			}
			t.Logf("%d sentences: %d right, %d asked about", of, right, asked)
			if 10*asked > of {
				t.Errorf("asks about %d of %d", asked, of)
			}
		})
	}
}

// Each workflow of the program has words, and what may follow one is known.
func TestGuides(t *testing.T) {
	all := Guides(templates.Routes)
	parts := map[string]bool{} // that others use; no sentence is for them
	for _, name := range builtins(t) {
		for _, f := range builtin(t, name).files[1:] {
			parts[f.head.Workflow] = true
		}
	}
	for _, name := range builtins(t) {
		if len(all[name].Route) == 0 && !parts[name] {
			t.Errorf("%s: no sentence is for it: templates/%s", name, "routes.yaml")
		}
	}
	for name, g := range all {
		for _, next := range g.Then {
			if len(all[next].Route) == 0 || next == name {
				t.Errorf("%s: then: %s is not there", name, next)
			}
		}
		for _, r := range g.Route {
			if len(r.Words) == 0 || r.Add == 0 {
				t.Errorf("%s: a rule that does nothing: %v", name, r)
			}
		}
	}
}

// One more word that a workflow has points for never lowers them, and a free plan wins where nothing speaks for another.
func FuzzRoute(f *testing.F) {
	for i, s := range []string{"", "why is it slow", "^add $", "specspec", "İSTANBUL spec", "写", "\xff\xfe review"} {
		f.Add(s, uint(100*i))
	}
	all := Guides(templates.Routes)
	type point struct{ name, word string }
	var words []point
	for _, name := range sorted(all) {
		for _, r := range all[name].Route {
			for _, word := range r.Words {
				word = strings.Trim(word, "^$")
				if r.Add > 0 && !slices.ContainsFunc(all[name].Route, func(r pointRule) bool {
					return r.Add < 0 && len(Guide{Route: []pointRule{r}}.Candidate("", word, nil).Why) > 0
				}) {
					words = append(words, point{name, word})
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, sentence string, which uint) {
		p := words[which%uint(len(words))]
		before := all[p.name].Candidate(p.name, sentence, nil)
		after := all[p.name].Candidate(p.name, sentence+"\n"+p.word, nil)
		if after.Points < before.Points {
			t.Fatalf("%q lowers %q: %v to %v", p.word, sentence, before, after)
		}
		var candidates []Candidate
		for name, g := range all {
			candidates = append(candidates, g.Candidate(name, sentence, nil))
		}
		n := Choose(candidates)
		if first := candidates[0]; n < 1 || n > 1 && first.Name == Free ||
			n == 1 && first.Name != Free && candidates[1].Points > first.Points-margin {
			t.Fatalf("%q: %d of\n%s", sentence, n, said(candidates))
		}
	})
}

func said(all []Candidate) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "\t%v\n", c)
	}
	return b.String()
}
