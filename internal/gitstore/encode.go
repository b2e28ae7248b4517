package gitstore

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plan"
)

// encode writes the file of a loose object.
func (s *Store) encode(w io.Writer, o *loose) error {
	if o.source == nil {
		data, err := s.encodeWhole(o.kind, o.data)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
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

// encodeWhole returns the file of an object that is in memory.
func (s *Store) encodeWhole(kind plumbing.ObjectType, data []byte) ([]byte, error) {
	// Leave small files and trees uncompressed: a small file takes one file system block anyway until git packs it, and
	// a tree is mostly object ids, which are random.
	const block, around = 4096, 2 + 5 + 4
	head := looseHeader(kind, int64(len(data)))
	if n := len(head) + len(data); around+n <= block || kind == plumbing.TreeObject && n <= math.MaxUint16 {
		out := make([]byte, 0, around+n)
		out = append(out, 0x78, 1) // zlib
		out = append(out, 1)       // a stored block, and the last one
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n))
		out = append(append(out, head...), data...)
		return binary.BigEndian.AppendUint32(out, adler32.Checksum(out[len(out)-n:])), nil
	}
	var out bytes.Buffer
	err := s.compress(&out, head, bytes.NewReader(data))
	return out.Bytes(), err
}

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
