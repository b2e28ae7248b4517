package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A file of ours sets core.hooksPath to the dispatcher, and the repository's config includes that file last. The
// setting itself stays with its owner: husky writes it at every npm install without effect, and the dispatcher calls
// the directory that it names.

// includePath is the key of an included file; settingsFile is the file we include, relative to the config.
const (
	includePath  = "include.path"
	settingsFile = "wf/hooks.config"
)

// setHooksPath makes git read its hooks from dir. A later include may override this; then it undoes everything.
func (in *installer) setHooksPath(ctx context.Context, dir string) error {
	file := filepath.Join(in.at.common, filepath.FromSlash(settingsFile))
	if _, err := in.git(ctx, "config", "--file", file, hooksPath, filepath.ToSlash(dir)); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := in.dropInclude(ctx); err != nil { // the last include wins, so move it to the end
		return err
	}
	if _, err := in.git(ctx, "config", "--"+scopeLocal, "--add", includePath, settingsFile); err != nil {
		return fmt.Errorf("set %s: %w", includePath, err)
	}
	in.report.add(hooksPath, "set to "+dir+", by "+file)
	now, err := inspectLayout(ctx, in.git)
	if err == nil && !now.dispatching() {
		err = errors.Join(fmt.Errorf("git still takes its hooks from %s", now.dir), in.removeInclude(ctx))
	}
	return err
}

// removeInclude removes the included file.
func (in *installer) removeInclude(ctx context.Context) error {
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
	if _, err := in.git(ctx, "config", "--"+scopeLocal, "--fixed-value", "--unset-all", includePath,
		settingsFile); err != nil {
		return fmt.Errorf("unset %s: %w", includePath, err)
	}
	return nil
}
