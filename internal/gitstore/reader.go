package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gitwf/internal/plan"
)

// object is git's answer to a name. Kind is "" if there is no such object; Data is valid until the next answer.
type object struct {
	OID  plan.OID
	Kind string
	Data []byte
}

// errMissing: there is no such object, or not at this moment.
var errMissing = errors.New("is missing")

// want returns why the answer to a name is not an object of that kind; nil if it is one.
func (o object) want(kind, name string) error {
	switch o.Kind {
	case kind:
		return nil
	case "":
		return fmt.Errorf("%s %s %w", kind, name, errMissing)
	}
	return fmt.Errorf("%s is a %s, not a %s", name, o.Kind, kind)
}

// many is the number of requests from which a child of their own pays off, which writes in large pieces.
const many = 400

// reader asks one long-lived `git cat-file --batch` for objects and for the tips of refs.
type reader struct {
	lasting
	buf []byte
}

// each asks for all names, which git resolves, at once, and calls fn with each answer, in order.
func (r *reader) each(ctx context.Context, names []string, fn func(i int, o object) error) error {
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, "\n\r\x00") {
			return fmt.Errorf("%q can't name an object", n)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) >= many:
		return r.eachBuffered(ctx, names, fn)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	done := 0
	for attempt := 0; ; attempt++ {
		err := r.ask(ctx, lines(names[done:]), func(out *bufio.Reader) error {
			return r.answers(out, len(names)-done, func(_ int, o object) error {
				done++
				return fn(done-1, o)
			})
		})
		var refused *callbackError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused):
			return refused.err
		case ctx.Err() != nil:
			return ctx.Err()
		case attempt > 0:
			return r.s.explain(ctx, err)
		}
	}
}

// one is each for one name. Its data stays valid.
func (r *reader) one(ctx context.Context, name string) (found object, err error) {
	err = r.each(ctx, []string{name}, func(_ int, o object) error {
		found = object{o.OID, o.Kind, slices.Clone(o.Data)}
		return nil
	})
	return found, err
}

// callbackError is an error of the caller's own function, after which the child is still usable.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// ask sends names, and has read take the answers. After an error of read's, a callbackError apart, the child is gone:
// nobody wants its other answers.
func (r *reader) ask(ctx context.Context, names io.WriterTo, read func(out *bufio.Reader) error) error {
	c, err := r.child()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.interrupt) // a lazy fetch of a partial clone can take long
	defer stop()
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = names.WriteTo(c.in) }) // if that fails, so do the answers
	err = read(c.out)
	if err != nil && !errors.As(err, new(*callbackError)) {
		r.drop()
	}
	sending.Wait()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return c.failure(err)
	}
	return err
}

// answers reads n answers. If fn fails it still reads the rest, so that the next request finds its own answer.
func (r *reader) answers(out *bufio.Reader, n int, fn func(int, object) error) error {
	defer r.shrink()
	var refused error
	for i := range n {
		oid, kind, size, err := header(out)
		if err != nil {
			return err
		}
		switch {
		case kind == "":
			size = 0
		case size > mostWhole:
			if _, err := io.CopyN(io.Discard, out, size+1); err != nil {
				return noEOF(err)
			}
			if refused == nil {
				refused = &callbackError{fmt.Errorf("%s %s has %d bytes, where at most %d can be read", kind,
					oid, size, mostWhole)}
			}
			continue
		default:
			if int64(cap(r.buf)) < size+1 {
				r.buf = make([]byte, size+1)
			}
			if _, err := io.ReadFull(out, r.buf[:size+1]); err != nil {
				return noEOF(err)
			}
		}
		if refused == nil {
			if err := fn(i, object{OID: oid, Kind: kind, Data: r.buf[:size]}); err != nil {
				refused = &callbackError{err}
			}
		}
	}
	return refused
}

// Documents, trees and commits are read whole: mostWhole bounds one of them, in bytes, as anybody may have made it.
// mostKept is how large a buffer we keep for the next.
const (
	mostWhole = 256 << 20
	mostKept  = 4 << 20
)

func (r *reader) shrink() {
	if cap(r.buf) > mostKept {
		r.buf = nil
	}
}

// header reads "<oid> <kind> <size>", or "<name> missing" and the like, which gives an empty kind.
func header(out *bufio.Reader) (oid plan.OID, kind string, size int64, err error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return "", "", 0, noEOF(err)
	}
	f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(f) != 3 || len(f[0]) != 40 {
		return "", "", 0, nil
	}
	size, err = strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return "", "", 0, fmt.Errorf("git cat-file answered %q", line)
	}
	return plan.OID(f[0]), f[1], size, nil
}

// noEOF turns an end of output where an answer should be into an error: the child died.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) eachBuffered(ctx context.Context, names []string, fn func(int, object) error) error {
	own := reader{}
	err := r.s.Follow(ctx, lines(names), func(out *bufio.Reader) error { return own.answers(out, len(names), fn) },
		append(batchArgs, "--buffer")...)
	if refused, ok := errors.AsType[*callbackError](err); ok {
		return refused.err
	}
	return err
}

func (r *reader) child() (*child, error) {
	if r.c != nil && r.outdated() {
		r.drop()
	}
	err := r.start(batchArgs...)
	return r.c, err
}

func (r *reader) warm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.child()
}

// started reports whether there is a child, whose caches may be stale.
func (r *reader) started() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.c != nil
}
