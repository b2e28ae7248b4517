package gitstore

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// Deliverables are streamed: whatever a blob's size, memory holds only a buffer of it. Git maps a loose object whole,
// so we read those ourselves. For packed ones these settings make git stream sooner and map less at a time.
var streaming = []string{
	"-c", "core.warnAmbiguousRefs=false", "-c", "core.bigFileThreshold=16m",
	"-c", "core.packedGitWindowSize=16m", "-c", "core.packedGitLimit=64m",
	"cat-file", "--batch", "--buffer",
}

// eachBlob passes each blob to fn, in any order. It stops at an error of fn's and at a missing blob.
func (s *Store) eachBlob(ctx context.Context, oids []plan.OID,
	fn func(i int, size int64, content io.Reader) error) error {
	var packed []int
	var loose looseReader
	for i, oid := range oids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !isOID(oid) {
			return fmt.Errorf("%q is no object id", oid)
		}
		found, err := loose.read(s.loosePath(oid), oid, func(size int64, content io.Reader) error {
			return fn(i, size, content)
		})
		if err != nil {
			return err
		}
		if !found {
			packed = append(packed, i)
		}
	}
	if len(packed) == 0 {
		return nil
	}
	return s.eachPacked(ctx, oids, packed, fn)
}

// eachPacked has git read the blobs that have no loose object here. It starts its own child, because the long-lived one
// must answer others meanwhile.
func (s *Store) eachPacked(ctx context.Context, oids []plan.OID, which []int,
	fn func(int, int64, io.Reader) error) error {
	names := make([]plan.OID, len(which))
	for n, i := range which {
		names[n] = oids[i]
	}
	return s.Follow(ctx, lines(names), func(out *bufio.Reader) error {
		for _, i := range which {
			if err := oneBlob(out, oids[i], func(size int64, content io.Reader) error {
				return fn(i, size, content)
			}); err != nil {
				return err
			}
		}
		return nil
	}, streaming...)
}

// oneBlob reads one answer from git and skips what fn leaves unread.
func oneBlob(out *bufio.Reader, oid plan.OID, fn func(size int64, content io.Reader) error) error {
	_, kind, size, err := header(out)
	if err != nil {
		return err
	}
	if kind != "blob" {
		return noBlob(oid)
	}
	content := &io.LimitedReader{R: out, N: size}
	if err := fn(size, content); err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, out, content.N+1)
	return noEOF(err)
}

func noBlob(oid plan.OID) error {
	return &fs.PathError{Op: "read", Path: string(oid), Err: fs.ErrNotExist}
}

// looseReader reads loose objects, one after the other.
type looseReader struct {
	file *bufio.Reader
	z    io.ReadCloser
	data *bufio.Reader
	sum  hash.Hash
}

// longestHeader exceeds the header of any object: kind, size in bytes and a NUL.
const longestHeader = 32

// read passes the content of the blob in a file to fn; not found, git may have the object elsewhere. It checks the
// content against the object's id, so a copy never silently differs from what was approved.
func (l *looseReader) read(name string, oid plan.OID, fn func(size int64, content io.Reader) error) (found bool,
	err error) {
	f, err := os.Open(name)
	if err != nil {
		return false, nil //nolint:nilerr // packed, borrowed or missing; git says which
	}
	defer f.Close()
	if err := l.open(f); err != nil {
		return true, damagedObject(oid, err)
	}
	kind, size, err := l.header()
	if err != nil {
		return true, damagedObject(oid, err)
	}
	if kind != "blob" {
		return true, noBlob(oid)
	}
	content := &looseContent{l: l, left: size}
	if err := fn(size, content); err != nil {
		if content.err != nil {
			err = damagedObject(oid, content.err)
		}
		return true, err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return true, damagedObject(oid, err)
	}
	if _, err := l.data.ReadByte(); err != io.EOF { // reads the checksum, too
		return true, damagedObject(oid, errors.Join(err, errors.New("it is longer than it says")))
	}
	if sum := hex.EncodeToString(l.sum.Sum(nil)); sum != string(oid) {
		return true, damagedObject(oid, fmt.Errorf("its content is that of %s", sum))
	}
	return true, nil
}

func damagedObject(oid plan.OID, err error) error {
	return fmt.Errorf("object %s is damaged (git fsck): %w", oid, err)
}

func (l *looseReader) open(f *os.File) (err error) {
	const buffer = 64 << 10
	if l.file == nil {
		l.file, l.data, l.sum = bufio.NewReaderSize(nil, buffer), bufio.NewReaderSize(nil, buffer), sha1.New()
	}
	l.file.Reset(f)
	if l.z == nil {
		l.z, err = zlib.NewReader(l.file)
	} else {
		err = l.z.(zlib.Resetter).Reset(l.file, nil)
	}
	l.data.Reset(l.z)
	l.sum.Reset()
	return err
}

func (l *looseReader) header() (kind string, size int64, err error) {
	var head []byte
	for len(head) < longestHeader {
		c, err := l.data.ReadByte()
		if err != nil {
			return "", 0, noEOF(err)
		}
		head = append(head, c)
		if c != 0 {
			continue
		}
		l.sum.Write(head)
		kind, number, _ := strings.Cut(string(head[:len(head)-1]), " ")
		size, err := strconv.ParseInt(number, 10, 64)
		if err == nil && size < 0 {
			err = errors.New("its size is negative")
		}
		return kind, size, err
	}
	return "", 0, errors.New("it has no header")
}

// looseContent is the content of a looseReader's current object.
type looseContent struct {
	l    *looseReader
	left int64
	err  error
}

func (c *looseContent) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.l.data.Read(p[:min(int64(len(p)), c.left)])
	c.l.sum.Write(p[:n])
	c.left -= int64(n)
	if err != nil && (n == 0 || err != io.EOF) {
		c.err = noEOF(err)
		return n, c.err
	}
	return n, nil
}
