package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// version is set by install.sh and by release builds (-ldflags "-X main.version=...").
var version = "devel"

// run carries out one command line and returns its exit code.
func (e *env) run(ctx context.Context, args []string) int {
	if i := slices.Index(args, "--offline"); i >= 0 && !slices.Contains(args[:i], "--") { // every command takes it
		e.offline, args = true, slices.Delete(slices.Clone(args), i, i+1)
	}
	e.args = args
	app := e.app()
	unknown := ""
	app.CommandNotFound = func(_ *cli.Context, name string) { unknown = name } // asked for its help
	if len(args) > 1 && args[0] == "help" {
		// the option lists those, help alone does not
		if c := app.Command(args[1]); c != nil && len(c.Subcommands) > 0 {
			args = append(slices.Clone(args[1:]), "--help")
		}
	}
	err := app.RunContext(ctx, append([]string{"git wf"}, flagsFirst(app.Commands, args)...))
	if err == nil && unknown != "" {
		err = noCommand(app, unknown)
	}
	if err == nil {
		return fault.ExitDone
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return e.fail(err)
}

const appUsage = "plan work, review it, and land only what was approved"

func (e *env) app() *cli.App {
	app := &cli.App{
		Name:        "git wf",
		HelpName:    "git wf",
		Usage:       appUsage,
		Version:     version,
		HideVersion: false,
		// The evidence for a criterion is a sentence with commas.
		DisableSliceFlagSeparator: true,
		Writer:                    e.stdout,
		ErrWriter:                 e.stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // run maps errors to exit codes
		OnUsageError:              e.usageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return noCommand(c.App, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, g := range e.groups() {
		app.Commands = append(app.Commands, g.commands...)
	}
	e.applyRules("", commandRule{}, app.Commands)
	return app
}

func noCommand(app *cli.App, name string) error {
	return fault.Usage(nearestCommand("git wf", name, app.Commands, ""),
		"%q is no git wf command; git wf help lists them", name)
}

// checkSubcommand refuses the word after a command that only groups others, if it is none of these.
func checkSubcommand(c *cli.Context) error {
	word := c.Args().First()
	if word == "" || c.Command.Command(word) != nil {
		return nil
	}
	names := each.Pick(c.Command.Subcommands, func(sub *cli.Command) (string, bool) {
		return sub.Name, sub.Name != "help"
	})
	name := strings.TrimPrefix(c.Command.HelpName, "git wf ")
	return fault.Usage(nearestCommand("git wf "+name, word, c.Command.Subcommands, "git wf "+name+" --help"),
		"%s takes %s, found %q", name, strings.Join(names[:len(names)-1], ", ")+" or "+names[len(names)-1], word)
}

func (e *env) usageError(c *cli.Context, err error, _ bool) error {
	hint := c.Command.HelpName + " --help"
	if c.Command.HelpName == "git wf" {
		hint = "git wf help" // git takes git wf --help for the manual page
	}
	if flag := nearestFlag(c.Command.Flags, e.args); flag != "" {
		hint = "did you mean --" + flag + "? " + hint
	}
	return fault.Usage(hint, "%w", err)
}

// checkArgs compares the number of arguments with the words in which the help names them: TASK is one, [PLAN] none or
// one, PATH... one or more, [TEXT...] any number; a bar stands between two words for one.
func checkArgs(c *cli.Context) error {
	names := strings.ReplaceAll(c.Command.ArgsUsage, " | ", "|")
	least, most := 0, 0
	for _, word := range strings.Fields(names) {
		if most++; !strings.HasPrefix(word, "[") {
			least++
		}
		if strings.Contains(word, "...") {
			most = math.MaxInt
		}
	}
	n := c.Args().Len()
	if n >= least && n <= most {
		return nil
	}
	if most == 1 {
		names = []string{"at most one ", "one "}[least] +
			strings.ReplaceAll(strings.ToLower(strings.Trim(names, "[]")), "|", " or ")
	}
	return fault.Usage("git wf "+c.Command.Name+" --help", "%s takes %s, but was given %s", c.Command.Name,
		cmp.Or(names, "no arguments"), plain.Count(n, "argument"))
}

// flagsFirst moves a command's flags before its arguments, because git's own commands take them in any order and the
// flag parser stops at the first argument. What follows "--" stays where it is.
func flagsFirst(commands []*cli.Command, args []string) []string {
	for i, name := range args {
		if strings.HasPrefix(name, "-") {
			continue
		}
		for _, c := range commands {
			if !c.HasName(name) {
				continue
			}
			head, rest := args[:i+1:i+1], args[i+1:]
			switch {
			case c.SkipFlagParsing:
				return args
			case len(c.Subcommands) > 0:
				return append(head, flagsFirst(c.Subcommands, rest)...)
			}
			return append(head, optionsFirst(c.Flags, rest)...)
		}
		break
	}
	return args
}

func optionsFirst(flags []cli.Flag, args []string) []string {
	var options, operands []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			operands = append(operands, args[i+1:]...)
			return append(append(options, "--"), operands...)
		case a == "-" || !strings.HasPrefix(a, "-"):
			operands = append(operands, a)
		default:
			options = append(options, a)
			switch {
			case !takesValue(flags, a):
			case i+1 == len(args):
				return options // the parser says what is missing; an argument, or "--", is no value
			default:
				i++
				options = append(options, args[i])
			}
		}
	}
	if len(operands) > 0 {
		options = append(options, "--")
	}
	return append(options, operands...)
}

func takesValue(flags []cli.Flag, arg string) bool {
	name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if inline {
		return false
	}
	for _, f := range flags {
		for _, n := range f.Names() {
			if _, isBool := f.(*cli.BoolFlag); n == name {
				return !isBool
			}
		}
	}
	return false
}
