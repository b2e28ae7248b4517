package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/urfave/cli/v2"

	"gitwf/internal/completion"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/repotest/tool"
)

const manualFile = "../../docs/git-wf.1"

var update = flag.Bool("update", false, "write the manual's COMMANDS")

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

// TestManualCommands holds the page's COMMANDS equal to the commands' own help; with -update it writes them.
func TestManualCommands(t *testing.T) {
	data, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(data), ".SH COMMANDS\n")
	old, tail, ends := strings.Cut(rest, ".SH PLAN FILES\n")
	if !found || !ends {
		t.Fatal("the page has no section COMMANDS before PLAN FILES")
	}
	var b strings.Builder
	for _, g := range (&env{}).groups() {
		for _, c := range g.commands {
			writeManual(&b, c.Name, c)
		}
	}
	page := head + ".SH COMMANDS\n" + b.String() + ".SH PLAN FILES\n" + tail
	switch {
	case *update:
		if err := os.WriteFile(manualFile, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	case b.String() != old:
		t.Error("COMMANDS is not what the commands' help says; go generate ./cmd/git-wf writes it")
	}
	if words := len(strings.Fields(page)); words > mostManualWords {
		t.Errorf("the page has %d words, expected at most %d", words, mostManualWords)
	}
}

// mostManualWords is how many words the page may have, those of roff among them.
const mostManualWords = 7500

// writeManual writes the subsections of a command and of those below it.
func writeManual(b *strings.Builder, words string, c *cli.Command) {
	if c.Hidden {
		return
	}
	entry := entryOf(words, c)
	if len(entry.commands) == 0 || len(entry.paragraphs) > 0 {
		heading := words + ` \fR` + regexp.MustCompile(`[A-Z]+`).ReplaceAllString(c.ArgsUsage, `\fI$0\fR`)
		var shared []string
		for _, o := range entry.options {
			if slices.Contains(sharedOptions(), o) {
				shared = append(shared, cmp.Or(o.short, o.long))
			}
		}
		if len(shared) > 0 {
			heading += " [" + strings.Join(shared, ",") + "]"
		}
		fmt.Fprintf(b, ".SS %s\n", strings.ReplaceAll(strings.TrimSuffix(heading, ` \fR`), "-", `\-`))
	}
	for i, text := range entry.paragraphs {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(text))
	}
	for _, o := range entry.options {
		if slices.Contains(sharedOptions(), o) {
			continue
		}
		b.WriteString(".TP\n")
		if o.short != "" {
			b.WriteString(bold(o.short) + ", ")
		}
		b.WriteString(bold(o.long))
		if o.value != "" {
			b.WriteString(` \fI` + strings.ReplaceAll(o.value, "-", `\-`) + `\fR`)
		}
		b.WriteString("\n" + roff(o.usage))
	}
	for _, sub := range entry.commands {
		writeManual(b, words+" "+sub.Name, sub)
	}
}

// sharedOptions are explained once, in OPTIONS.
func sharedOptions() []optionHelp {
	var all []optionHelp
	for _, f := range []cli.Flag{
		planFlag(), jsonFlag(), messageFlag("why"), plannerFlag(), executorFlag(), reviewerFlag(), jobsFlag(),
		attachFlag(), fromFlag(), setFlag(),
	} {
		all = append(all, optionOf(f.(cli.DocGenerationFlag)))
	}
	return all
}

func bold(word string) string { return `\fB` + strings.ReplaceAll(word, "-", `\-`) + `\fR` }

// roff marks a text up: sentences on lines of their own, commands and flags in bold.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = regexp.MustCompile(`(^|[ (])(--?[a-z][a-z-]*|git wf [a-z]+)`).ReplaceAllString(text, `$1\fB$2\fR`)
	text = strings.ReplaceAll(text, "-", `\-`)
	text = regexp.MustCompile(`([a-z)][.:?]) ([A-Z\\])`).ReplaceAllString(text, "$1\n$2")
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line[:1], ".'") {
			b.WriteString(`\&`)
		}
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func TestManualHasEveryCommonOption(t *testing.T) {
	_, options, _ := strings.Cut(manual(t), "\n.SH OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.SH ")
	words := strings.FieldsFunc(options, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	for _, f := range completion.Table((&env{}).app())[0].Flags {
		for _, word := range f.Spellings() {
			if !slices.Contains(words, word) {
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
