package export

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"gitwf/internal/gitstore"
)

func TestHolds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has neither links nor modes")
	}
	text := func(path, content string) gitstore.TreeEntry {
		f := blobFile(path, []byte(content))
		return gitstore.TreeEntry{Path: path, Mode: f.Mode, OID: f.OID}
	}
	link := text("link", "a/one")
	link.Mode = "120000"
	tool := text("tool", "run\n")
	tool.Mode = "100755"
	entries := []gitstore.TreeEntry{text("a/one", "1\n"), text("empty", ""), tool, link}
	for _, tt := range []struct {
		name   string
		change func(dir string) error
		want   bool
	}{
		{"the same", func(string) error { return nil }, true},
		{"an empty directory more, which git does not see", func(d string) error { return os.Mkdir(d+"/x", 0o777) }, true},
		{"a file more", func(d string) error { return os.WriteFile(d+"/x", nil, 0o666) }, false},
		{"a file less", func(d string) error { return os.Remove(d + "/empty") }, false},
		{"other content", func(d string) error { return os.WriteFile(d+"/a/one", []byte("2\n"), 0o666) }, false},
		{"another size", func(d string) error { return os.WriteFile(d+"/a/one", []byte("1\n\n"), 0o666) }, false},
		{"another mode", func(d string) error { return os.Chmod(d+"/a/one", 0o755) }, false},
		{"no longer executable", func(d string) error { return os.Chmod(d+"/tool", 0o644) }, false},
		{"only readable, which git does not see", func(d string) error { return os.Chmod(d+"/a/one", 0o444) }, true},
		{"another target", func(d string) error {
			return errors.Join(os.Remove(d+"/link"), os.Symlink("a/two", d+"/link"))
		}, false},
		{"a file for a link", func(d string) error {
			return errors.Join(os.Remove(d+"/link"), os.WriteFile(d+"/link", []byte("a/one"), 0o666))
		}, false},
		{"a link for a file", func(d string) error {
			return errors.Join(os.Rename(d+"/a/one", d+"/../one"), os.Symlink("../../one", d+"/a/one"))
		}, false},
		{"nothing there", os.RemoveAll, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			err := errors.Join(os.MkdirAll(dir+"/a", 0o777), os.WriteFile(dir+"/a/one", []byte("1\n"), 0o666),
				os.WriteFile(dir+"/empty", nil, 0o666),
				os.WriteFile(dir+"/tool", []byte("run\n"), 0o777), os.Symlink("a/one", dir+"/link"), tt.change(dir))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := dirHolds(context.Background(), dir, entries); got != tt.want || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
