package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) note(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	if task := e.caller().Task; task != "" {
		return fault.Refused("put it into notes of your reply; git wf agents schema has its form",
			"not from inside the work on %s: a note of an agent comes with its reply", plain.Line(task))
	}
	n, err := e.noteFrom(c.Args().Slice())
	if err != nil {
		return err
	}
	if n.Author, err = eng.Store.Person(c.Context); err != nil {
		return err
	}
	n.By, n.CreatedAt = n.Author.Name, plan.Second(e.now())
	agent, err := e.claimAgent(c, eng.Store, false)
	if err != nil {
		return err
	}
	done, err := eng.Note(c.Context, snap.ID, n, agent)
	if err != nil {
		return err
	}
	return e.say(struct {
		Commit plan.OID `json:"commit"`
		Path   string   `json:"path"`
	}{done.Commit, done.Change.Add[0].Path}, "%s", plain.Line(done.Change.Subject))
}

// noteFrom reads a note off the arguments.
func (e *env) noteFrom(args []string) (n plan.Note, err error) {
	n.Category = "learnings"
	if slices.Contains(n.Categories(), args[0]) {
		n.Category, args = args[0], args[1:]
	}
	if n.Text = strings.Join(args, " "); n.Text == "-" {
		const most = 1 << 20
		data, err := e.readInput("-", most)
		if err != nil {
			return n, err
		}
		n.Text = string(data)
	}
	n.Text = plain.Text(n.Text)
	if why := n.Check(); why != "" {
		return n, fault.Usage("git wf note --help", "%s", why)
	}
	return n, nil
}

func (e *env) notes(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	categories := c.Args().Slice()
	for _, name := range categories {
		if !slices.Contains(plan.Note{}.Categories(), name) {
			return usage("%s is no category of notes; they are %s", plain.Quote(name),
				strings.Join(plan.Note{}.Categories(), ", "))
		}
	}
	notes, err := export.Notes(c.Context, store, snap, 0, categories...)
	if err != nil {
		return err
	}
	return e.printAs("notes", orEmpty(notes), struct {
		PlanID plan.ID
		Notes  []plan.Note
	}{snap.ID, notes})
}
