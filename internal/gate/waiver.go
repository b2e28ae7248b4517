package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/relpath"
)

// ListWaiver lists a waiver in the manifest of the bundle that its path belongs to, stages that, and returns its path;
// "" if no manifest is staged that can list it.
func ListWaiver(ctx context.Context, store *gitstore.Store, waived string) (string, error) {
	policy, err := store.Policy(ctx)
	if err != nil {
		return "", err
	}
	root, _ := policy.RootOf(waived)
	name, _, _ := strings.Cut(strings.TrimPrefix(waived, root.Path+"/"), "/")
	id := plan.ID(name)
	path := export.BundleDir(root.Path, id) + "/" + export.ManifestName
	if !id.Valid() || !export.InBundle(waived, id) || waived == path {
		return "", nil
	}
	staged, err := store.GitIn(ctx, gitstore.Invocation{Args: []string{"cat-file", "blob", ":" + path},
		Dir: store.WorkTree()})
	if err != nil {
		return "", ctx.Err() // no manifest is staged, so the bundle does not land anyway
	}
	m, err := export.ParseManifest(staged)
	if err != nil {
		return "", nil //nolint:nilerr // nor does one that can't be read; the gate says so
	}
	b, err := WithWaivers(ctx, store, &export.Bundle{Manifest: m}, policy)
	if err != nil {
		return "", err
	}
	oid, err := store.GitIn(ctx, gitstore.Invocation{Args: []string{"hash-object", "-w", "--stdin"},
		Stdin: bytes.NewReader(b.Data)})
	if err != nil {
		return "", err
	}
	if _, err := store.Git(ctx, "update-index", "--cacheinfo",
		"100644,"+strings.TrimSpace(string(oid))+","+path); err != nil {
		return "", err
	}
	file := filepath.Join(store.WorkTree(), filepath.FromSlash(path))
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, staged) { // else somebody is at work on it
			if err := os.WriteFile(file, b.Data, 0o666); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

// WithWaivers lists the policy's waivers in a bundle's manifest, as of the newest of them: what else changes in the
// policy does not change the manifest.
func WithWaivers(ctx context.Context, store *gitstore.Store, b *export.Bundle, policy *gitstore.Policy) (*export.Bundle,
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
			return export.WithWaivers(b, at, w.Commit), nil
		}
	}
	return b, nil
}

// StagedContent is what the index has at an absolute path; a path that HEAD has and the index does not is a removal.
func StagedContent(ctx context.Context, store *gitstore.Store, name string) (policy.Waiver, error) {
	rel, err := filepath.Rel(store.WorkTree(), name)
	if err != nil {
		return policy.Waiver{}, err
	}
	rel = filepath.ToSlash(rel)
	if err := relpath.Check(rel); err != nil {
		return policy.Waiver{}, fault.Usage("", "%w", err)
	}
	spec := ":(top,literal)" + rel
	staged, err := store.Git(ctx, "ls-files", "--stage", "-z", "--", spec)
	if err != nil {
		return policy.Waiver{}, err
	}
	info, path, _ := strings.Cut(strings.TrimRight(staged, "\x00"), "\t")
	if f := strings.Fields(info); len(f) == 3 && path == rel {
		return policy.Waiver{Path: rel, Mode: f[0], OID: plan.OID(f[1])}, nil
	}
	tracked, err := store.Git(ctx, "ls-tree", "--name-only", "HEAD", "--", rel)
	if err != nil || tracked == "" || staged != "" {
		return policy.Waiver{}, fault.Usage("git add -- "+rel, "%s is not a staged file", rel)
	}
	return policy.Waiver{Path: rel}, nil
}

// withWaivers lists the waivers as of a commit of the policy in the manifest. The list lets nothing pass.
func (g *Gate) withWaivers(ctx context.Context, b *export.Bundle, commit plan.OID) (*export.Bundle, error) {
	var r *refusal
	switch err := g.ofPolicy(ctx, commit); {
	case errors.As(err, &r):
		return nil, &refusal{code: r.code, hint: r.hint, message: fmt.Sprintf(
			"its waivers are listed as of the policy %.12s, which is not in the policy's history here", commit)}
	case err != nil:
		return nil, err
	}
	p, err := g.store.PolicyAt(ctx, string(commit))
	if gitstore.IsAbsent(err) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("waivers_commit %.12s: %v", commit, err)}
	}
	return export.WithWaivers(b, p, commit), nil
}

// waivedCriteria reports the criteria that failed and were waived in a bundle that may land.
func (c *bundleCase) waivedCriteria(b *export.Bundle) {
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if item.Review == nil {
			continue
		}
		for _, w := range item.Review.Waived {
			c.report.Waived = append(c.report.Waived, Finding{
				Code: "waived-criterion", Commit: c.commit, Path: c.dir + "/" + item.Files[0].DestPath,
				PlanID: c.planID(), TaskID: item.TaskID, Version: item.Version(),
				Message: fmt.Sprintf("criterion %s of %s %s did not pass; waived by %s: %s", w.ID, item.TaskID,
					item.Version(), w.By, w.Reason),
			})
		}
	}
}

// rules checks each item of a bundle against what the policy demands of the approvals that count: floors, and the
// root's own rules. The plan, or whoever wrote its refs, may have known a laxer policy or none, so the gate checks
// again. The snapshot has only the approvals that count.
func (c *bundleCase) rules(ctx context.Context, b *export.Bundle, snap *gitstore.Snapshot) error {
	p := c.gate.policy
	root, _ := p.RootOf(c.dir)
	versions := make([]export.Version, len(b.Manifest.Items))
	for i, item := range b.Manifest.Items {
		versions[i] = export.Version{TaskID: item.TaskID, Number: plan.VersionNumber(item.Version())}
	}
	lacks, err := export.Lacks(ctx, c.gate.store, snap, p, root, versions)
	if err != nil {
		return err
	}
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if what := lacks[versions[i]]; what != "" {
			ask := snap.State().AskPerson(item.TaskID)
			why, mend, err := c.gate.lacking(ctx, c.planID(), b.Manifest.PlanCommit, ask)
			if err != nil {
				return err
			}
			c.findItem("policy", item, mend,
				"%s %s lacks the approvals that the policy demands below %s/ (%s)%s", item.TaskID, item.Version(),
				root.Path, what, why)
		}
	}
	return nil
}
