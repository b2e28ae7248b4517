package gitstore

import (
	"context"
	"io"
)

// Step is the progress of long work on files or criteria.
type Step struct {
	What  string  // label, such as "Recording files"
	Done  int     // items done
	All   int     // items in all
	Bytes int64   // so far
	Part  float64 // of the current file, from 0 to 1
}

// Fraction is the share of work done, from 0 to 1, by number of files: that is known without looking at any.
func (s Step) Fraction() float64 {
	if s.All == 0 {
		return 1
	}
	return min((float64(s.Done)+s.Part)/float64(s.All), 1)
}

type progressKey struct{}

// WithProgress makes work under the context report its progress to fn, which must be quick.
func WithProgress(ctx context.Context, fn func(Step)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// Tracker reports the progress of one piece of work to the caller of WithProgress.
type Tracker struct {
	ctx    context.Context
	report func(Step) // nil if nobody asked
	step   Step
}

// Track begins work on the given number of files.
func Track(ctx context.Context, what string, files int) *Tracker {
	report, _ := ctx.Value(progressKey{}).(func(Step))
	t := &Tracker{ctx: ctx, report: report, step: Step{What: what, All: files}}
	t.tell()
	return t
}

func (t *Tracker) tell() {
	if t.report != nil {
		t.report(t.step)
	}
}

// File counts one more file as done.
func (t *Tracker) File() {
	t.step.Done++
	t.step.Part = 0
	t.tell()
}

// Follow wraps the content of a file of that size and counts what is read. It stops when the context ends.
func (t *Tracker) Follow(content io.Reader, size int64) io.Reader {
	return &followed{t: t, content: content, size: size}
}

type followed struct {
	t          *Tracker
	content    io.Reader
	size, read int64
}

func (f *followed) Read(p []byte) (int, error) {
	if err := f.t.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.content.Read(p)
	f.read += int64(n)
	f.t.step.Bytes += int64(n)
	if f.size > 0 {
		f.t.step.Part = min(float64(f.read)/float64(f.size), 1)
	}
	f.t.tell()
	return n, err
}
