package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNoMount says that this user or this system may not make a small file system.
var ErrNoMount = errors.New("a small file system can't be mounted here")

// disk is a file system in memory that can be resized.
type disk struct{ dir string }

func mountDisk(dir string, bytes int64) (*disk, error) {
	if err := unix.Mount("chaos", dir, "tmpfs", 0, size(bytes)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	return &disk{dir}, nil
}

func size(bytes int64) string { return fmt.Sprintf("size=%d", bytes) }

func (d *disk) resize(bytes int64) error {
	return unix.Mount("chaos", d.dir, "tmpfs", unix.MS_REMOUNT, size(bytes))
}

func (d *disk) used() (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(d.dir, &st)
	return int64(st.Blocks-st.Bfree) * st.Bsize, err
}

func (d *disk) unmount() error { return unix.Unmount(d.dir, unix.MNT_DETACH) }

// FullDisk carries out a step on a disk with this many bytes left, and continues when there is room again.
func (s *Stages) FullDisk(ctx context.Context, step Step, left int64) error {
	const large = 256 << 20
	place, err := s.Lab.place()
	if err != nil {
		return err
	}
	defer place.Remove()
	d, err := mountDisk(place.Dir, large)
	if err != nil {
		return err
	}
	defer d.unmount()
	r := &Repo{Lab: s.Lab, Dir: filepath.Join(place.Dir, "repo")}
	if err := os.CopyFS(r.Dir, os.DirFS(s.Before[step.Name].Dir)); err != nil {
		return err
	}
	before, err := r.Remember(ctx)
	if err != nil {
		return err
	}
	used, err := d.used()
	if err != nil {
		return err
	}
	if err := d.resize(used + left); err != nil {
		return fmt.Errorf("make the disk full: %w", err)
	}
	o, err := r.WF(ctx, step.Args...)
	if err != nil {
		return err
	}
	if o.Exit != 0 && o.Err == "" && !slices.Contains(step.Exits, o.Exit) {
		return fmt.Errorf("no word of what is wrong from %s", o)
	}
	if err := r.sound(ctx); err != nil {
		return fmt.Errorf("with the disk full: %w", err)
	}
	if err := d.resize(large); err != nil {
		return err
	}
	if err := r.Judge(ctx, before, o); err != nil {
		return err
	}
	if err := r.Later(); err != nil {
		return err
	}
	return s.CarryOn(ctx, r)
}
