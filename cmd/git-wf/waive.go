package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) waiveCommand() *cli.Command {
	return &cli.Command{
		Name:      "waive",
		Usage:     "in an emergency, let one thing pass that was not approved",
		ArgsUsage: "PATH | TASK",
		Description: "Of a path, exactly the content that is staged may land below a protected directory. Of a task, one criterion of\n" +
			"the newest version passes. Both are records with your name and the reason, and show wherever the gate reports.",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(), messageFlag("why; needed"),
			&cli.StringFlag{Name: "criterion", Usage: "of a task, the criterion that passes"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "one path or task"); err != nil {
				return err
			}
			if strings.TrimSpace(c.String("message")) == "" {
				return usage("a waiver needs a --message")
			}
			return e.withStore(c.Context, func(store *gitstore.Store) error { return e.waive(c, store) })
		},
	}
}

func (e *env) waive(c *cli.Context, store *gitstore.Store) error {
	policy, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	if policy.NoWaivers {
		return fault.Refused("git wf policy show", "the policy allows no waivers")
	}
	decision, _, err := e.decision(c, store)
	if err != nil {
		return err
	}
	if task := plan.TaskID(c.Args().First()); task.Valid() {
		return e.waiveCriterion(c, store, task, decision)
	}
	return e.waivePath(c, store, decision)
}

func (e *env) waiveCriterion(c *cli.Context, store *gitstore.Store, task plan.TaskID, d plan.Decision) error {
	if c.String("criterion") == "" {
		return usage("%s: say which criterion passes, with --criterion", task)
	}
	id, err := planID(c, store)
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	done, err := eng.Waive(c.Context, id, task, c.String("criterion"), d)
	if err != nil {
		return err
	}
	return e.printDecision(c, id, task, done, "")
}

// waivePath records the staged content of a path, or its removal.
func (e *env) waivePath(c *cli.Context, store *gitstore.Store, d plan.Decision) error {
	if store.WorkTree() == "" {
		return gitstore.ErrBare
	}
	w, err := e.stagedContent(c.Context, store, c.Args().First())
	if err != nil {
		return err
	}
	w.By, w.Reason, w.CreatedAt = d.By, d.Reason, d.CreatedAt
	subject := fmt.Sprintf("waive %s (%.12s)", w.Path, w.OID)
	if w.OID == "" {
		subject = "waive the removal of " + w.Path
	}
	err = e.appendPolicy(c, store, subject, func(p *gitstore.Policy) (plan.Change, error) {
		return plan.Change{Body: w.Reason, Add: []plan.Entry{{Path: p.NextRecord("waivers"), Data: plan.Document(w)}}}, nil
	})
	if err != nil {
		return err
	}
	return e.listWaiver(c.Context, store, w.Path)
}

// listWaiver lists the waiver in the manifest of the bundle that the path belongs to, which is staged as it is.
func (p printer) listWaiver(ctx context.Context, store *gitstore.Store, waived string) error {
	policy, err := store.Policy(ctx)
	if err != nil {
		return err
	}
	root, _ := policy.RootOf(waived)
	name, _, _ := strings.Cut(strings.TrimPrefix(waived, root.Path+"/"), "/")
	id := plan.ID(name)
	path := export.BundleDir(root.Path, id) + "/" + export.ManifestName
	if !id.Valid() || !export.InBundle(waived, id) || waived == path {
		return nil
	}
	staged, err := store.GitIn(ctx, gitstore.Invocation{Args: []string{"cat-file", "blob", ":" + path},
		Dir: store.WorkTree()})
	if err != nil {
		return ctx.Err() // no manifest is staged, so the bundle does not land anyway
	}
	m, err := export.ParseManifest(staged)
	if err != nil {
		return nil //nolint:nilerr // nor does one that can't be read; the gate says so
	}
	b, err := withWaivers(ctx, store, &export.Bundle{Manifest: m}, policy)
	if err != nil {
		return err
	}
	oid, err := store.GitIn(ctx, gitstore.Invocation{Args: []string{"hash-object", "-w", "--stdin"},
		Stdin: bytes.NewReader(b.Data)})
	if err != nil {
		return err
	}
	if _, err := store.Git(ctx, "update-index", "--cacheinfo",
		"100644,"+strings.TrimSpace(string(oid))+","+path); err != nil {
		return err
	}
	file := filepath.Join(store.WorkTree(), filepath.FromSlash(path))
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, staged) { // else somebody is at work on it
			if err := os.WriteFile(file, b.Data, 0o666); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(p.stdout, plan.OneLine(path+" lists the waiver, and is staged"))
	return nil
}

// withWaivers lists the policy's waivers in a bundle's manifest, as of the newest of them: what else changes in the
// policy does not change the manifest.
func withWaivers(ctx context.Context, store *gitstore.Store, b *export.Bundle, policy *gitstore.Policy) (*export.Bundle,
	error) {
	all, err := audit.Waivers(ctx, store, policy.Commit)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if export.InBundle(w.Path, b.Manifest.PlanID) {
			at, err := store.PolicyAt(ctx, string(w.Commit))
			if err != nil {
				return nil, err
			}
			return export.WithWaivers(b, at, w.Commit)
		}
	}
	return b, nil
}

// stagedContent is what the index has at a path; a path that HEAD has and the index does not is a removal.
func (e *env) stagedContent(ctx context.Context, store *gitstore.Store, name string) (plan.Waiver, error) {
	name = e.absolute(name)
	rel, err := filepath.Rel(store.WorkTree(), name)
	if err != nil {
		return plan.Waiver{}, err
	}
	rel = filepath.ToSlash(rel)
	if err := plan.CheckPath(rel); err != nil {
		return plan.Waiver{}, fault.Usage("", "%w", err)
	}
	spec := ":(top,literal)" + rel
	staged, err := store.Git(ctx, "ls-files", "--stage", "-z", "--", spec)
	if err != nil {
		return plan.Waiver{}, err
	}
	info, path, _ := strings.Cut(strings.TrimRight(staged, "\x00"), "\t")
	if f := strings.Fields(info); len(f) == 3 && path == rel {
		return plan.Waiver{Path: rel, Mode: f[0], OID: plan.OID(f[1])}, nil
	}
	tracked, err := store.Git(ctx, "ls-tree", "--name-only", "HEAD", "--", rel)
	if err != nil || tracked == "" || staged != "" {
		return plan.Waiver{}, fault.Usage("git add -- "+rel, "%s is not a staged file", rel)
	}
	return plan.Waiver{Path: rel}, nil
}
