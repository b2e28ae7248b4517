package chaostest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Power is a run of `git wf` on a disk with every write and flush recorded, so that the power can be cut at any of
// them.
type Power struct {
	crowd *Crowd
	place *Repo  // its directory has the images
	base  string // the image before the run
	log   []DiskCall
}

// NewPower carries a plan out on a disk with a new, journaled ext4. It fails with ErrNoMount where no file can be a
// disk, and where the recorder does.
func NewPower(ctx context.Context, c *Crowd, record Recorder) (*Power, error) {
	place, err := c.lab.place()
	if err != nil {
		return nil, err
	}
	p := &Power{crowd: c, place: place, base: filepath.Join(place.Dir, "base.img")}
	if err := p.prepare(ctx, record); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close removes the images.
func (p *Power) Close() error { return p.place.Remove() }

func (p *Power) prepare(ctx context.Context, record Recorder) error {
	if err := errors.Join(os.WriteFile(p.base, nil, 0o600), os.Truncate(p.base, DiskBytes)); err != nil {
		return err
	}
	if err := system(ctx, "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", p.base); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	err := p.mounted(ctx, p.base, func(r *Repo) error { return os.CopyFS(r.Dir, os.DirFS(p.crowd.start.Dir)) })
	if err != nil {
		return err
	}
	return p.record(ctx, record)
}

// record carries the plan out on a copy of the base image, and records its calls.
func (p *Power) record(ctx context.Context, record Recorder) (err error) {
	image, err := os.Create(filepath.Join(p.place.Dir, "run.img"))
	if err != nil {
		return err
	}
	defer image.Close()
	if err := copyInto(image, p.base); err != nil {
		return err
	}
	dir := filepath.Join(p.place.Dir, "fuse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	stop, err := record(dir, image)
	if err != nil {
		return err
	}
	defer func() {
		calls, stopErr := stop()
		p.log, err = calls, errors.Join(err, stopErr)
	}()
	return p.mounted(ctx, filepath.Join(dir, "img"), func(r *Repo) error {
		_, err := r.Must(ctx, "run", "--jobs", "2")
		return err
	})
}

// Cut cuts the power at a random moment: the disk keeps everything flushed, and of later writes some, in any order. Cut
// checks that git finds the repository sound, and that the plan ends as it does without a fault.
func (p *Power) Cut(ctx context.Context, rng *rand.Rand) error {
	at := rng.IntN(len(p.log)) + 1
	luck := []float64{0, 0.3, 0.7, 1}[rng.IntN(4)]
	name := filepath.Join(p.place.Dir, "cut.img")
	if err := p.imageAt(name, at, luck, rng); err != nil {
		return err
	}
	err := p.mounted(ctx, name, func(r *Repo) error {
		atWork := filepath.Join(r.Dir, ".git", "at-work")
		if err := errors.Join(r.sound(ctx), os.RemoveAll(atWork), os.Mkdir(atWork, 0o777)); err != nil {
			return err
		}
		return errors.Join(p.crowd.finish(ctx, r), r.sound(ctx))
	})
	if err != nil {
		return fmt.Errorf("the power cut at call %d of %d to the disk, with %.0f%% of what was not flushed: %w", at,
			len(p.log), 100*luck, err)
	}
	return nil
}

// imageAt writes the disk's content after the first n calls.
func (p *Power) imageAt(name string, n int, luck float64, rng *rand.Rand) error {
	const page = 4096 // what a disk writes atomically
	image, err := os.Create(name)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := copyInto(image, p.base); err != nil {
		return err
	}
	flushed := n
	for flushed > 0 && p.log[flushed-1].Data != nil {
		flushed--
	}
	for i, c := range p.log[:n] {
		for at := 0; at < len(c.Data); at += page {
			if i < flushed || rng.Float64() < luck {
				if _, err := image.WriteAt(c.Data[at:min(at+page, len(c.Data))], c.Offset+int64(at)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mounted calls do with the repository on a disk.
func (p *Power) mounted(ctx context.Context, image string, do func(*Repo) error) (err error) {
	dir := filepath.Join(p.place.Dir, "disk")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := system(ctx, "mount", "-o", "loop", image, dir); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	defer func() { err = errors.Join(err, system(context.WithoutCancel(ctx), "umount", dir)) }()
	return do(&Repo{Lab: p.crowd.lab, Dir: filepath.Join(dir, "repo")})
}

func system(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func copyInto(to *os.File, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}
