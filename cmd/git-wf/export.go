package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/exchange"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) export(c *cli.Context, store *gitstore.Store) error {
	ctx := c.Context
	if c.Bool("commit") && c.Bool("include-candidates") {
		return usage("--include-candidates can't be committed: it holds what nobody approved")
	}
	id, err := planID(c, store)
	if err != nil {
		return err
	}
	if c.IsSet("format") {
		return e.exportFormat(c, store, id)
	}
	if store.WorkTree() == "" {
		return gitstore.ErrBare
	}
	if _, err := store.Head(ctx); err != nil {
		return err
	}
	if c.Bool("commit") {
		if err := export.CheckIdle(store); err != nil {
			return err // before anything is written
		}
	}
	tip, err := store.Tip(ctx, id)
	if err != nil {
		return fmt.Errorf("read plan %s: %w", id, err)
	}
	if err := audit.Sound(ctx, store, id, tip); err != nil {
		return err
	}
	commit, err := export.PlanCommit(ctx, store, tip)
	if err != nil {
		return err
	}
	snap, err := store.SnapshotAt(ctx, id, commit)
	if err != nil {
		return err
	}
	if changes, documents, _ := export.Kinds(snap.State()); changes && !documents {
		return fault.Refused("git wf land --plan "+string(id),
			"%s has no documents: it changes the repository, and its changes land by git wf land", id)
	}
	policy, err := store.Policy(ctx)
	if err != nil {
		return err
	}
	evidence, err := export.Prove(ctx, store, snap, policy)
	if err != nil {
		return err
	}
	b, err := export.NewShelf(store).Build(ctx, evidence, export.Options{
		Partial: c.Bool("partial"), AllowStale: c.Bool("allow-stale"), FinalOnly: c.Bool("final-only"),
		IncludeCandidates: c.Bool("include-candidates"),
	})
	if err != nil {
		return err
	}
	if b, err = gate.WithWaivers(ctx, store, b, policy); err != nil {
		return err
	}
	for _, u := range evidence.Lost(snap.State().Leaves(snap.Plan.RootTaskID)) {
		fmt.Fprintln(e.stderr, "warning: "+plain.Line(u.String()))
	}
	root := policy.RootPaths()[0]
	if name := c.String("root"); name != "" {
		if !slices.Contains(policy.RootPaths(), name) {
			return fault.Usage("git wf policy protect "+name,
				"--root: %s is not protected; protected are %s", name, strings.Join(policy.RootPaths(), ", "))
		}
		root = name
	}
	shown, end := e.metered(c)
	changed, err := export.Place(shown, store, root, b)
	end()
	if err != nil {
		return err
	}
	var landed plan.OID
	if c.Bool("commit") {
		if landed, err = export.Commit(ctx, store, root, b); err != nil {
			return err
		}
	}
	return e.print("export",
		exportDocument{export.BundleDir(root, id), changed, landed, b.Manifest, len(b.Entries), c.Bool("commit")})
}

// exportDocument is what export --json prints.
type exportDocument struct {
	Path     string          `json:"path"`
	Changed  bool            `json:"changed"`
	Commit   plan.OID        `json:"commit"`
	Manifest export.Manifest `json:"manifest"`

	Files   int  `json:"-"`
	Commits bool `json:"-"` // as was asked for
}

// exportFormat prints the plan and its state in the form that --format names.
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
	case "markdown", "md":
		if state, err = v.Snapshot(c.Context, snap); err == nil {
			data, err = exchange.Markdown(state)
		}
	case "yaml", "yml":
		data, err = exchange.YAML(state)
	default:
		return fault.Usage("git wf checkout --output DIR writes a session directory",
			"--format: %q is not a form of export; it is json, yaml or markdown", format)
	}
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(data)
	return err
}
