package views

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// site is a folder "views" with a record beside it.
type site struct {
	*testing.T
	top, record string
}

func newSite(t *testing.T) *site {
	return &site{t, t.TempDir(), filepath.Join(t.TempDir(), "wf", "record.json")}
}

func (s *site) path(name string) string {
	return filepath.Join(s.top, "views", filepath.FromSlash(name))
}

func (s *site) put(name, data string) {
	s.Helper()
	os.MkdirAll(filepath.Dir(s.path(name)), 0o777)
	os.Remove(s.path(name))
	if err := os.WriteFile(s.path(name), []byte(data), 0o666); err != nil {
		s.Fatal(err)
	}
}

func (s *site) has(name, want string) {
	s.Helper()
	data, err := os.ReadFile(s.path(name))
	if want == "" && errors.Is(err, fs.ErrNotExist) {
		return
	}
	if string(data) != want {
		s.Errorf("%s has %q (%v), want %q", name, data, err, want)
	}
}

// sync makes files what they should be; "-" stands for none.
func (s *site) sync(force bool, pairs ...string) (Update, error) {
	s.Helper()
	f, err := openFolder(s.top, "views", s.record, force)
	if err != nil {
		return Update{}, err
	}
	defer f.Close()
	m := files{}
	for i := 0; i < len(pairs); i += 2 {
		if m[pairs[i]] = []byte(pairs[i+1]); pairs[i+1] == "-" {
			m[pairs[i]] = nil
		}
	}
	return f.sync(m)
}

// did syncs and compares what it reports.
func (s *site) did(want string, force bool, pairs ...string) {
	s.Helper()
	u, err := s.sync(force, pairs...)
	if err != nil {
		s.Fatal(err)
	}
	got := strings.ReplaceAll(fmt.Sprint(u.Written, u.Removed, u.Edited, u.Kept), "views/", "")
	if got != want {
		s.Errorf("did %s, want %s", got, want)
	}
}

func TestSyncFollowsTheFiles(t *testing.T) {
	s := newSite(t)
	s.did("[.m g/a g/d/b] [] [] []", false, "g/a", "1", "g/d/b", "2", ".m", "")
	s.has("g/d/b", "2")
	if st, _ := os.Stat(s.path("g/a")); st.Mode().Perm()&0o222 != 0 {
		t.Errorf("g/a is %v", st.Mode())
	}
	s.did("[] [] [] []", false, "g/a", "1", "g/d/b", "2", ".m", "")
	s.put("g/mine", "x")
	s.did("[g/a] [.m g/d/b] [] []", false, "g/a", "2", "g/d/b", "-", ".m", "-")
	if _, err := os.Lstat(s.path("g/d")); err == nil {
		t.Error("an empty directory stays")
	}
	os.Remove(s.path("g/a"))
	s.did("[g/a] [] [] []", false, "g/a", "2")
	s.did("[] [g/a] [] []", false, "g/a", "-")
	s.has("g/mine", "x")
	if _, err := os.Lstat(s.record); err == nil {
		t.Error("a record of nothing stays")
	}
}

func TestSyncLosesNoEdit(t *testing.T) {
	s := newSite(t)
	s.put("g/theirs", "x")
	s.put("g/same", "1")
	s.put("g/empty", "")
	s.did("[g/a g/b g/empty] [] [{g/theirs}] []", false, "g/a", "1", "g/b", "1", "g/theirs", "1", "g/same", "1", "g/empty", "1")
	s.put("g/a", "edited")
	s.put("g/b", "edited")
	s.did("[g/same] [] [{g/a} {g/b}] []", false, "g/a", "2", "g/b", "-", "g/same", "2")
	s.has("g/a", "edited")
	s.did("[] [g/same] [{g/b}] []", false, "g/a", "edited", "g/b", "3", "g/same", "-") // the plan says the same by now
	s.did("[g/a] [] [{g/b}] []", false, "g/a", "4", "g/b", "3")
	s.did("[] [g/b] [] [{g/b g/b.orig}]", true, "g/a", "4", "g/b", "-")
	s.has("g/b.orig", "edited")
	s.has("g/b", "")
	s.put("g/a", "again")
	s.put("g/a.orig", "mine")
	s.did("[g/a] [] [] [{g/a g/a.orig-2}]", true, "g/a", "4")
	s.has("g/a.orig", "mine")
	s.has("g/a.orig-2", "again")
	s.has("g/a", "4")
}

