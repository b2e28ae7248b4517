package gitstore

import (
	"context"
	"io"
)

// Step is how far a long piece of work on files, or on criteria, is.
type Step struct {
	What  string  // is done with them: "Recording files"
	Done  int     // of them
	All   int     // of them
	Bytes int64   // so far
	Part  float64 // of the file under way, from 0 to 1
}

// Fraction is how much of the work is done, from 0 to 1, by files: that is known without a look at any of them.
func (s Step) Fraction() float64 {
	if s.All == 0 {
		return 1
	}
	return min((float64(s.Done)+s.Part)/float64(s.All), 1)
}

type progressKey struct{}

// WithProgress has fn told, again and again, how far work under the context is. It is called from the goroutine that does
// the work and must not take long.
func WithProgress(ctx context.Context, fn func(Step)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// Tracker follows one piece of work on files for whoever asked for it with WithProgress.
type Tracker struct {
	ctx    context.Context
	report func(Step) // nil if nobody asked
	step   Step
}

// Track begins a piece of work on so many files.
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

// File says that one more file is done.
func (t *Tracker) File() {
	t.step.Done++
	t.step.Part = 0
	t.tell()
}

// Follow is the content of a file of that size, whose reading counts. It ends with the context.
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
