package hooks

import (
	"context"
	"fmt"
)

// InstallServer makes a bare repository judge pushes, after its own pre-receive hook, and returns what it did. It is
// Install with other hooks: modes, marks and what it leaves alone are the same. It returns ErrNotBare in a repository
// with a worktree.
func InstallServer(ctx context.Context, o Options) (Report, error) {
	in, err := serverInstaller(ctx, o)
	if err != nil {
		return Report{}, fmt.Errorf("install hooks: %w", err)
	}
	if !in.at.bare {
		return Report{}, ErrNotBare
	}
	return in.install(ctx, o.Force)
}

// StatusServer is Status for the hooks of a server.
func StatusServer(ctx context.Context, o Options) ([]HookStatus, error) {
	in, err := serverInstaller(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("look at the hooks: %w", err)
	}
	return in.status(ctx)
}

// ProbeServer is Probe for the hooks of a server.
func ProbeServer(ctx context.Context, o Options) error {
	in, err := serverInstaller(ctx, o)
	if err != nil {
		return fmt.Errorf("probe hooks: %w", err)
	}
	return in.probe(ctx)
}

func serverInstaller(ctx context.Context, o Options) (*installer, error) {
	return newInstaller(ctx, o, serverSpecs())
}
