package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"gitwf/hooks"
	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Setup is what connects a repository to the gate.
type Setup struct {
	Store   *gitstore.Store
	Program string              // absolute path of git-wf, for the hooks
	Getenv  func(string) string // the user's environment
}

// Options are what the hooks of this repository are made of: the policy's directories, and whether strict mode is on.
func (s Setup) Options(ctx context.Context, force bool) (hooks.Options, error) {
	policy, err := s.Store.Policy(ctx)
	if err != nil {
		return hooks.Options{}, err
	}
	strict, err := s.Strict(ctx)
	if err != nil {
		return hooks.Options{}, err
	}
	return hooks.Options{
		Git: s.Store.Git, Program: s.Program, Roots: policy.Watched(), Policy: string(policy.Commit), Force: force,
		Strict: strict,
	}, nil
}

// Install installs the hooks and proves that git reaches them. A bare repository has no client hooks: that is wrong
// usage.
func (s Setup) Install(ctx context.Context, force bool) (hooks.Report, error) {
	o, err := s.Options(ctx, force)
	if err != nil {
		return hooks.Report{}, err
	}
	report, err := hooks.Install(ctx, o)
	switch {
	case errors.Is(err, hooks.ErrBare):
		return hooks.Report{}, fault.Usage("", "%w", err)
	case err != nil:
		return report, err
	}
	if err := hooks.Probe(ctx, o.Git, report.Hooks); err != nil {
		return report, err
	}
	_, err = s.commonSighting().Remember(ctx, o.Git, report.Hooks)
	return report, err
}

// Server sets up a bare repository: its pre-receive hook judges each push as a whole.
func (s Setup) Server(ctx context.Context, force bool) (hooks.Report, error) {
	o, err := s.Options(ctx, force)
	if err != nil {
		return hooks.Report{}, err
	}
	o.Server = true
	report, err := hooks.Install(ctx, o)
	if errors.Is(err, hooks.ErrNotBare) {
		return report, fault.Usage("", "%w", err)
	}
	if err != nil {
		return report, err
	}
	if _, err := s.settlePolicy(ctx); err != nil {
		return report, err
	}
	for _, key := range serverSettings {
		did, err := s.setTrue(ctx, key)
		if err != nil {
			return report, err
		}
		if did {
			report.Actions = append(report.Actions, hooks.Action{Path: key, Did: "set to true"})
		}
	}
	return report, hooks.Probe(ctx, o.Git, report.Hooks)
}

// Uninstall removes the hooks and the settings that init has made, and restores what was there.
func (s Setup) Uninstall(ctx context.Context) (hooks.Report, error) {
	o, err := s.Options(ctx, false)
	if err != nil {
		return hooks.Report{}, err
	}
	report, err := hooks.Uninstall(ctx, o)
	if err != nil {
		return report, err
	}
	gone, err := s.unsettle(ctx)
	for _, key := range gone {
		report.Actions = append(report.Actions, hooks.Action{Path: key, Did: "as it was before git wf init"})
	}
	if err != nil {
		return report, err
	}
	return report, errors.Join(s.forgetSightings(), s.clearLocks(ctx))
}

// Follow puts the protected directories into installed hooks, which answer without reading the policy.
func (s Setup) Follow(ctx context.Context) error {
	if s.Store.WorkTree() == "" {
		return nil
	}
	o, err := s.Options(ctx, false)
	if err != nil {
		return err
	}
	installed, err := hooks.Status(ctx, o)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(installed, func(h hooks.HookStatus) bool { return h.Mode != "" }) {
		_, err = s.Install(ctx, false)
	}
	return err
}

// Expect makes the hooks look also at the directories of a policy that is about to arrive without git wf: from the next
// command on they must answer by it. If it does not arrive after all, they ask the program once too often. failed says
// why the hooks could not be written, which need not stop the policy.
func (s Setup) Expect(ctx context.Context, policy plan.OID) (failed, err error) {
	next, err := s.Store.PolicyAt(ctx, string(policy))
	if err != nil {
		return nil, err
	}
	o, err := s.Options(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, root := range next.Watched() {
		o.Roots = each.Add(o.Roots, root)
	}
	_, failed = hooks.Install(ctx, o)
	return failed, nil
}

// clearLocks removes the directory of locks if nothing is recorded that they could protect. No move of a ref relies on
// them: they only make writers wait for each other.
func (s Setup) clearLocks(ctx context.Context) error {
	refs, err := s.Store.Git(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "refs/workflow",
		"refs/workflow-claims")
	if err != nil || refs != "" {
		return err
	}
	dir := filepath.Join(s.Store.CommonDir(), "wf")
	if err := os.RemoveAll(filepath.Join(dir, "lock")); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		return os.Remove(dir)
	}
	return nil
}
