package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// The kinds of flags. names are the long name and, after a comma, the short one. A usage has the word for the value in
// backquotes, and otherwise says what the value is if the flag is not given.

func boolFlag(names, usage string) cli.Flag {
	name, short, _ := strings.Cut(names, ",")
	return &cli.BoolFlag{Name: name, Aliases: strings.Fields(short), Usage: usage}
}

func textFlag(names, usage, otherwise string) cli.Flag {
	name, short, _ := strings.Cut(names, ",")
	return &cli.StringFlag{Name: name, Aliases: strings.Fields(short), Usage: usage, DefaultText: otherwise}
}

func listFlag(names, usage string) cli.Flag {
	name, short, _ := strings.Cut(names, ",")
	return &cli.StringSliceFlag{Name: name, Aliases: strings.Fields(short), Usage: usage}
}

func countFlag(name, usage, otherwise string) cli.Flag {
	return &cli.IntFlag{Name: name, Usage: usage, DefaultText: otherwise}
}

// The flags that several commands have.

// planFlag selects another plan than the active one.
func planFlag() cli.Flag {
	return textFlag("plan", "the plan to use instead of the active one", "the active plan")
}

func jsonFlag() cli.Flag {
	return boolFlag("json", "print one JSON document, for programs")
}

// messageFlag is -m, which is a reason or a message in every command.
func messageFlag(what string) cli.Flag {
	return textFlag("message,m", what, "")
}

func forceFlag() cli.Flag {
	return boolFlag("force", "take over a hooks directory that is tracked, or set outside of this repository")
}

func attachFlag() cli.Flag {
	return listFlag("attach,a", "a `FILE` that belongs to what is asked for; may be given more than once")
}

// daysOf is an estimate in person-days, 0 if none is given.
func daysOf(c *cli.Context, name string) (float64, error) {
	days := c.Float64(name)
	if c.IsSet(name) && !(days > 0 && days <= 10_000) { // NaN is neither
		return 0, usage("--%s: expected person-days, more than 0, found %g", name, days)
	}
	return days, nil
}

func jobsFlag() cli.Flag {
	return &cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "work on this many tasks at once", Value: 1}
}

func executorFlag() cli.Flag {
	return textFlag("executor", "the `AGENT` of tasks that name none and have no run line", "wf.executor")
}

func reviewerFlag() cli.Flag {
	return textFlag("reviewer", "the `AGENT` that judges what no list of reviewers gives to somebody", "wf.reviewer")
}

func plannerFlag() cli.Flag {
	return textFlag("planner", "the `AGENT` that makes the plan", "wf.planner")
}
