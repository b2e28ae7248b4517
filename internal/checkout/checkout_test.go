package checkout

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

type site struct {
	*testing.T
	Place
}

func newSite(t *testing.T) *site {
	return &site{t, Place{Top: t.TempDir(), Dir: "views", Record: filepath.Join(t.TempDir(), "record")}}
}

func (s *site) path(name string) string {
	return filepath.Join(s.Top, s.Dir, filepath.FromSlash(name))
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

func files(pairs ...string) map[string][]byte {
	m := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = []byte(pairs[i+1])
	}
	return m
}

// sync brings the group g up to date and compares what it reports.
func (s *site) sync(f map[string][]byte, o Options, want string) Result {
	s.Helper()
	r, err := s.Sync("g", f, o)
	if err != nil {
		s.Fatal(err)
	}
	var edited, kept []string
	for _, e := range r.Edited {
		edited = append(edited, e.Name)
	}
	for _, k := range r.Kept {
		kept = append(kept, k.Name+">"+k.Copy)
	}
	if got := fmt.Sprint(r.Written, r.Removed, edited, kept); got != want {
		s.Errorf("did %s, want %s", got, want)
	}
	return r
}

func always(string, []byte) bool { return true }

func TestSyncFollowsTheFiles(t *testing.T) {
	s := newSite(t)
	s.sync(files("g/a", "1", "g/d/b", "2", ".m", ""), Options{}, "[.m g/a g/d/b] [] [] []")
	s.has("g/d/b", "2")
	if st, _ := os.Stat(s.path("g/a")); st.Mode().Perm()&0o222 != 0 {
		t.Errorf("g/a is %v", st.Mode())
	}
	s.sync(files("g/a", "1", "g/d/b", "2", ".m", ""), Options{}, "[] [] [] []")
	s.put("g/mine", "x")
	s.sync(files("g/a", "2"), Options{Look: true}, "[g/a] [.m g/d/b] [] []")
	s.has("g/a", "1")
	s.sync(files("g/a", "2"), Options{}, "[g/a] [.m g/d/b] [] []")
	if _, err := os.Lstat(s.path("g/d")); err == nil {
		t.Error("an empty directory stays")
	}
	os.Remove(s.path("g/a"))
	s.sync(files("g/a", "2"), Options{}, "[g/a] [] [] []")
	s.sync(nil, Options{}, "[] [g/a] [] []")
	s.has("g/mine", "x")
	if groups, err := s.Groups(); err != nil || len(groups) > 0 {
		t.Errorf("groups %v, %v", groups, err)
	}
}

func TestSyncLosesNoEdit(t *testing.T) {
	s := newSite(t)
	s.put("g/theirs", "x")
	s.put("g/same", "1")
	r := s.sync(files("g/a", "1", "g/b", "1", "g/theirs", "1", "g/same", "1"), Options{}, "[g/a g/b] [] [g/theirs] []")
	if e := r.Edited[0]; e.Base != nil || string(e.Have) != "x" || string(e.Want) != "1" {
		t.Errorf("%+v", e)
	}
	s.put("g/a", "edited")
	s.put("g/b", "edited")
	r = s.sync(files("g/a", "2", "g/same", "2"), Options{}, "[g/same] [] [g/a g/b] []")
	if e := r.Edited[0]; string(e.Base) != "1" || string(e.Want) != "2" || string(e.Have) != "edited" {
		t.Errorf("%+v", e)
	}
	if !r.Edited[1].Gone {
		t.Errorf("%+v", r.Edited[1])
	}
	s.has("g/a", "edited")
	s.sync(files("g/a", "edited", "g/b", "3"), Options{}, "[] [g/same] [g/b] []") // the state has caught up with the edit
	s.sync(files("g/a", "4", "g/b", "3"), Options{}, "[g/a] [] [g/b] []")
	s.sync(files("g/a", "4"), Options{Force: always}, "[] [g/b] [] [g/b>g/b.orig]")
	s.has("g/b.orig", "edited")
	s.has("g/b", "")
	s.put("g/a", "again")
	s.put("g/a.orig", "mine")
	s.sync(files("g/a", "4"), Options{Force: always}, "[g/a] [] [] [g/a>g/a.orig-2]")
	s.has("g/a.orig", "mine")
	s.has("g/a.orig-2", "again")
	s.has("g/a", "4")
}

// At the latest before it replaces a file, Sync finds an edit that keeps size and time.
func TestSyncReadsBeforeItReplaces(t *testing.T) {
	s := newSite(t)
	s.sync(files("g/a", "1"), Options{}, "[g/a] [] [] []")
	st, _ := os.Stat(s.path("g/a"))
	s.put("g/a", "x")
	os.Chtimes(s.path("g/a"), st.ModTime(), st.ModTime())
	s.sync(files("g/a", "2"), Options{}, "[] [] [g/a] []")
	s.has("g/a", "x")
}

// A killed writer has left some files new and some old, and its record says so.
func TestSyncAfterAKill(t *testing.T) {
	s := newSite(t)
	s.sync(files("g/a", "1", "g/b", "1"), Options{}, "[g/a g/b] [] [] []")
	r, err := s.load("g")
	if err != nil {
		t.Fatal(err)
	}
	for name := range r {
		r[name] = append(r[name], hashOf([]byte("2")))
	}
	if err := s.save("g", r); err != nil {
		t.Fatal(err)
	}
	s.put("g/a", "2")
	s.put(".checkout-LEFT", "half")
	s.sync(files("g/a", "3", "g/b", "3"), Options{}, "[g/a g/b] [] [] []")
	s.has(".checkout-LEFT", "")
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
			r, err := s.Sync("g", files("g/d/a", "1"), Options{Force: always})
			var way *InTheWayError
			if tt.want != "" && (!errors.As(err, &way) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if tt.want == "" && (err != nil || len(r.Kept) != 1) {
				t.Errorf("%+v, %v", r, err)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
	for _, name := range []string{"../x", "g/../../x", "/x"} {
		if _, err := newSite(t).Sync("g", files(name, "1"), Options{}); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	if _, err := newSite(t).Sync("../g", files("a", "1"), Options{}); err == nil {
		t.Error("a group outside is written")
	}
}

func TestDrop(t *testing.T) {
	s := newSite(t)
	s.sync(files("g/a", "1", ".m", ""), Options{}, "[.m g/a] [] [] []")
	for _, want := range []bool{true, false} {
		if removed, err := s.Drop("g", ".m", Options{}); removed != want || err != nil {
			t.Errorf("%v, %v", removed, err)
		}
	}
	s.has("g/a", "1")
	s.put("g/a", "edited")
	if removed, err := s.Drop("g", "g/a", Options{}); removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	s.has("g/a", "edited")
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
			var o Options
			if op/15%2 == 1 {
				o.Force = always
			}
			r, err := s.Sync("g", want, o)
			if err != nil {
				t.Fatal(err)
			}
			edited := map[string]bool{}
			for _, e := range r.Edited {
				edited[e.Name] = true
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
			filepath.WalkDir(filepath.Join(s.Top, s.Dir), func(p string, d fs.DirEntry, err error) error {
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
