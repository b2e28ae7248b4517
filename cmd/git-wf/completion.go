package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/shell"
)

// completionFiles holds one script for each shell, a template over the table of commands.
//
//go:embed completion/*.tmpl
var completionFiles embed.FS

// completionCommand prints what install.sh installs, and what the installed scripts ask for at each press of the key.
func (e *env) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Hidden:    true,
		ArgsUsage: "bash|zsh|fish|tasks|plans",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "a shell (bash, zsh, fish), tasks or plans"); err != nil {
				return err
			}
			switch what := c.Args().First(); what {
			case "bash", "zsh", "fish":
				return e.completionScript(what)
			case "tasks":
				e.completeIDs(c, taskIDs)
			case "plans":
				e.completeIDs(c, planIDs)
			default:
				return usage("completion: expected bash, zsh, fish, tasks or plans, found %q", what)
			}
			return nil
		},
	}
}

// completeIDs prints ids, one a line. A key pressed where there are none, or no repository, is no error: it must not
// print into the line that the user is typing.
func (e *env) completeIDs(c *cli.Context, list func(*env, *cli.Context, *gitstore.Store) ([]string, error)) {
	var ids []string
	err := e.withStore(c.Context, func(store *gitstore.Store) (err error) {
		ids, err = list(e, c, store)
		return err
	})
	if err == nil && len(ids) > 0 {
		io.WriteString(e.stdout, strings.Join(ids, "\n")+"\n")
	}
}

func taskIDs(e *env, c *cli.Context, store *gitstore.Store) ([]string, error) {
	id, err := store.Active(c.Context)
	if err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(snap.Plan.Tasks))
	for _, t := range snap.Plan.Tasks {
		ids = append(ids, string(t.TaskID))
	}
	return ids, nil
}

func planIDs(e *env, c *cli.Context, store *gitstore.Store) ([]string, error) {
	refs, err := store.Plans(c.Context)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(refs))
	for _, r := range refs {
		ids = append(ids, string(r.ID))
	}
	return ids, nil
}

// completionScript prints the script that completes git wf in the shell of this name.
func (e *env) completionScript(name string) error {
	t, err := template.New(name+".tmpl").Funcs(template.FuncMap{
		"quote":     shell.Quote,
		"zshText":   zshText,
		"fishText":  fishText,
		"join":      strings.Join,
		"withValue": withValue,
	}).ParseFS(completionFiles, "completion/"+name+".tmpl")
	if err != nil {
		return fmt.Errorf("completion for %s: %w", name, err)
	}
	return t.Execute(e.stdout, completionTable(e.app()))
}

// completionEntry is a command as a completion script sees it. The first of a table is git wf itself.
type completionEntry struct {
	Path     string // the words after git wf: "hooks install"; "" for git wf itself
	Name     string
	Usage    string
	Commands []completionEntry // what may follow it
	Flags    []completionFlag
	Operands []completionOperand // the last one may repeat
}

// Leaf reports whether operands and not commands follow.
func (c completionEntry) Leaf() bool { return len(c.Commands) == 0 }

// Valued are the spellings of the flags that take a value.
func (c completionEntry) Valued() []string {
	var words []string
	for _, f := range c.Flags {
		if f.Value != "" {
			words = append(words, f.Spellings()...)
		}
	}
	return words
}

// Long are the long spellings of the flags.
func (c completionEntry) Long() []string {
	var words []string
	for _, f := range c.Flags {
		words = append(words, "--"+f.Name)
	}
	return words
}

// completionFlag is a flag of a command. Value is what its value is, "" for a flag without one.
type completionFlag struct {
	Name, Short, Usage string
	Value              string
	Repeats            bool
}

// Spellings are the words that set the flag.
func (f completionFlag) Spellings() []string {
	if f.Short == "" {
		return []string{"--" + f.Name}
	}
	return []string{"-" + f.Short, "--" + f.Name}
}

// completionOperand is a positional argument. Kind says what completes it, Nr counts from one.
type completionOperand struct {
	Kind    string
	Nr      int
	Repeats bool
}

// What completes a word. A script has one function for each.
const (
	wordTask    = "task"
	wordPlan    = "plan"
	wordFile    = "file"
	wordRev     = "revision"
	wordCommand = "command"
	wordText    = "text" // nothing does
)

func completionTable(app *cli.App) []completionEntry {
	app.Setup() // adds help and version
	top := completionEntry{Usage: app.Usage, Flags: completionFlags(app.Flags)}
	for _, c := range app.Commands {
		if !c.Hidden {
			top.Commands = append(top.Commands, completionOf("", c))
		}
	}
	return flatten(top)
}

func completionOf(parent string, c *cli.Command) completionEntry {
	entry := completionEntry{
		Path: strings.TrimSpace(parent + " " + c.Name), Name: c.Name, Usage: c.Usage,
		Flags: completionFlags(append(c.Flags[:len(c.Flags):len(c.Flags)], cli.HelpFlag)),
	}
	if c.Name == "help" {
		entry.Usage, entry.Operands = "list the commands, or explain one", []completionOperand{{wordCommand, 1, false}}
		return entry
	}
	for _, sub := range c.Subcommands {
		if !sub.Hidden {
			entry.Commands = append(entry.Commands, completionOf(entry.Path, sub))
		}
	}
	entry.Operands = completionOperands(c.ArgsUsage)
	return entry
}

// flatten lists an entry and all below it.
func flatten(e completionEntry) []completionEntry {
	all := []completionEntry{e}
	for _, c := range e.Commands {
		all = append(all, flatten(c)...)
	}
	return all
}

// completionFlags describes the flags that help shows.
func completionFlags(flags []cli.Flag) []completionFlag {
	var all []completionFlag
	for _, f := range flags {
		described, ok := f.(cli.DocGenerationFlag)
		if v, hides := f.(cli.VisibleFlag); !ok || hides && !v.IsVisible() {
			continue
		}
		names := f.Names()
		flag := completionFlag{Name: names[0], Usage: strings.ReplaceAll(described.GetUsage(), "`", "")}
		for _, n := range names[1:] {
			if len(n) == 1 {
				flag.Short = n
			}
		}
		if described.TakesValue() {
			flag.Value = flagValue(flag.Name)
		}
		if s, ok := f.(cli.DocGenerationSliceFlag); ok {
			flag.Repeats = s.IsSliceFlag()
		}
		all = append(all, flag)
	}
	return all
}

// flagValue is what completes the value of the flag of this name, in every command that has it.
func flagValue(name string) string {
	switch name {
	case "plan":
		return wordPlan
	case "file", "root":
		return wordFile
	}
	return wordText
}

// withValue is a pattern of bash that matches the flags whose value is of this kind, in any command.
func withValue(table []completionEntry, kind string) string {
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

// completionOperands reads the operands from the words in which a command's help names them.
func completionOperands(usage string) []completionOperand {
	var all []completionOperand
	other := false // what follows a bar is another word for the same operand
	for _, word := range strings.Fields(usage) {
		if other || word == "|" {
			other = word == "|"
			continue
		}
		name, repeats := strings.CutSuffix(strings.Trim(word, "[]"), "...")
		kind := ""
		switch name {
		case "TASK":
			kind = wordTask
		case "PLAN":
			kind = wordPlan
		case "PATH", "FILE", "DIR":
			kind = wordFile
		case "COMMIT":
			kind = wordRev
		default:
			continue
		}
		all = append(all, completionOperand{kind, len(all) + 1, repeats})
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
