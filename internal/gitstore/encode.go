package gitstore

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plan"
)

// encode writes the file of a loose object.
func (s *Store) encode(w io.Writer, o *loose) error {
	if o.source == nil {
		return s.compress(w, looseHeader(o.kind, int64(len(o.data))), bytes.NewReader(o.data))
	}
	content, size, err := o.source.open()
	if err != nil {
		return err
	}
	defer content.Close()
	oid, err := s.encodeStream(w, o.kind, size, content)
	if err == nil && oid != o.oid {
		err = errContentChanged
	}
	return err
}

var errContentChanged = errors.New("the content changed while it was read")

// encodeStream writes the file of an object of the given size and returns the object's id.
func (s *Store) encodeStream(w io.Writer, kind plumbing.ObjectType, size int64, content io.Reader) (plan.OID, error) {
	hash := plumbing.NewHasher(kind, size)
	counted := &io.LimitedReader{R: content, N: size + 1}
	if err := s.compress(w, looseHeader(kind, size), io.TeeReader(counted, hash)); err != nil {
		return "", err
	}
	if counted.N != 1 {
		return "", errContentChanged
	}
	return plan.OID(hash.Sum().String()), nil
}

// HashBlob returns the id that content of the given size has as a blob.
func HashBlob(content io.Reader, size int64) (plan.OID, error) {
	hash := plumbing.NewHasher(plumbing.BlobObject, size)
	_, err := io.Copy(hash, content)
	return plan.OID(hash.Sum().String()), err
}

func looseHeader(kind plumbing.ObjectType, size int64) string {
	return kind.String() + " " + strconv.FormatInt(size, 10) + "\x00"
}

func (s *Store) compress(w io.Writer, head string, content io.Reader) error {
	z := s.writing.deflaters.Get().(*zlib.Writer)
	defer s.writing.deflaters.Put(z)
	z.Reset(w)
	if _, err := io.WriteString(z, head); err != nil {
		return err
	}
	if _, err := io.Copy(z, content); err != nil {
		return err
	}
	return z.Close()
}

// isIn reports whether a loose object's file holds the object: a power cut may leave an empty one.
func (o *loose) isIn(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return false
	}
	head := looseHeader(o.kind, int64(len(o.data)))
	found, err := io.ReadAll(io.LimitReader(z, int64(len(head)+len(o.data)+1)))
	return err == nil && string(found) == head+string(o.data)
}
