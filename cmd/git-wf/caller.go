package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// caller says who runs the command.
func (e *env) caller() caller.Caller { return e.origin().Find() }

// asks reports whether a question would reach a person.
func (e *env) asks() bool { return e.interactive && e.caller().Kind != caller.Agent }

// refuseOthers refuses agents what is a person's decision and, inside of an attempt, what belongs outside of it.
func (e *env) refuseOthers(c *cli.Context, name string, r commandRule) error {
	decision, who := r.person.holds(c.Bool), e.caller
	if !decision && (!r.outside.holds(c.Bool) || who().Task == "") {
		return nil
	}
	if who().Kind == caller.Person {
		e.decides = true
		return nil
	}
	store, err := gitstore.Open(c.Context, e.dir)
	if err != nil {
		return e.refuse(c, nil, name)
	}
	defer store.Close()
	if ok, err := e.mayDecide(c.Context, store); ok || err != nil {
		return err
	}
	whole := !c.Bool("still-holds") && !c.IsSet("reviewer") // the others are said in the user's name
	if p, err := store.Policy(c.Context); name == "review" && whole && err == nil && who().Task == "" {
		e.inOwnName = slices.Contains(p.AgentRoles[agentName(who())], c.String("as"))
	}
	if e.inOwnName {
		return nil
	}
	return e.refuse(c, store, name)
}

// mayDecide reports whether who runs the command passes for a person here: a person, whoever it is in a throwaway
// repository, and a job whose owner says so where no repository can: in the configuration of the user or the system, or
// on git's command line.
func (e *env) mayDecide(ctx context.Context, store *gitstore.Store) (ok bool, err error) {
	kind := e.caller().Kind
	if kind == caller.Person {
		return true, nil
	}
	if ok, err = store.Throwaway(ctx); ok || err != nil || kind == caller.Agent {
		return ok, err
	}
	settings, err := store.Git(ctx, "config", "--show-scope", "--list")
	for line := range strings.Lines(settings) {
		scope, setting, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if value, is := strings.CutPrefix(setting, "wf.person="); is && scope != "local" && scope != "worktree" {
			ok = value == "ci"
		}
	}
	return ok, err
}

// refuse notes what was tried, and says who decides it and how. store is nil outside of a repository.
func (e *env) refuse(c *cli.Context, store *gitstore.Store, name string) error {
	who, line := e.caller(), e.commandToPaste(c, store)
	said := fmt.Sprintf("git wf %s is a person's decision, and %s runs it: %s", name, who.Name, who.Seen)
	hint := "a person runs it in a terminal of their own, which no agent began (exit leaves such a shell):\n  " + line
	switch {
	case who.Task != "":
		said = fmt.Sprintf("not from inside the work on %s: this is a person's decision (%s)", who.Task, who.Seen)
	case who.Kind == caller.Unattended:
		said = fmt.Sprintf("git wf %s is a person's decision, and nobody is here: there is no terminal", name)
		hint += "\nor, where a job decides for you: git config --global wf.person ci"
	}
	err := errors.New(said)
	if store != nil {
		err = errors.Join(err, e.noteTry(store, said, who.Session, line))
	}
	return &fault.Error{Code: fault.ExitPerson, Hint: hint, Err: err}
}

// noteTry notes what an agent tried, for whoever decides.
func (e *env) noteTry(store *gitstore.Store, said, session, line string) error {
	return engine.AppendLines(triesIn(store), plain.Line(fmt.Sprintf("%s: %s (session %q): %.1000s", clock(e.now()),
		said, session, line)))
}

// commandToPaste is the command line as a person types it, from any directory and whichever plan is active then.
func (e *env) commandToPaste(c *cli.Context, store *gitstore.Store) string {
	words := []string{"git", "-C", shell.Word(e.dir), "wf", e.args[0]}
	if dir := e.getenv("GIT_DIR"); dir != "" {
		words = slices.Insert(words, 1, "--git-dir="+shell.Word(dir))
	}
	takesPlan := slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == "plan" })
	if takesPlan && !c.IsSet("plan") && store != nil && !(c.Command.ArgsUsage == "[PLAN]" && c.Args().Present()) {
		if id, err := store.Active(c.Context); err == nil {
			words = append(words, "--plan", string(id))
		}
	}
	return strings.Join(append(words, each.Of(e.args[1:], shell.Word)...), " ")
}

// triesIn is the file of what others have tried to decide. That is no event of a plan: an agent could fill a history
// that nobody can shorten, and half of the commands are about no plan.
func triesIn(store *gitstore.Store) string { return filepath.Join(store.CommonDir(), "wf", "tries") }

// noteTries shows whoever decides what others have tried, once.
func (e *env) noteTries(store *gitstore.Store) error {
	file := triesIn(store)
	data, err := os.ReadFile(file)
	if !e.decides || err != nil {
		return nil // there are none
	}
	e.decides = false
	e.printTries("note: ", data)
	return errors.Join(engine.AppendLines(file+".seen", string(data)), os.Remove(file))
}

// printTries prints the newest of the tries in a file.
func (p printer) printTries(lead string, file []byte) {
	tries := strings.FieldsFunc(string(file), func(r rune) bool { return r == '\n' })
	for _, t := range tries[max(len(tries)-mostShown, 0):] {
		fmt.Fprintln(p.stderr, lead+plain.Line(t))
	}
}

// maker is who hands something in, or reviews: the person, or an agent that no run has started under its own name.
func (e *env) maker(ctx context.Context, store *gitstore.Store) (plan.Actor, error) {
	if who := e.caller(); who.Kind == caller.Agent && who.Task == "" {
		return engine.AgentActor(agentName(who)), nil
	}
	return store.Person(ctx)
}

// agentName is the agent's name where records have it; a mark may say anything.
func agentName(who caller.Caller) string {
	if engine.CheckAgentName(who.Name) != "" {
		return "agent"
	}
	return who.Name
}

// fail prints an error; where an agent reads it, a hint says that its commands are not for it.
func (e *env) fail(err error) int {
	code, hint := explain(err)
	if code != fault.ExitPerson && forPerson(hint) && e.caller().Kind == caller.Agent {
		err = &fault.Error{Code: code, Hint: "for a person: " + hint, Err: err}
	}
	return e.printer.fail(err)
}
