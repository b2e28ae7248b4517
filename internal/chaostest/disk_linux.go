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

func (d *disk) readOnly() error {
	return unix.Mount("chaos", d.dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func (d *disk) used() (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(d.dir, &st)
	return int64(st.Blocks-st.Bfree) * st.Bsize, err
}

func (d *disk) unmount() error { return unix.Unmount(d.dir, unix.MNT_DETACH) }

// fullDisk is a copy of a repository on a disk without room.
type fullDisk struct {
	*Repo
	disk  *disk
	place *Repo
}

// onFullDisk copies a repository to a disk with this many bytes left.
func (l *Lab) onFullDisk(of *Repo, left int64) (full *fullDisk, err error) {
	place, err := l.place()
	if err != nil {
		return nil, err
	}
	full = &fullDisk{Repo: &Repo{Lab: l, Dir: filepath.Join(place.Dir, "repo"), Env: of.Env}, place: place}
	if full.disk, err = mountDisk(place.Dir, largeDisk); err != nil {
		return nil, errors.Join(err, place.Remove())
	}
	err = os.CopyFS(full.Dir, os.DirFS(of.Dir))
	used, usedErr := full.disk.used()
	if err = errors.Join(err, usedErr); err == nil {
		err = full.disk.resize(used + left)
	}
	if err != nil {
		full.close()
	}
	return full, err
}

const largeDisk = 256 << 20

func (f *fullDisk) makeRoom() error { return f.disk.resize(largeDisk) }

func (f *fullDisk) close() { _ = errors.Join(f.disk.unmount(), f.place.Remove()) }

// FullDisk carries out a step on a disk with this many bytes left, and continues when there is room again.
func (s *Stages) FullDisk(ctx context.Context, step Step, left int64) error {
	before, err := s.Before[step.Name].Remember(ctx)
	if err != nil {
		return err
	}
	full, err := s.Lab.onFullDisk(s.Before[step.Name], left)
	if err != nil {
		return err
	}
	defer full.close()
	r := full.Repo
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
	if err := full.makeRoom(); err != nil {
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

// ReadOnly lands on a disk that can't be written, and again when it can.
func (l *Landing) ReadOnly(ctx context.Context) (said *Outcome, err error) {
	full, err := l.onFullDisk(&Repo{Lab: l.Lab, Dir: l.Dir, Env: l.Env}, largeDisk/2)
	if err != nil {
		return nil, err
	}
	defer full.close()
	before, err := full.Git(ctx, "rev-parse", "main")
	if err == nil {
		err = full.disk.readOnly()
	}
	if err != nil {
		return nil, err
	}
	if said, err = full.WF(ctx, "land"); err != nil {
		return said, err
	}
	return said, errors.Join(full.makeRoom(), l.again(ctx, full.Repo, before))
}

// FullDisk lands on a disk with this many bytes left: the branch and the files are as before, or all has landed. With
// room again, landing finishes.
func (l *Landing) FullDisk(ctx context.Context, left int64) (said *Outcome, err error) {
	full, err := l.onFullDisk(&Repo{Lab: l.Lab, Dir: l.Dir, Env: l.Env}, left)
	if err != nil {
		return nil, err
	}
	defer full.close()
	r := full.Repo
	before, err := r.Git(ctx, "rev-parse", "main")
	if err != nil {
		return nil, err
	}
	if said, err = r.WF(ctx, "land"); err != nil {
		return said, err
	}
	if said.Exit != 0 && said.Err == "" {
		return said, fmt.Errorf("no word of what is wrong from %s", said)
	}
	if err := errors.Join(full.makeRoom(), r.sound(ctx), l.whole(ctx, r)); err != nil {
		return said, fmt.Errorf("%w\nbefore that: %s", err, said)
	}
	status, err := r.Git(ctx, "status", "--porcelain")
	if err != nil || status != landingStatus {
		return said, fmt.Errorf("with the disk full the worktree became %q: %w\n%s", status, err, said)
	}
	now, err := r.Git(ctx, "rev-parse", "main")
	if err != nil {
		return said, err
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "src")); now == before && err == nil {
		return said, fmt.Errorf("a directory is left behind by %s", said)
	}
	return said, l.again(ctx, r, before)
}
