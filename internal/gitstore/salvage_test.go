package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

const salvageRef = "refs/workflow/WFS-d"

// damaged is a repository with a history of four commits; each adds one file two directories deep.
func damaged(t *testing.T) (dir string, commits []string, file func(oid string) string) {
	t.Helper()
	isolate(t)
	dir = t.TempDir()
	git(t, dir, "init", "-q")
	var in strings.Builder
	for _, n := range []string{"1", "2", "3", "4"} {
		in.WriteString("commit " + salvageRef + "\ncommitter Eve <eve@example.com> 180000000" + n + " +0000\ndata 6\nstep " +
			n + "\n" +
			"M 100644 inline a/" + n + "/f\ndata 2\n" + n + "\n\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte(in.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "-c", "fastimport.unpackLimit=1000", "-c", "alias.fi=!git fast-import --quiet <in", "fi")
	commits = strings.Fields(git(t, dir, "rev-list", "--reverse", salvageRef))
	return dir, commits, func(oid string) string { return filepath.Join(dir, ".git", "objects", oid[:2], oid[2:]) }
}

func overwrite(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func TestSalvage(t *testing.T) {
	type repo struct {
		dir     string
		commits []string
		file    func(string) string
		obj     func(rev string) string // its file
	}
	tests := []struct {
		name    string
		break_  func(t *testing.T, r repo)
		sound   int // index of the newest sound commit, -1 for none, -2 for no damage
		tipHere bool
	}{
		{"whole", func(*testing.T, repo) {}, -2, true},
		{"a file gone", func(t *testing.T, r repo) { remove(t, r.obj(r.commits[2]+":a/3/f")) }, 1, true},
		{"a file cut off", func(t *testing.T, r repo) {
			f := r.obj(r.commits[2] + ":a/3/f")
			data, _ := os.ReadFile(f)
			overwrite(t, f, data[:len(data)-4])
		}, 1, true},
		{"a file empty", func(t *testing.T, r repo) { overwrite(t, r.obj(r.commits[3]+":a/4/f"), nil) }, 2, true},
		{"another object under its name", func(t *testing.T, r repo) {
			data, _ := os.ReadFile(r.obj(r.commits[0] + ":a/1/f"))
			overwrite(t, r.obj(r.commits[3]+":a/4/f"), data)
		}, 2, true},
		{"a tree gone", func(t *testing.T, r repo) { remove(t, r.obj(r.commits[1]+":a")) }, 0, true},
		{"a tree that is noise", func(t *testing.T, r repo) {
			overwrite(t, r.obj(r.commits[3]+"^{tree}"), []byte("noise"))
		}, 2, true},
		{"a commit in between gone", func(t *testing.T, r repo) { remove(t, r.file(r.commits[1])) }, 0, true},
		{"the first commit gone", func(t *testing.T, r repo) { remove(t, r.file(r.commits[0])) }, -1, true},
		{"the newest commit gone", func(t *testing.T, r repo) { remove(t, r.file(r.commits[3])) }, 2, false},
		{"the newest commit cut off", func(t *testing.T, r repo) {
			f := r.file(r.commits[3])
			data, _ := os.ReadFile(f)
			overwrite(t, f, data[:len(data)/2])
		}, 2, false},
		{"a ref that holds noise", func(t *testing.T, r repo) {
			overwrite(t, filepath.Join(r.dir, ".git", filepath.FromSlash(salvageRef)), []byte("noise\n"))
		}, 3, false},
		{"a ref that holds nothing", func(t *testing.T, r repo) {
			overwrite(t, filepath.Join(r.dir, ".git", filepath.FromSlash(salvageRef)), nil)
		}, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, commits, file := damaged(t)
			// The ref's reflog as update-ref leaves it: the way back if the tip itself is gone.
			for _, c := range commits {
				git(t, dir, "update-ref", "--create-reflog", salvageRef, c)
			}
			r := repo{dir, commits, file, func(rev string) string {
				return file(strings.TrimSpace(git(t, dir, "rev-parse", rev)))
			}}
			tt.break_(t, r)
			s, err := Open(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			d, err := s.Salvage(context.Background(), salvageRef)
			if err != nil {
				t.Fatal(err)
			}
			if tt.sound == -2 {
				if d != nil {
					t.Fatalf("found %+v in a sound history", d)
				}
			} else {
				want := plan.OID("")
				if tt.sound >= 0 {
					want = plan.OID(commits[tt.sound])
				}
				if d == nil || d.Sound != want || d.TipHere != tt.tipHere {
					t.Fatalf("found %+v, want the sound commit %s, tip readable: %v", d, want, tt.tipHere)
				}
			}
			check, err := s.Verify(context.Background(), []plan.OID{plan.OID(commits[3])}, nil)
			noise := strings.HasPrefix(tt.name, "a ref") // the objects are whole
			if err != nil || check.Sound() != (d == nil || noise) {
				t.Errorf("Verify says %+v, %v", check, err)
			}
		})
	}
}

// A reader of the plan learns how far it can be read.
func TestDamagedSnapshot(t *testing.T) {
	dir, commits, file := damaged(t)
	git(t, dir, "update-ref", "--create-reflog", salvageRef, commits[2])
	git(t, dir, "update-ref", "--create-reflog", salvageRef, commits[3])
	remove(t, file(commits[3]))
	s, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Snapshot(context.Background(), "WFS-d")
	var d *DamagedError
	if !errors.As(err, &d) || d.Damage.Sound != plan.OID(commits[2]) ||
		!strings.Contains(err.Error(), commits[2][:12]+" (step 3)") {
		t.Errorf("Snapshot: %v", err)
	}
	err = s.Log(context.Background(), "WFS-d", plan.OID(commits[3]), func(LogEntry) bool { return true })
	err = s.Damaged(context.Background(), "WFS-d", err)
	if !errors.As(err, &d) {
		t.Errorf("Log: %v", err)
	}
	n := 0
	err = s.Log(context.Background(), "WFS-d", d.Damage.Sound, func(LogEntry) bool { n++; return true })
	if err != nil || n != 3 {
		t.Errorf("Log of the sound events: %d events, %v", n, err)
	}
	if _, err := s.Snapshot(context.Background(), "WFS-none"); !errors.Is(err, ErrNoPlan) || errors.As(err, &d) {
		t.Errorf("a plan that does not exist: %v", err)
	}
}
