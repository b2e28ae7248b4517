package gitstore

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// bytesOf returns n incompressible bytes, the same for the same seed.
func bytesOf(seed byte, n int) string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // it never fails
	return string(data)
}

// A blob reads back as written, whether loose, packed or borrowed, or empty.
func TestEachBlob(t *testing.T) {
	contents := []string{"", "small\n", strings.Repeat("text that is compressed\n", 50000), bytesOf(1, 3<<20),
		bytesOf(2, 17<<20)}
	for _, kind := range []string{"loose", "packed", "some packed", "borrowed"} {
		t.Run(kind, func(t *testing.T) {
			dir := newRepo(t)
			var oids []plan.OID
			add := func(content string) {
				write(t, dir, "content", content)
				oids = append(oids, plan.OID(git(t, dir, "hash-object", "-w", "content")))
				git(t, dir, "update-index", "--add", "--cacheinfo",
					"100644,"+string(oids[len(oids)-1])+",f"+strconv.Itoa(len(oids)))
			}
			for i, c := range contents {
				add(c)
				if kind == "some packed" && i == 2 {
					git(t, dir, "repack", "-q", "-a", "-d")
				}
			}
			switch kind {
			case "packed":
				git(t, dir, "repack", "-q", "-a", "-d")
			case "borrowed":
				other := filepath.Join(t.TempDir(), "other")
				git(t, ".", "clone", "-q", "-s", dir, other)
				dir = other
			}
			s := open(t, dir)
			got := make([]string, len(oids))
			err := s.eachBlob(context.Background(), oids, func(i int, size int64, content io.Reader) error {
				data, err := io.ReadAll(content)
				if int64(len(data)) != size {
					t.Errorf("blob %d: %d bytes, said to be %d", i, len(data), size)
				}
				got[i] = string(data)
				return err
			})
			if err != nil || !slices.Equal(got, contents) {
				t.Errorf("error %v; the contents are the same: %v", err, slices.Equal(got, contents))
			}
			// eachBlob stops when told to, within this blob and before the next.
			enough := errors.New("enough")
			slices.Reverse(oids)
			for _, wanted := range []error{enough, nil} {
				count := 0
				err = s.eachBlob(context.Background(), oids, func(int, int64, io.Reader) error { count++; return wanted })
				if wanted == nil && (err != nil || count != len(oids)) || wanted != nil && (!errors.Is(err, enough) || count != 1) {
					t.Errorf("%v: %d blobs, error %v", wanted, count, err)
				}
			}
		})
	}
}

func TestEachBlobMissing(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	tree := plan.OID(git(t, dir, "rev-parse", "HEAD^{tree}"))
	for _, packed := range []bool{false, true} {
		if packed {
			git(t, dir, "gc", "-q", "--prune=now")
		}
		for _, oid := range []plan.OID{tree, plan.OID(strings.Repeat("12", 20))} {
			err := s.eachBlob(context.Background(), []plan.OID{oid}, func(int, int64, io.Reader) error { return nil })
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, packed %v: %v", oid, packed, err)
			}
		}
	}
	err := s.eachBlob(context.Background(), []plan.OID{"../../config"}, func(int, int64, io.Reader) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "is no object id") {
		t.Errorf("no id: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if err := s.eachBlob(stopped, []plan.OID{tree}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A loose object whose content does not match its name is never passed on as if it did.
func TestLooseDamaged(t *testing.T) {
	const content = "what was approved\n"
	deflated := func(text string) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = io.WriteString(z, text) // into memory
		z.Close()
		return b.String()
	}
	whole := deflated("blob 18\x00" + content)
	for _, tt := range []struct {
		name, file string
		fine       bool
	}{
		{"sound", whole, true},
		{"other content", deflated("blob 18\x00" + strings.ToUpper(content)), false},
		{"shorter than it says", deflated("blob 19\x00" + content), false},
		{"longer than it says", deflated("blob 17\x00" + content), false},
		{"cut off", whole[:len(whole)-6], false},
		{"wrong checksum", whole[:len(whole)-1] + "x", false},
		{"empty", "", false},
		{"not compressed", "blob 18\x00" + content, false},
		{"no header", deflated(strings.Repeat("x", 99)), false},
		{"no size", deflated("blob x\x00" + content), false},
		{"negative size", deflated("blob -1\x00" + content), false},
		{"immense size", deflated("blob 99999999999999999999\x00" + content), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, newRepo(t))
			oid := wantedID(t, content)
			if err := os.MkdirAll(filepath.Dir(s.loosePath(oid)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.loosePath(oid), []byte(tt.file), 0o444); err != nil {
				t.Fatal(err)
			}
			for name, each := range map[string]func(context.Context, []plan.OID, blobFunc) error{
				"own child": s.eachBlob, "long-lived child": s.objects.eachBlob,
			} {
				var got []byte
				err := each(context.Background(), []plan.OID{oid}, func(_ int, _ int64, r io.Reader) (err error) {
					got, err = io.ReadAll(r)
					return err
				})
				if tt.fine && (err != nil || string(got) != content) {
					t.Errorf("%s: %q, %v", name, got, err)
				}
				if !tt.fine && err == nil {
					t.Errorf("%s: passed on %q", name, got)
				}
			}
			if data, err := s.ReadBlob(context.Background(), wantedID(t, "")); len(data) > 0 || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the next question gets %q, %v", data, err)
			}
		})
	}
}

