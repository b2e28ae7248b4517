package main

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/completion"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/repotest/tool"
)

const manualFile = "../../docs/git-wf.1"

// manual is the page's text without the marks of roff; lines that are requests keep their dot.
func manual(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\\f[BIRP]`).ReplaceAllString(string(data), "")
	return strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(dq`, `"`, `\&`, "").Replace(text)
}

// manualCommands are the subsections of COMMANDS, by the words of the command after git wf.
func manualCommands(t *testing.T) map[string]string {
	t.Helper()
	_, text, found := strings.Cut(manual(t), "\n.SH COMMANDS\n")
	text, _, ends := strings.Cut(text, "\n.SH ")
	if !found || !ends {
		t.Fatal("the page has no section COMMANDS")
	}
	all := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n.SS ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		var words []string
		for _, w := range strings.Fields(strings.TrimPrefix(heading, "git wf ")) {
			if strings.ToLower(w) != w || strings.ContainsAny(w, "[<") {
				break
			}
			words = append(words, w)
		}
		all[strings.Join(words, " ")] = body
	}
	return all
}

// taggedFlags are the flags that a body explains: those in the line after a .TP.
func taggedFlags(body string) []string {
	var all []string
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		if line == ".TP" && i+1 < len(lines) {
			all = append(all, regexp.MustCompile(`(?:^|[ "])(--?[a-z][a-z-]*)`).FindAllString(lines[i+1], -1)...)
		}
	}
	for i, word := range all {
		all[i] = strings.Trim(word, ` "`)
	}
	slices.Sort(all)
	return all
}

func TestManualHasEveryCommandAndFlag(t *testing.T) {
	pages := manualCommands(t)
	table := completion.Table((&env{}).app())
	for _, c := range table {
		if c.Path == "" || !c.Leaf() {
			continue
		}
		body, ok := pages[c.Path]
		if !ok {
			t.Errorf("git wf %s: not in the page", c.Path)
			continue
		}
		delete(pages, c.Path)
		var want []string
		for _, f := range c.Flags {
			if f.Name != "help" { // it stands once, in OPTIONS
				want = append(want, f.Spellings()...)
			}
		}
		slices.Sort(want)
		if got := taggedFlags(body); !slices.Equal(got, want) {
			t.Errorf("git wf %s: the page explains %v, the program has %v", c.Path, got, want)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		t.Errorf("git wf %s: in the page, not in the program", path)
	}
	_, options, _ := strings.Cut(manual(t), "\n.SH OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.SH ")
	for _, f := range table[0].Flags {
		for _, word := range f.Spellings() {
			if !slices.Contains(taggedFlags(options), word) {
				t.Errorf("%s: not among the page's OPTIONS", word)
			}
		}
	}
}

func TestManualNamesNoOtherCommand(t *testing.T) {
	known := map[string]bool{}
	for _, c := range completion.Table((&env{}).app()) {
		known[c.Path] = true
	}
	for _, m := range regexp.MustCompile(`(?m)(?:^\.B[RI]* "?| |^)git wf ([a-z]+)`).FindAllStringSubmatch(manual(t), -1) {
		if word := m[1]; !known[word] {
			t.Errorf("the page says git wf %s, which is no command", word)
		}
	}
}

func TestManualExampleIsAPlan(t *testing.T) {
	_, text, found := strings.Cut(manual(t), "\n.nf\ntitle: ")
	text, _, ends := strings.Cut(text, "\n.fi\n")
	if !found || !ends {
		t.Fatal("the page has no plan in it")
	}
	p, err := plandoc.ParseValid("plan.yaml", []byte("title: "+text+"\n"), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	if r := plandoc.ReviewPlan(p, plandoc.Stated); r.Verdict != plan.Approved {
		t.Errorf("the review would reject it, score %d: %+v", r.Score, r.Suggestions)
	}
}

func TestManualListsEveryExitCode(t *testing.T) {
	_, text, _ := strings.Cut(manual(t), "\n.SH EXIT STATUS\n")
	text, _, _ = strings.Cut(text, "\n.SH ")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\.B ([0-9]+)$`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	if want := []string{"0", "1", "2", "3", "4", "128", "130"}; !slices.Equal(got, want) {
		t.Errorf("exit codes: got %v, want %v", got, want)
	}
}

func TestManualRendersWithoutWarnings(t *testing.T) {
	tried := false
	for _, line := range [][]string{
		{"groff", "-man", "-ww", "-Wbreak", "-Tascii", "-z", manualFile},
		{"mandoc", "-T", "lint", "-W", "warning", manualFile},
	} {
		if tool.Broken(line[0]) != "" {
			continue
		}
		tried = true
		out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", strings.Join(line, " "), err, out)
		}
	}
	if !tried {
		t.Skip("skipped: neither groff nor mandoc works here")
	}
}
