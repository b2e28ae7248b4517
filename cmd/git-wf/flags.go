package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The kinds of flags. names are the long name and, after a comma, the short one. A usage has the word for the value in
// backquotes, TEXT without; otherwise says what the value is if the flag is not given.

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

func countFlag(names, usage, otherwise string) cli.Flag {
	name, short, _ := strings.Cut(names, ",")
	return &cli.IntFlag{Name: name, Aliases: strings.Fields(short), Usage: usage, DefaultText: otherwise}
}

// The flags that several commands have.

// planFlag selects another plan than the active one.
func planFlag() cli.Flag {
	return textFlag("plan", "use `PLAN` instead of the active one", "")
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

func quietFlag() cli.Flag {
	return boolFlag("quiet,q", "print no line for each event")
}

func attachFlag() cli.Flag {
	return listFlag("attach,a", "a `FILE` that belongs to what is asked for")
}

func fromFlag() cli.Flag {
	return listFlag("from", "a `PLAN` whose approved deliverables every task gets")
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
	return &cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Value: 1, Action: func(_ *cli.Context, n int) error {
		if n < 1 {
			return usage("--jobs: expected at least 1, found %d", n)
		}
		return nil
	}, Usage: "work on `N` tasks at once; from 2 on, those that only have to be recorded don't count"}
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

// A flagRule says which flags of a command do not go together, each list parted by bars.
type flagRule struct {
	flags string
	with  string // none of flags goes with one of these; "": no two of flags go together
	needs string // each of flags needs one of these
	why   string // what else there is to say
}

// flagRules are those of the commands that have any, by their words.
var flagRules = map[string][]flagRule{
	"add": {{flags: "deliverable|path", why: "a task makes a file, or changes the repository"}},
	"do":  {{flags: "set", needs: "workflow"}},
	"export": {{flags: "format", with: "commit|root|partial|allow-stale|final-only|include-candidates",
		why: "the form of a bundle is fixed"}},
	"graph": {{flags: "format|json"}},
	"init":  {{flags: "strict|no-strict"}},
	"next": {{flags: "claim|renew|release|explain"},
		{flags: "agent", with: "renew|release", why: "a claim keeps its owner"},
		{flags: "worktree", needs: "claim", why: "git wf start TASK makes one for a person"},
		{flags: "message", needs: "release"}},
	"plan": {{flags: "issue", with: "file|amend|edit"}, {flags: "set", needs: "workflow"}, {flags: "check|no-check"},
		{flags: "type|complexity", with: "amend|edit", why: "a plan keeps the type that it began with; a higher " +
			"complexity is said in the plan itself: git wf plan --edit, and complexity: complex at its top"},
		{flags: "partial|session|list|open-only|check|no-check", with: "amend|edit",
			why: "it belongs to a new plan"},
		{flags: "workflow", with: "file|planner|amend|edit|message|type|complexity"},
		{flags: "attach|from", with: "amend|edit",
			why: "a new plan takes it; git wf answer PLAN-1 --file FILE answers what a planner asks"}},
	"land":  {{flags: "push|pr|prs"}, {flags: "one", with: "pr|prs"}, {flags: "auto", needs: "pr|prs"}},
	"prune": {{flags: "delete-archive", with: "keep|dry-run"}},
	"review": {{flags: "approve|reject"},
		{flags: "still-holds", with: "approve|reject|score|criterion|rating|artifact|as|reviewer"}},
	"submit": {{flags: "reply", needs: "claim"}, {flags: "reply|commit|from"},
		{flags: "from", with: "worktree"}},
	"run":           {{flags: "land", with: "json", why: "git wf land --json says afterwards what landed"}},
	"setup":         {{flags: "check|remove|print"}},
	"start":         {{flags: "on|pr"}},
	"status":        {{flags: "cost|watch|as"}},
	"verify":        {{flags: "json|format"}},
	"workflow show": {{flags: "format", needs: "graph"}},
}

// checkFlags refuses flags that do not go together.
func checkFlags(c *cli.Context, rules []flagRule) error {
	for _, r := range rules {
		given, others := givenFlags(c, r.flags), givenFlags(c, r.with)
		if r.with == "" && r.needs == "" && len(given) > 1 {
			given, others = given[:1], given[1:]
		}
		why := ""
		if r.why != "" {
			why = ": " + r.why
		}
		switch {
		case len(given) > 0 && len(others) > 0:
			return usage("--%s and --%s exclude each other%s", given[0], others[0], why)
		case len(given) > 0 && r.needs != "" && len(givenFlags(c, r.needs)) == 0:
			return usage("--%s belongs to --%s%s", given[0], strings.ReplaceAll(r.needs, "|", " or --"), why)
		}
	}
	return nil
}

// givenFlags are those of a list of flags that are given.
func givenFlags(c *cli.Context, flags string) []string {
	return slices.DeleteFunc(strings.Split(flags, "|"), func(name string) bool { return !c.IsSet(name) })
}
