package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"gitwf/internal/exchange"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// formatFlags choose another form of export than the bundle: the plan and its state, for another system.
func formatFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format",
			Usage: "instead, write the plan and its state as `FORMAT`: json, markdown or csv"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "with --format, write into `FILE`",
			DefaultText: "standard output"},
	}
}

// exportFormat writes the plan and its state in the form that --format names.
func (e *env) exportFormat(c *cli.Context) error {
	if !c.IsSet("format") {
		return usage("--output belongs to --format; a bundle goes below a protected directory (--root DIR)")
	}
	for _, name := range []string{"commit", "root", "partial", "allow-stale", "final-only", "include-candidates"} {
		if c.IsSet(name) {
			return usage("--%s belongs to the bundle; leave it out with --format", name)
		}
	}
	return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
		s, err := e.exchangeState(c, store, snap)
		if err != nil {
			return err
		}
		var data []byte
		switch format := c.String("format"); format {
		case "json":
			data, err = exchange.JSON(s)
		case "csv":
			data, err = exchange.CSV(s)
		case "markdown", "md":
			if s, err = e.exchangeSnapshot(c, store, snap, nil); err == nil {
				data = exchange.Markdown(s)
			}
		default:
			return fault.Usage("git wf checkout --output DIR writes a session directory",
				"--format: %q is not a form of export; it is json, markdown or csv", format)
		}
		if err != nil {
			return err
		}
		return e.exportFile(c, data)
	})
}

// exchangeState is what the writers show of a plan but for the summaries, which JSON and CSV do without: each is two
// documents to read.
func (e *env) exchangeState(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) (exchange.Snapshot, error) {
	state, err := e.state(c.Context, store, snap)
	if err != nil {
		return exchange.Snapshot{}, err
	}
	active, err := store.Active(c.Context)
	return exchange.Snapshot{State: state, Active: err == nil && active == snap.ID}, nil
}

// exchangeSnapshot gathers what the writers show of a plan. known has what was read of it before, and may be nil:
// records are written once, so a version that was approved by the same review need not be read again.
func (e *env) exchangeSnapshot(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	known summaries) (exchange.Snapshot, error) {
	out, err := e.exchangeState(c, store, snap)
	if err != nil {
		return out, err
	}
	out.Summaries = map[plan.TaskID]plandoc.Summary{}
	for _, t := range snap.Plan.Tasks {
		ts := out.State.Tasks[t.TaskID]
		if t.NodeType != plan.Action || t.Planning() || ts.Approved == 0 {
			continue
		}
		r := snap.Records.Of(t.TaskID)
		reading := fmt.Sprintf("%s v%d %d %d", t.TaskID, ts.Approved, len(r.Reviews), len(r.Pruned))
		sum, ok := known[reading]
		if !ok {
			if sum, err = export.Summarize(c.Context, store, snap, t.TaskID, ts.Approved); err != nil {
				return out, err
			}
			if known != nil {
				known[reading] = sum
			}
		}
		out.Summaries[t.TaskID] = sum
	}
	return out, nil
}

// summaries are what was read of approved versions, by task, version, and number of reviews and of pruned versions.
type summaries map[string]plandoc.Summary

// exportFile writes to the file that --output names, or to standard output.
func (e *env) exportFile(c *cli.Context, data []byte) error {
	name := c.String("output")
	if name == "" || name == "-" {
		_, err := e.stdout.Write(data)
		return err
	}
	full := e.absolute(name)
	if err := replaceFile(full, data); err != nil {
		return fault.Usage("--output FILE, in a directory that is there and can be written to",
			"write %s: %w", plan.OneLine(name), reasonOf(err))
	}
	return e.say(c, exported{name, []string{name}}, "written to %s", plan.OneLine(name))
}

// exported is what --json prints of an export into files.
type exported struct {
	Output string   `json:"output"`
	Files  []string `json:"files"`
}

// replaceFile writes a regular file whole or not at all, and keeps its mode. It follows links, and writes into devices
// and FIFOs: a rename would put a file in their place.
func replaceFile(name string, data []byte) error {
	mode := os.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	switch info, err := os.Lstat(name); {
	case err != nil: // there is none yet
	case info.Mode().IsRegular():
		mode = info.Mode().Perm()
	default: // also a link to what is not there yet
		return os.WriteFile(name, data, mode)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".git-wf-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// wantsFormat reports whether export is to write something else than the bundle.
func wantsFormat(c *cli.Context) bool { return c.IsSet("format") || c.IsSet("output") }
