package completion

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"gitwf/internal/shell"
)

// files holds one script for each shell, a template over the table of commands.
//
//go:embed *.tmpl
var files embed.FS

// Script writes the script that completes git wf in a shell: bash, zsh or fish.
func Script(w io.Writer, app *cli.App, shellName string) error {
	t, err := template.New(shellName+".tmpl").Funcs(template.FuncMap{
		"quote": shell.Quote, "zshText": zshText, "fishText": fishText, "join": strings.Join, "withValue": withValue,
	}).ParseFS(files, shellName+".tmpl")
	if err != nil {
		return fmt.Errorf("completion for %s: %w", shellName, err)
	}
	return t.Execute(w, Table(app))
}

// Entry is a command as a completion script sees it. The first of a table is git wf itself.
type Entry struct {
	Path     string // the words after git wf: "hooks install"; "" for git wf itself
	Name     string
	Usage    string
	Commands []Entry // what may follow it
	Flags    []Flag
	Operands []Operand // the last one may repeat
}

// Valued are the spellings of the flags that take a value.
func (c Entry) Valued() []string {
	var words []string
	for _, f := range c.Flags {
		if f.Value != "" {
			words = append(words, f.Spellings()...)
		}
	}
	return words
}

// Flag is a flag of a command. Value is what its value is, "" for a flag without one.
type Flag struct {
	Name, Short, Usage string
	Value              string
	Repeats            bool
}

// Spellings are the words that set the flag.
func (f Flag) Spellings() []string {
	if f.Short == "" {
		return []string{"--" + f.Name}
	}
	return []string{"-" + f.Short, "--" + f.Name}
}

// Operand is a positional argument. Kind says what completes it, Nr counts from one.
type Operand struct {
	Kind    string
	Nr      int
	Repeats bool
}

// operandKinds say what completes an operand, by the word that helps have for it. A script has one function for each.
var operandKinds = map[string]string{
	"TASK": "task", "PLAN": "plan", "PATH": "file", "FILE": "file", "DIR": "file", "COMMIT": "revision",
	"WORKFLOW": "workflow", "VENDOR": "vendor", "CATEGORY": "category",
}

// valueKinds say what completes the value of a flag, by its name; nothing completes other flags' values.
var valueKinds = map[string]string{"plan": "plan", "workflow": "workflow", "file": "file", "root": "file"}

// Table lists git wf and its commands as a completion script sees them.
func Table(app *cli.App) []Entry {
	app.Setup() // adds help and version
	top := Entry{Usage: app.Usage, Flags: flagsOf(app.Flags)}
	for _, c := range app.Commands {
		if !c.Hidden {
			top.Commands = append(top.Commands, entryOf("", c))
		}
	}
	return flatten(top)
}

func entryOf(parent string, c *cli.Command) Entry {
	entry := Entry{
		Path: strings.TrimSpace(parent + " " + c.Name), Name: c.Name, Usage: c.Usage,
		Flags: flagsOf(append(c.Flags[:len(c.Flags):len(c.Flags)], cli.HelpFlag)),
	}
	if c.Name == "help" {
		entry.Usage, entry.Operands = "list the commands, or explain one", []Operand{{"command", 1, false}}
		return entry
	}
	for _, sub := range c.Subcommands {
		if !sub.Hidden {
			entry.Commands = append(entry.Commands, entryOf(entry.Path, sub))
		}
	}
	entry.Operands = Operands(c.ArgsUsage)
	return entry
}

// flatten lists an entry and all below it.
func flatten(e Entry) []Entry {
	all := []Entry{e}
	for _, c := range e.Commands {
		all = append(all, flatten(c)...)
	}
	return all
}

// flagsOf describes the flags that help shows.
func flagsOf(flags []cli.Flag) []Flag {
	var all []Flag
	for _, f := range flags {
		described, ok := f.(cli.DocGenerationFlag)
		if v, hides := f.(cli.VisibleFlag); !ok || hides && !v.IsVisible() {
			continue
		}
		names := f.Names()
		flag := Flag{Name: names[0], Usage: strings.ReplaceAll(described.GetUsage(), "`", "")}
		for _, n := range names[1:] {
			if len(n) == 1 {
				flag.Short = n
			}
		}
		if described.TakesValue() {
			flag.Value = cmp.Or(valueKinds[flag.Name], "text")
		}
		if s, ok := f.(cli.DocGenerationSliceFlag); ok {
			flag.Repeats = s.IsSliceFlag()
		}
		all = append(all, flag)
	}
	return all
}

// withValue is a pattern of bash that matches the flags whose value is of this kind, in any command.
func withValue(table []Entry, kind string) string {
	var words []string
	for _, c := range table {
		for _, f := range c.Flags {
			if f.Value == kind {
				words = append(words, f.Spellings()...)
			}
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " | ")
}

// Operands reads the operands from the words in which a command's help names them.
func Operands(usage string) []Operand {
	var all []Operand
	other := false // what follows a bar is another word for the same operand
	for _, word := range strings.Fields(usage) {
		if other || word == "|" {
			other = word == "|"
			continue
		}
		name, repeats := strings.CutSuffix(strings.Trim(word, "[]"), "...")
		if kind := operandKinds[name]; kind != "" {
			all = append(all, Operand{kind, len(all) + 1, repeats})
		}
	}
	return all
}

// zshText is a text as a part of an argument of _arguments or _describe, in single quotes: a colon ends a part there,
// and brackets enclose a description.
func zshText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, ":", `\:`, "[", `\[`, "]", `\]`).Replace(s)
	return strings.ReplaceAll(s, "'", `'\''`)
}

// fishText makes a text one word of fish, whose single quotes know two escapes.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