// A killed writer has left some files new and some old, and its record says so.
func TestSyncAfterAKill(t *testing.T) {
	s := newSite(t)
	s.did("[g/a g/b] [] [] []", false, "g/a", "1", "g/b", "1")
	w, err := readRecord(s.record)
	if err != nil {
		t.Fatal(err)
	}
	for name := range w {
		w[name] = append(w[name], hashOf([]byte("2")))
	}
	if err := w.save(s.record); err != nil {
		t.Fatal(err)
	}
	s.put("g/a", "2")
	s.put(".checkout-new", "half")
	s.did("[g/a g/b] [] [] []", false, "g/a", "3", "g/b", "3")
	s.has(".checkout-new", "")
}

func TestSyncFollowsNoLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	outside := t.TempDir()
	for _, tt := range []struct{ name, link, to, want string }{
		{"the directory", "", outside, "views is a symbolic link"},
		{"the directory, inside", "", ".", "views is a symbolic link"},
		{"a directory below", "g/d", outside, "views/g/d is a symbolic link"},
		{"a file", "g/d/a", filepath.Join(outside, "a"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t)
			if tt.link != "" {
				os.MkdirAll(filepath.Dir(s.path(tt.link)), 0o777)
			}
			if err := os.Symlink(tt.to, strings.TrimSuffix(s.path(tt.link), "/")); err != nil {
				t.Fatal(err)
			}
			u, err := s.sync(true, "g/d/a", "1")
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if tt.want == "" && (err != nil || len(u.Kept) != 1) {
				t.Errorf("%+v, %v", u, err)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
	for _, name := range []string{"../x", "g/../../x", "/x"} {
		if _, err := newSite(t).sync(true, name, "1"); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

// Bytes are a program of writers and editors. What a person wrote last and did not give up is still there, under its
// name or next to it; files that nobody edited have the right content.
func FuzzSync(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte{1, 9, 3, 17, 5, 2, 200, 4, 66, 31})
	f.Fuzz(func(t *testing.T, program []byte) {
		s := newSite(t)
		names := []string{"g/a", "g/d/b", ".m"}
		want := map[string][]byte{}
		edits := map[string]bool{} // texts that a person wrote
		for i, op := range program[:min(len(program), 24)] {
			name, text := names[int(op)%3], fmt.Sprintf("%d", i)
			switch op / 3 % 5 {
			case 0:
				want[name] = []byte(text)
			case 1:
				delete(want, name)
			case 2:
				if data, err := os.ReadFile(s.path(name)); err == nil && edits[string(data)] {
					delete(edits, string(data)) // its writer gave it up
				}
				s.put(name, "mine"+text)
				edits["mine"+text] = true
			}
			pairs := []string{}
			for _, n := range names {
				text := "-"
				if want[n] != nil {
					text = string(want[n])
				}
				pairs = append(pairs, n, text)
			}
			u, err := s.sync(op/15%2 == 1, pairs...)
			if err != nil {
				t.Fatal(err)
			}
			edited := map[string]bool{}
			for _, e := range u.Edited {
				edited[strings.TrimPrefix(e.Path, "views/")] = true
			}
			for _, n := range names {
				data, err := os.ReadFile(s.path(n))
				if w, ok := want[n]; ok && !edited[n] && string(data) != string(w) {
					t.Fatalf("step %d: %s has %q, want %q", i, n, data, w)
				} else if !ok && err == nil && !edited[n] && !edits[string(data)] {
					t.Fatalf("step %d: %s is still there", i, n)
				}
			}
			left := map[string]bool{}
			filepath.WalkDir(filepath.Join(s.top, "views"), func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					data, _ := os.ReadFile(p)
					left[string(data)] = true
				}
				return nil
			})
			for _, text := range slices.Sorted(maps.Keys(edits)) {
				if !left[text] {
					t.Fatalf("step %d: the edit %q is lost", i, text)
				}
			}
		}
	})
}