func wantedID(t *testing.T, content string) plan.OID {
	t.Helper()
	var s Store
	return s.NewBatch().AddBlob([]byte(content))
}

// Memory does not hold all of many small files, and early ones survive a gc like the others.
func TestAddDirManySmall(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	src := t.TempDir()
	var refs []FileRef
	for i := range 3 * mostHeld / inMemory {
		name := "f" + strconv.Itoa(i)
		write(t, src, name, bytesOf(byte(i), inMemory))
		refs = append(refs, FileRef{Path: "there/" + name, Mode: modeFile, Source: filepath.Join(src, name)})
	}
	var steps []Step
	ctx := WithProgress(context.Background(), func(s Step) { steps = append(steps, s) })
	b := s.NewBatch()
	tree, infos, err := b.AddDir(ctx, "", refs)
	if err != nil || len(infos) != len(refs) || infos[1].Path != "there/f1" {
		t.Fatal(len(infos), err)
	}
	held := 0
	for _, o := range b.order {
		held += len(o.data)
	}
	if held > mostHeld+1<<20 {
		t.Errorf("%d bytes are kept", held)
	}
	if last := steps[len(steps)-1]; last.Done != len(refs) || last.Fraction() != 1 || steps[0].Fraction() != 0 {
		t.Errorf("first step %+v, last %+v", steps[0], last)
	}
	git(t, dir, "prune", "--expire=now") // deletes the temporary files
	if _, err := s.Append(context.Background(), testID, addVersion("IMPL-1", tree),
		AppendOptions{Now: testNow, Batch: b}); err != nil {
		t.Fatal(err)
	}
	sound(t, dir)
	out := t.TempDir()
	if err := s.Export(context.Background(), tree, out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "there", "f7"))
	if err != nil || string(data) != bytesOf(7, inMemory) {
		t.Errorf("f7 is another: %v", err)
	}
}

// An interrupt stops reading a large file, and the batch removes what it wrote.
func TestAddDirInterrupted(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	src := t.TempDir()
	write(t, src, "a", bytesOf(1, 1<<20))
	write(t, src, "big", bytesOf(2, 4<<20))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ctx = WithProgress(ctx, func(s Step) {
		if s.Done == 1 && s.Part > 0.2 {
			stop()
		}
	})
	b := s.NewBatch()
	if _, _, err := b.AddDir(ctx, src, []FileRef{{Path: "a", Mode: modeFile}, {Path: "big", Mode: modeFile}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.Discard()
	left, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "tmp_*"))
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// The reader skips an object too large for a document, and the next answer is the right one.
func TestReaderTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 256 MB")
	}
	dir := newRepo(t)
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(mostWhole+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	huge := git(t, dir, "-c", "core.compression=1", "hash-object", "-w", "huge")
	s := open(t, dir)
	if _, err := s.ReadBlob(context.Background(), plan.OID(huge)); err == nil ||
		!strings.Contains(err.Error(), "at most 268435456 can be read") {
		t.Errorf("error %v", err)
	}
	readme := plan.OID(git(t, dir, "rev-parse", "HEAD:README"))
	if data, err := s.ReadBlob(context.Background(), readme); err != nil || string(data) != "hello\n" {
		t.Errorf("the next answer: %q, %v", data, err)
	}
	if cap(s.objects.buf) > mostKept {
		t.Errorf("%d bytes are kept", cap(s.objects.buf))
	}
}
