package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// Check is Verify's finding about the objects of some histories.
type Check struct {
	Objects int        // objects read
	Absent  int        // objects that a partial clone has left with a remote
	Bad     []plan.OID // missing, unreadable or not what their names say; at most mostBad
	Broken  bool       // the histories can't be listed to the end: some commit or tree is unreadable
}

// Sound reports whether everything that is here can be read.
func (c *Check) Sound() bool { return len(c.Bad) == 0 && !c.Broken }

// mostBad bounds how many damaged objects are named: each may cost a git process, which dies of it.
const mostBad = 200

// Verify reads every object that the commits need and compares each with its name, like git fsck for these histories
// alone. It takes two processes, and memory only for the list of names. It calls tick now and then with the number of
// objects read. In a partial clone it fetches nothing.
func (s *Store) Verify(ctx context.Context, tips []plan.OID, tick func(done, of int)) (*Check, error) {
	c := &Check{}
	if err := allOIDs(tips); err != nil || len(tips) == 0 {
		return c, err
	}
	out, err := runGit(ctx, Invocation{Dir: s.dir, Stdin: lines(tips), Args: []string{
		"rev-list", "--objects", "--no-object-names", "--missing=print", "--stdin",
	}})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.Broken = err != nil
	partial := s.Partial(ctx)
	names := make([]string, 0, len(out)/41)
	for len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		out = rest
		name, missing := strings.CutPrefix(string(line), "?")
		switch {
		case missing && partial:
			c.Absent++
		case missing:
			c.addBad(plan.OID(name))
		case name != "":
			names = append(names, name)
		}
	}
	err = s.scan(ctx, names, func(i int, v scanned) error {
		c.Objects++
		if v.bad {
			c.addBad(plan.OID(names[i]))
		}
		if tick != nil && c.Objects%4096 == 0 {
			tick(c.Objects, len(names))
		}
		return nil
	})
	return c, err
}

func (c *Check) addBad(oid plan.OID) {
	if len(c.Bad) < mostBad {
		c.Bad = append(c.Bad, oid)
	} else {
		c.Broken = true // there are more
	}
}

// scanned is what a scan found under a name. Data is set only for commits and trees, and valid until fn returns.
type scanned struct {
	kind string
	data []byte
	bad  bool // missing, unreadable, or another object than its name says
}

// mostData bounds commits and trees held in memory, in bytes. A larger one, which is not ours, is bad.
const mostData = 64 << 20

// scan reads objects by id and passes each finding to fn. If git dies of one, another git starts after it; so that this
// ends, everything left after mostBad deaths counts as bad.
func (s *Store) scan(ctx context.Context, names []string, fn func(i int, v scanned) error) error {
	done, deaths := 0, 0
	for done < len(names) {
		n, err := s.scanOnce(ctx, names[done:], func(i int, v scanned) error { return fn(done+i, v) })
		done += n
		if err == nil {
			return nil
		}
		if refused, ok := errors.AsType[*callbackError](err); ok {
			return refused.err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next := min(done+1, len(names))
		if deaths++; deaths > mostBad {
			next = len(names)
		}
		for ; done < next; done++ {
			if err := fn(done, scanned{bad: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// scanOnce scans until the end or until git dies, and returns how many answers were whole.
func (s *Store) scanOnce(ctx context.Context, names []string, fn func(i int, v scanned) error) (done int, err error) {
	var buf bytes.Buffer
	err = s.Follow(ctx, lines(names), func(out *bufio.Reader) error {
		for ; done < len(names); done++ {
			v, err := readScanned(out, names[done], &buf)
			if err != nil {
				return err
			}
			if err := fn(done, v); err != nil {
				return &callbackError{err}
			}
		}
		return nil
	}, "-c", "core.warnAmbiguousRefs=false", "cat-file", "--batch", "--buffer")
	return done, err
}

// readScanned reads one answer and compares its hash with its name.
func readScanned(out *bufio.Reader, name string, buf *bytes.Buffer) (v scanned, err error) {
	oid, kind, size, err := header(out)
	if err != nil {
		return v, err
	}
	if kind == "" {
		return scanned{bad: true}, nil
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "%s %d\x00", kind, size)
	keep := (kind == "commit" || kind == "tree") && size <= mostData
	if keep {
		buf.Reset()
		_, err = io.CopyN(buf, out, size)
		sum.Write(buf.Bytes())
	} else {
		_, err = io.CopyN(sum, out, size)
	}
	if err == nil {
		_, err = out.Discard(1)
	}
	if err != nil {
		return v, noEOF(err)
	}
	v.kind = kind
	v.bad = string(oid) != name || hex.EncodeToString(sum.Sum(nil)) != name || kind != "blob" && !keep
	if keep {
		v.data = buf.Bytes()
	}
	return v, nil
}

// Sizes returns the sizes of blobs, in bytes, with one request for all. It omits blobs that are not here.
func (s *Store) Sizes(ctx context.Context, oids []plan.OID) (map[plan.OID]int64, error) {
	if err := s.Prefetch(ctx, oids); err != nil {
		return nil, err
	}
	out, err := s.GitIn(ctx, Invocation{Stdin: lines(oids), Args: []string{
		"cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer",
	}})
	if err != nil {
		return nil, err
	}
	sizes := make(map[plan.OID]int64, len(oids))
	for line := range strings.Lines(string(out)) {
		oid, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			sizes[plan.OID(oid)] = n
		}
	}
	return sizes, nil
}

// Unreachable asks a partial clone's remotes until one answers. It names the last one, and its error.
func (s *Store) Unreachable(ctx context.Context) (remote string, err error) {
	for _, remote = range s.promisors(ctx) {
		_, err = runGit(ctx, Invocation{Dir: s.dir, Args: []string{"ls-remote", "--quiet", "--end-of-options", remote,
			"HEAD"}})
		if err == nil {
			return remote, nil
		}
	}
	return remote, err
}

// Follow runs git with the arguments, feeds it from in, which may be nil, and passes its output to read while git runs,
// however much that is. If read fails, Follow stops git.
func (s *Store) Follow(ctx context.Context, in io.Reader, read func(out *bufio.Reader) error, args ...string) error {
	c, err := startChild(s.dir, args...)
	if err != nil {
		return err
	}
	fed := make(chan error, 1)
	go func() {
		var err error
		if in != nil {
			_, err = io.Copy(c.in, in)
		}
		c.in.Close()
		fed <- err
	}()
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()
	readErr := read(c.out)
	if readErr != nil {
		c.interrupt()
	}
	c.stop()
	feedErr := <-fed // nobody reads from in after this
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF): // else git failed first
		return readErr
	case readErr != nil || !c.cmd.ProcessState.Success():
		return s.explain(ctx, c.failure(readErr))
	case feedErr != nil:
		return fmt.Errorf("write to git %s: %w", args[0], feedErr)
	}
	return nil
}
