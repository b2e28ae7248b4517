package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// formatFlags export the plan and its state for another system, instead of the bundle.
func formatFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("format", "instead, write the plan and its state as `FORMAT`: json, yaml, markdown or csv", ""),
		textFlag("output,o", "with --format, write into `FILE`", "standard output"),
	}
}

// exportFormat writes the plan and its state in the form that --format names.
func (e *env) exportFormat(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	v, err := e.views(store)
	if err != nil {
		return err
	}
	state, err := v.State(c.Context, snap)
	if err != nil {
		return err
	}
	var data []byte
	switch format := c.String("format"); format {
	case "json":
		data, err = exchange.JSON(state)
	case "csv":
		data, err = exchange.CSV(state)
	case "markdown", "md":
		if state, err = v.Snapshot(c.Context, snap); err == nil {
			data, err = exchange.Markdown(state)
		}
	case "yaml", "yml":
		data, err = exchange.YAML(state)
	default:
		return fault.Usage("git wf checkout --output DIR writes a session directory",
			"--format: %q is not a form of export; it is json, yaml, markdown or csv", format)
	}
	if err != nil {
		return err
	}
	return e.exportFile(c, data)
}

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
			"write %s: %w", plain.Line(name), reasonOf(err))
	}
	return e.say(exported{name, []string{name}}, "written to %s", plain.Line(name))
}

// exported is what --json prints of an export into files.
type exported struct {
	Output string   `json:"output"`
	Files  []string `json:"files"`
}

// replaceFile writes a regular file whole or not at all, and keeps its mode. It follows links, and writes into devices
// and FIFOs, which a rename would replace.
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
