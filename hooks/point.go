package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// core.hooksPath is set to the dispatcher in a file of ours that the repository's config includes as the last thing. The
// setting itself stays with whoever made it: husky makes it anew at every npm install, which changes nothing then, and what it says is
// what the dispatcher calls.

// includePath is the key of an included file, and settingsFile what we include, as seen from the config.
const (
	includePath  = "include.path"
	settingsFile = "wf/hooks.config"
)

// point makes git take its hooks from dir. Git may still disagree, when something else is included later: then all is put back.
func (in *installer) point(ctx context.Context, dir string) error {
	if in.at.scope == scopeWorktree {
		return in.pointWorktree(ctx, dir)
	}
	file := filepath.Join(in.at.common, filepath.FromSlash(settingsFile))
	if _, err := in.git(ctx, "config", "--file", file, hooksPath, filepath.ToSlash(dir)); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := in.dropInclude(ctx); err != nil { // it counts where it stands: last
		return err
	}
	if _, err := in.git(ctx, "config", "--"+scopeLocal, "--add", includePath, settingsFile); err != nil {
		return fmt.Errorf("set %s: %w", includePath, err)
	}
	in.report.add(hooksPath, "set to "+dir+", by "+file)
	return in.pointed(ctx, func() error { return in.unpoint(ctx) })
}

// pointAnew points unless git looks in dir by the included file already. What an earlier version set is put back first: husky's
// next run would take it away.
func (in *installer) pointAnew(ctx context.Context, dir string) error {
	local, err := in.git(ctx, "config", "--"+scopeLocal, "--get", hooksPath)
	if err == nil && samePath(local, dir) {
		if err := in.restore(ctx, "--"+scopeLocal); err != nil {
			return err
		}
	} else if in.at.dispatching() {
		return nil
	}
	return in.point(ctx, dir)
}

// pointWorktree sets core.hooksPath where this working tree alone has it, and remembers what it was.
func (in *installer) pointWorktree(ctx context.Context, dir string) error {
	const scope = "--" + scopeWorktree
	raw, err := in.git(ctx, "config", scope, "--get", hooksPath)
	if err != nil {
		return fmt.Errorf("%s comes from an included file, which overrides the repository's own config: unset it there", hooksPath)
	}
	if err := in.set(ctx, scope, previousPath, raw); err != nil {
		return err
	}
	if err := in.set(ctx, scope, hooksPath, filepath.ToSlash(dir)); err != nil {
		return err
	}
	in.report.add(hooksPath, "set to "+dir)
	return in.pointed(ctx, func() error { return in.restore(ctx, scope) })
}

// pointed checks that git looks in the dispatcher now, and undoes what was done if it does not.
func (in *installer) pointed(ctx context.Context, undo func() error) error {
	now, err := inspect(ctx, in.git)
	if err != nil {
		return err
	}
	if !now.dispatching() {
		return errors.Join(fmt.Errorf("git still takes its hooks from %s", now.dir), undo())
	}
	return nil
}

// unpoint takes the included file away.
func (in *installer) unpoint(ctx context.Context) error {
	if err := in.dropInclude(ctx); err != nil {
		return err
	}
	file := filepath.Join(in.at.common, filepath.FromSlash(settingsFile))
	if err := os.Remove(file); err != nil {
		return nil //nolint:nilerr // there was none
	}
	in.report.add(hooksPath, "no longer set by "+file)
	return nil
}

func (in *installer) dropInclude(ctx context.Context) error {
	out, err := in.git(ctx, "config", "--"+scopeLocal, "-z", "--get-all", includePath)
	if err != nil || !strings.Contains("\x00"+out+"\x00", "\x00"+settingsFile+"\x00") {
		return nil //nolint:nilerr // git exits with 1 where nothing is included
	}
	if _, err := in.git(ctx, "config", "--"+scopeLocal, "--fixed-value", "--unset-all", includePath, settingsFile); err != nil {
		return fmt.Errorf("unset %s: %w", includePath, err)
	}
	return nil
}

// restore gives core.hooksPath of one scope back the value that it had.
func (in *installer) restore(ctx context.Context, scope string) error {
	raw, err := in.git(ctx, "config", scope, "--get", previousPath)
	if err != nil {
		// There was none before.
		if _, err := in.git(ctx, "config", scope, "--unset", hooksPath); err != nil {
			return fmt.Errorf("unset %s: %w", hooksPath, err)
		}
		in.report.add(hooksPath, "unset")
		return nil
	}
	if err := in.set(ctx, scope, hooksPath, raw); err != nil {
		return err
	}
	in.report.add(hooksPath, "set back to "+raw)
	return in.forgetPrevious(ctx, scope)
}

func (in *installer) forgetPrevious(ctx context.Context, scope string) error {
	if _, err := in.git(ctx, "config", scope, "--get", previousPath); err != nil {
		return nil
	}
	if _, err := in.git(ctx, "config", scope, "--unset", previousPath); err != nil {
		return fmt.Errorf("unset %s: %w", previousPath, err)
	}
	return nil
}
