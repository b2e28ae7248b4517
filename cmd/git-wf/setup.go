package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/vendor"
)

func (e *env) setupCommand() *cli.Command {
	return command("setup VENDOR",
		"have claude, codex, gemini, opencode, cursor or copilot know git wf, or github verify what is pushed",
		e.anywhere(e.setUpVendor),
		boolFlag("check", "only say what is there; exits with 1 unless all is"),
		boolFlag("remove", "take it out again, and nothing else"),
		boolFlag("print", "only print what each file gets"),
		boolFlag("user", "in your own files instead, for every repository"),
		boolFlag("yes,y", "write without asking"), jsonFlag())
}

// setUpVendor shows what becomes of each file before it is written.
func (e *env) setUpVendor(c *cli.Context, store *gitstore.Store) error {
	v, err := vendor.Named(c.Args().First())
	dir, needs, how := v.Dir(e.getenv), v.User, strings.Join(givenFlags(c, "check|print"), "")
	if !c.Bool("user") {
		needs = v.Needs
		if dir = ""; store != nil {
			dir = store.WorkTree()
		}
	}
	if err == nil && dir == "" {
		err = fault.Usage("git wf setup "+v.Name+" --user", "there is no worktree here, whose files a program reads")
	}
	if err != nil {
		return err
	}
	files, err := v.Plan(dir, c.Bool("user"), c.Bool("remove"))
	if err == nil {
		err = e.printAs("setup", files, map[string]any{"Files": files, "How": how})
	}
	if err != nil || how == "print" {
		return err
	}
	failed := func(f vendor.Change) bool { return f.Failed || how == "check" && f.State != "present" }
	does, left := slices.ContainsFunc(files, vendor.Change.Does), slices.ContainsFunc(files, failed)
	switch {
	case how == "check" && left:
		return fault.Refused("git wf setup "+v.Name, "not all of it is there")
	case how == "check":
		return nil
	case !does || c.Bool("yes") && e.caller().Kind != caller.Agent:
	case !e.asks():
		return fault.Waiting("git wf "+strings.Join(e.args, " ")+" --yes",
			"nothing is written yet: nobody is here to be asked")
	default:
		yes, err := e.ask(c.Context, "Write this in "+plain.Line(dir)+"? [y/N] ")
		if err != nil || !yes {
			return cmp.Or(err, errWaiting)
		}
	}
	err = vendor.Write(dir, files)
	switch {
	case err != nil:
		return err
	case left:
		return fault.Refused("git wf setup "+v.Name+" --print shows what to add by hand", "not all is written")
	case !does:
		e.tell("nothing to do")
	case !c.Bool("remove"):
		e.tell("set up; start %s anew\nnote: %s", v.Name, strings.Join(needs, "\nnote: "))
	}
	return nil
}
