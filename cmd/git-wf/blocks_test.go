package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gitwf/internal/pattern"
)

// A block is a fenced part of a document that a reader types into a shell: ```sh has command lines, ```console has them
// after "$ " and shows what they print.
type block struct {
	heading string // the one that it stands below
	console bool
	lines   []string
	line    int    // of its fence, from 1
	notRun  string // why no script runs it, from the comment <!-- not run: REASON --> above it; no reader sees that
}

var (
	fenceLine  = pattern.Compile("^(`{3,})(.*)$")
	notRunLine = pattern.Compile(`^<!-- not run: (.+) -->$`)
)

// blocksOf reads the blocks of a document. A fence inside a longer one is text.
func blocksOf(document string) (all []block) {
	heading, above, fence := "", "", ""
	var open *block
	for i, line := range strings.Split(document, "\n") {
		m := fenceLine.Get().FindStringSubmatch(line)
		switch {
		case fence != "" && m != nil && len(m[1]) >= len(fence) && m[2] == "":
			if open != nil {
				all = append(all, *open)
			}
			fence, open = "", nil
		case open != nil:
			open.lines = append(open.lines, line)
		case fence != "":
		case m != nil:
			fence = m[1]
			if m[2] == "sh" || m[2] == "console" {
				open = &block{heading: heading, console: m[2] == "console", line: i + 1}
				if why := notRunLine.Get().FindStringSubmatch(above); why != nil {
					open.notRun = why[1]
				}
			}
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		above = line
	}
	return all
}

// blockCommand runs the blocks of a document below a heading: block README.md 'Change code'. One that shows an error
// must fail. What a block needs, the script makes before it.
func blockCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: block DOCUMENT HEADING")
	}
	ran := 0
	for _, b := range blocksOf(ts.ReadFile(filepath.Join(ts.Getenv("EXAMPLES"), "..", args[0]))) {
		if b.heading != args[1] || b.notRun != "" {
			continue
		}
		ran++
		where := fmt.Sprintf("%s:%d", args[0], b.line)
		if b.console {
			runConsole(ts, where, b.lines)
		} else if err := ts.Exec("sh", "-exc", waits+strings.Join(b.lines, "\n")); err != nil {
			ts.Fatalf("%s: %v", where, err)
		}
		sound(ts, ts.MkAbs("."))
	}
	if ran == 0 {
		ts.Fatalf("%s has no block to run below %q", args[0], args[1])
	}
}

// waits lets a block go on after a command that ends with 3: it waits for a person, who types the next line.
const waits = "git() { command git \"$@\" || test $? = 3; }\n"

// What is different each time: how long something took, and a commit's id.
var (
	took   = pattern.Compile(`\b\d+(\.\d+)?m?s\b`)
	commit = pattern.Compile(`\b[0-9a-f]{12}\b`)
)

func alike(line string) string {
	return commit.Get().ReplaceAllString(took.Get().ReplaceAllString(strings.Join(strings.Fields(line), " "), "0s"), "ID")
}

// runConsole runs the commands of a ```console block. What it shows of their output they must print, in this order.
func runConsole(ts *testscript.TestScript, where string, lines []string) {
	for len(lines) > 0 {
		command, isCommand := strings.CutPrefix(lines[0], "$ ")
		if !isCommand {
			ts.Fatalf("%s: a console block begins with a command after \"$ \", found %q", where, lines[0])
		}
		end := slices.IndexFunc(lines[1:], func(line string) bool { return strings.HasPrefix(line, "$ ") }) + 1
		if end == 0 {
			end = len(lines)
		}
		shown := lines[1:end]
		lines = lines[end:]
		fails := slices.ContainsFunc(shown, func(line string) bool { return strings.HasPrefix(line, "error: ") })
		if err := ts.Exec("sh", "-c", command+" 2>&1"); (err != nil) != fails {
			ts.Fatalf("%s: %s: %v", where, command, err)
		}
		printed := strings.Split(ts.ReadFile("stdout"), "\n")
		for _, want := range shown {
			if want == "..." {
				continue
			}
			at := slices.IndexFunc(printed, func(line string) bool { return alike(line) == alike(want) })
			if at < 0 {
				ts.Fatalf("%s: %s does not print %q, or not there", where, command, want)
			}
			printed = printed[at+1:]
		}
	}
}

// Every block of README.md, docs/ and examples/ is run by a script, or says why not. So what a reader is told to type
// works.
func TestBlocksAreRun(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	command := pattern.Compile(`(?m)^block (\S+) '((?:[^'\n]|'')+)'$`)
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.Get().FindAllStringSubmatch(string(data), -1) {
			ran[m[1]+" "+strings.ReplaceAll(m[2], "''", "'")] = true
		}
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	counted, not := 0, 0
	for _, name := range append(documents, "../../README.md", "../../examples/README.md") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		short, _ := filepath.Rel("../..", name)
		short = filepath.ToSlash(short)
		for _, b := range blocksOf(string(data)) {
			switch {
			case b.notRun != "":
				not++
			case ran[short+" "+b.heading]:
				counted++
			default:
				t.Errorf("%s:%d: no script runs this block (block %s '%s'), and no comment says why: <!-- not run: REASON -->",
					short, b.line, short, b.heading)
			}
		}
	}
	t.Logf("%d blocks are run, %d are not", counted, not)
	if counted < 10 || not > counted {
		t.Errorf("%d blocks are run, %d are not: too few", counted, not)
	}
}
