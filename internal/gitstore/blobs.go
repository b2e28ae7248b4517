package gitstore

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"

	"gitwf/internal/plan"
)

// batchArgs have git answer with objects. Deliverables are streamed: whatever a blob's size, we hold only a buffer of
// it, and these settings make git stream sooner and map less of a pack at a time.
var batchArgs = []string{
	"-c", "core.warnAmbiguousRefs=false", "-c", "core.bigFileThreshold=16m",
	"-c", "core.packedGitWindowSize=16m", "-c", "core.packedGitLimit=64m", "cat-file", "--batch",
}

// blobFunc gets the content of one of several blobs.
type blobFunc func(i int, size int64, content io.Reader) error

// eachBlob passes each blob to fn. It stops at an error of fn's and at a missing or damaged blob. It starts its own
// child, because the long-lived one must answer others meanwhile, however long fn takes.
func (s *Store) eachBlob(ctx context.Context, oids []plan.OID, fn blobFunc) error {
	if err := allOIDs(oids); err != nil || len(oids) == 0 {
		return err
	}
	return s.Follow(ctx, lines(oids), func(out *bufio.Reader) error { return readBlobs(out, oids, fn) },
		append(batchArgs, "--buffer")...)
}

// eachBlob is Store.eachBlob from the long-lived child. fn asks nothing of the repository.
func (r *reader) eachBlob(ctx context.Context, oids []plan.OID, fn blobFunc) error {
	if err := allOIDs(oids); err != nil || len(oids) == 0 {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.ask(ctx, lines(oids), func(out *bufio.Reader) error { return readBlobs(out, oids, fn) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func allOIDs(oids []plan.OID) error {
	for _, oid := range oids {
		if !isOID(oid) {
			return fmt.Errorf("%q is no object id", oid)
		}
	}
	return nil
}

// readBlobs reads git's answers, and skips what fn leaves unread. It checks content against its id, so a copy never
// silently differs from what was approved.
func readBlobs(out *bufio.Reader, oids []plan.OID, fn blobFunc) error {
	for i, oid := range oids {
		_, kind, size, err := header(out)
		if err != nil {
			return err
		}
		if kind != "blob" {
			return &fs.PathError{Op: "read", Path: string(oid), Err: fs.ErrNotExist}
		}
		sum := sha1.New()
		fmt.Fprintf(sum, "blob %d\x00", size)
		content := &io.LimitedReader{R: out, N: size}
		if err := fn(i, size, io.TeeReader(content, sum)); err != nil {
			return err
		}
		if is := hex.EncodeToString(sum.Sum(nil)); content.N == 0 && is != string(oid) {
			return fmt.Errorf("object %s is damaged (git fsck): its content is that of %s", oid, is)
		}
		if _, err := io.CopyN(io.Discard, out, content.N+1); err != nil {
			return noEOF(err)
		}
	}
	return nil
}
