package main

import (
	_ "embed" // for help.txt
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/plandoc"
)

//go:generate go test . -run=TestManualCommands -update

// helpText has, below a heading with each command's words, what its help says beside its usage and flags, and its
// examples: the lines that begin with "$ ". It is read only when somebody asks for help.
//
//go:embed help.txt
var helpText string

// helpWidth is how many columns a line of the help may have.
const helpWidth = 100

// A manualEntry is the help of one command; the manual page is made of the same entries.
type manualEntry struct {
	usage      string   // the command line: "git wf show [OPTION...] TASK"
	paragraphs []string // without line breaks
	commands   []*cli.Command
	options    []optionHelp
	examples   []string // command lines
}

// optionHelp explains one flag. value is the word for its value, "" for a flag without one.
type optionHelp struct{ short, long, value, usage string }

// entryOf collects the help of the command that the words after "git wf" name.
func entryOf(words string, c *cli.Command) manualEntry {
	entry := manualEntry{usage: "git wf " + words}
	for _, sub := range c.Subcommands {
		if !sub.Hidden && sub.Name != "help" {
			entry.commands = append(entry.commands, sub)
		}
	}
	for _, f := range c.Flags {
		if described, ok := f.(cli.DocGenerationFlag); ok && f.Names()[0] != "help" {
			entry.options = append(entry.options, optionOf(described))
		}
	}
	if len(entry.options) > 0 {
		entry.usage += " [OPTION...]"
	}
	if len(entry.commands) > 0 {
		entry.usage = "git wf " + words + " COMMAND [ARGUMENT...]"
	} else if c.ArgsUsage != "" {
		entry.usage += " " + c.ArgsUsage
	}
	summary := []rune(c.Usage)
	_, section, _ := strings.Cut(helpText, "## "+words+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for i, part := range strings.Split("\n"+section, "\n\n") {
		var text []string
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(line)
			if example, ok := strings.CutPrefix(line, "$ "); ok {
				entry.examples = append(entry.examples, example)
			} else if line != "" {
				text = append(text, line)
			}
		}
		if i == 0 && len(summary) > 0 {
			text = slices.Insert(text, 0, string(unicode.ToUpper(summary[0]))+string(summary[1:])+".")
		}
		if len(text) > 0 {
			entry.paragraphs = append(entry.paragraphs, strings.Join(text, " "))
		}
	}
	return entry
}

func optionOf(f cli.DocGenerationFlag) optionHelp {
	names := f.(cli.Flag).Names()
	option := optionHelp{long: "--" + names[0], usage: f.GetUsage()}
	if len(names) > 1 {
		option.short = "-" + names[1]
	}
	if !f.TakesValue() {
		return option
	}
	option.value = "TEXT"
	if before, rest, found := strings.Cut(option.usage, "`"); found {
		word, after, _ := strings.Cut(rest, "`")
		option.value, option.usage = word, before+word+after
	}
	if s, ok := f.(cli.DocGenerationSliceFlag); ok && s.IsSliceFlag() {
		option.value += "..."
	}
	if otherwise := strings.Trim(f.GetDefaultText(), `"`); otherwise != "" && otherwise != "0" {
		option.usage += " (default: " + otherwise + ")"
	}
	return option
}

// printHelp writes the help of git wf or of a command; cli calls it instead of its own templates.
func printHelp(w io.Writer, _ string, about any) {
	c, ok := about.(*cli.Command)
	if !ok {
		printOverview(w)
		return
	}
	words := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(c.HelpName, " [command]"), "git wf"))
	entry := entryOf(words, c)
	fmt.Fprintf(w, "usage: %s\n", entry.usage)
	for _, text := range entry.paragraphs {
		fmt.Fprintf(w, "\n%s\n", wrap(text, 0))
	}
	if len(entry.commands) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
	}
	for _, sub := range entry.commands {
		printTerm(w, sub.Name, sub.Usage, 15)
	}
	if len(entry.options) > 0 {
		fmt.Fprint(w, "\nOptions:\n")
	}
	for _, o := range entry.options {
		label := o.long
		if o.short != "" {
			label = o.short + ", " + label
		}
		if o.value != "" {
			label += " " + o.value
		}
		printTerm(w, label, o.usage, 26)
	}
	fmt.Fprint(w, "\nExamples:\n")
	for _, line := range entry.examples {
		fmt.Fprintf(w, "   %s\n", line)
	}
}

// printTerm writes a word and, from a column on, its explanation; below the word if that is too long.
func printTerm(w io.Writer, word, text string, column int) {
	text = wrap(text, column)
	if pad := column - 3 - len(word); pad > 1 {
		fmt.Fprintf(w, "   %s%*s%s\n", word, pad, "", text)
		return
	}
	fmt.Fprintf(w, "   %s\n%*s%s\n", word, column, "", text)
}

// wrap breaks a text into lines of helpWidth columns, all but the first indented.
func wrap(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > helpWidth:
			fmt.Fprintf(&b, "\n%*s", indent, "")
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func printOverview(w io.Writer) {
	fmt.Fprintf(w, "usage: git wf COMMAND [OPTION...] [ARGUMENT...]\n\n%s\n", appUsage)
	for _, g := range (&env{}).groups() {
		fmt.Fprintf(w, "\n%s\n", g.purpose)
		for _, c := range g.commands {
			if !c.Hidden {
				printTerm(w, c.Name, c.Usage, 13)
			}
		}
	}
	fmt.Fprint(w, "\ngit wf COMMAND --help explains a command, git help wf is the manual, "+
		"git wf --version the version.\n")
}

// nearestCommand is the hint for a word that is none of the commands after prefix: which one was meant, or otherwise.
func nearestCommand(prefix, word string, commands []*cli.Command, otherwise string) string {
	names := each.Pick(commands, func(c *cli.Command) (string, bool) { return c.Name, !c.Hidden })
	if name := nearestWord(word, names); name != "" {
		return "did you mean " + prefix + " " + name + "?"
	}
	return otherwise
}

// nearestWord is the name that a misspelt or abbreviated word most likely means, "" if none is near.
func nearestWord(word string, names []string) string {
	for _, name := range names {
		if len(word) > 2 && strings.HasPrefix(name, word) {
			return name
		}
	}
	return plandoc.Nearest(word, names)
}

// nearestFlag is the flag that a misspelt one among the arguments most likely means, "" if none is near.
func nearestFlag(flags []cli.Flag, args []string) string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		switch {
		case !strings.HasPrefix(args[i], "-") || name == "":
		case !slices.Contains(names, name):
			return nearestWord(name, slices.DeleteFunc(names, func(n string) bool { return len(n) == 1 }))
		case takesValue(flags, args[i]):
			i++
		}
	}
	return ""
}
