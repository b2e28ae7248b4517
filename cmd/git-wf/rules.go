package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// commandRule is what holds for a command whoever carries it out.
type commandRule struct {
	// looks: it records or lands something, or shows its status, so it checks whether git still reaches the gate: other
	// tools set core.hooksPath or rewrite hooks, and nobody would notice that nothing is judged any more
	looks bool
	// lands: it leads to what lands, and says so where the gate was never installed, as in a fresh clone
	lands   bool
	outside when // it is refused inside of an attempt, whose run does what there is to do
	person  when // it is a person's decision, and refused to agents
}

// when says with which flags a rule holds: "" never, "*" always, "a|b" with one of these, "!a" without this one.
type when string

func (w when) holds(set func(flag string) bool) bool {
	without, not := strings.CutPrefix(string(w), "!")
	if not {
		return !set(without)
	}
	return w == "*" || w != "" && slices.ContainsFunc(strings.Split(string(w), "|"), set)
}

// decision is the rule of a command that is a person's decision.
var decision = commandRule{looks: true, person: "*"}

// rules are those of the commands that have any, by their words. A command without has that of the one it is part of.
var rules = map[string]commandRule{
	"next": {looks: true}, "submit": {looks: true}, "status": {looks: true}, "switch": {looks: true},
	"share":    {looks: true, outside: "*"},
	"checkout": {looks: true}, "start": {looks: true},
	"plan":  {looks: true, lands: true, outside: "!schema"},
	"issue": {looks: true, outside: "*"}, "issue list": {},
	"add": {looks: true, outside: "*"}, "do": {looks: true, outside: "*"}, "rerun": {looks: true, outside: "*"},
	"pause": {looks: true, outside: "*"}, "resume": {looks: true, outside: "*"},
	"rules add": {looks: true, outside: "*"}, "rules init": {looks: true, outside: "*"},
	"rules learn": {looks: true, outside: "yes"},
	"setup":       {outside: "!check"},
	"doctor":      {outside: "fix|mask"}, "hooks install": {outside: "*"},

	"review": decision, "answer": decision, "waive": decision, "retry": decision, "abandon": decision,
	"split": decision, "undo": decision, "complete": decision, "trust": {person: "!list"},
	"prune": {looks: true, person: "!dry-run"}, "sync": {looks: true, outside: "*"},
	"land": {looks: true, lands: true, person: "*"}, "export": {looks: true, lands: true, person: "commit"},
	"run": {looks: true, lands: true, outside: "*", person: "land"}, "worker": {outside: "*"},

	"policy": decision, "policy show": {looks: true}, "policy log": {looks: true},
	"ui": {person: "!read-only"}, "hooks uninstall": {person: "*"},
	"init": {outside: "!throwaway", person: "no-strict"},
}

// forPerson reports whether one of the command lines that a text names is a person's decision.
func forPerson(text string) bool {
	for _, line := range strings.Split(text, "git wf ")[1:] {
		line, _, _ = strings.Cut(line, "git ")
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,;:)\n", r) })
		if isDecision(words) {
			return true
		}
	}
	return false
}

// isDecision reports whether the command of these words is a person's decision.
func isDecision(words []string) bool {
	set := func(flag string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			w, _, _ = strings.Cut(w, "=")
			return w == "--"+flag || flag == "dry-run" && w == "-n"
		})
	}
	for n := min(2, len(words)); n > 0; n-- {
		if r, ok := rules[strings.Join(words[:n], " ")]; ok {
			return r.person.holds(set)
		}
	}
	return false
}

// withoutPersons leaves out of commands, which semicolons part, those that are a person's decision.
func withoutPersons(commands string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(commands, "; "), forPerson), "; ")
}

// applyRules makes commands do what their rules say, and count their arguments before they run. above are the words
// and the rule of the command that these are part of.
func (e *env) applyRules(above string, from commandRule, commands []*cli.Command) {
	for _, c := range commands {
		name := above + c.Name
		r, ok := rules[name]
		if !ok {
			r = from
		}
		group := len(c.Subcommands) > 0
		counts := !group && !c.SkipFlagParsing && c.Name != "run" // their actions look at the arguments
		c.Before = func(c *cli.Context) error {
			e.json = c.Bool("json")
			e.looks, e.lands = e.looks || r.looks, e.lands || r.lands && !c.Bool("dry-run")
			if counts {
				if err := checkArgs(c); err != nil {
					return err
				}
			}
			if group {
				return checkSubcommand(c) // each of its commands is asked
			}
			if err := checkFlags(c, flagRules[name]); err != nil {
				return err
			}
			return e.refuseOthers(c, name, r)
		}
		c.OnUsageError = e.usageError
		e.applyRules(name+" ", r, c.Subcommands)
	}
}

// warnUnreached says in one line that git does not reach the gate where it was installed, and what fixes it.
func (e *env) warnUnreached(ctx context.Context, store *gitstore.Store) error {
	if !e.looks {
		return nil
	}
	e.looks = false         // once is enough
	store.RemoveDeadLocks() // not in a hook, whose git holds locks itself
	s := e.setup(store)
	if e.lands && !s.Installed() {
		fmt.Fprintln(e.stderr, "warning: git wf is not set up here, so what is not approved may land: git wf init")
	}
	why, err := s.Unreached(ctx)
	if why != "" {
		fmt.Fprintln(e.stderr, plain.Line("warning: git does not reach the gate, so what is not "+
			"approved may land: "+why))
	}
	return err
}
