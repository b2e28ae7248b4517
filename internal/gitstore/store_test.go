package gitstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// In every kind of repository, a plan can be created, extended and read back.
func TestKindsOfRepository(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, origin string) (dir, workTree string)
	}{
		{"below the top", func(t *testing.T, o string) (string, string) { return filepath.Join(o, "sub"), o }},
		{"inside .git", func(t *testing.T, o string) (string, string) { return filepath.Join(o, ".git"), "" }},
		{"bare", func(t *testing.T, o string) (string, string) {
			dir := filepath.Join(t.TempDir(), "bare.git")
			git(t, o, "clone", "-q", "--bare", o, dir)
			return dir, ""
		}},
		{"linked worktree", func(t *testing.T, o string) (string, string) {
			dir := filepath.Join(t.TempDir(), "linked")
			git(t, o, "worktree", "add", "-q", dir)
			return dir, dir
		}},
		{"submodule", func(t *testing.T, o string) (string, string) {
			outer := filepath.Join(t.TempDir(), "outer")
			git(t, ".", "init", "-q", outer)
			git(t, outer, "submodule", "--quiet", "add", o, "mod")
			return filepath.Join(outer, "mod"), filepath.Join(outer, "mod")
		}},
		{"sparse checkout", func(t *testing.T, o string) (string, string) {
			git(t, o, "sparse-checkout", "set", "--cone", "sub")
			return o, o
		}},
		{"shallow clone", func(t *testing.T, o string) (string, string) {
			dir := filepath.Join(t.TempDir(), "shallow")
			git(t, o, "commit", "-q", "--allow-empty", "-m", "second")
			git(t, o, "clone", "-q", "--depth=1", "file://"+o, dir)
			return dir, dir
		}},
		{"partial clone", func(t *testing.T, o string) (string, string) {
			dir := filepath.Join(t.TempDir(), "partial")
			git(t, o, "config", "uploadpack.allowFilter", "true")
			git(t, o, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+o, dir)
			return dir, dir
		}},
		{"alternates", func(t *testing.T, o string) (string, string) {
			dir := filepath.Join(t.TempDir(), "shared")
			git(t, o, "clone", "-q", "--shared", o, dir)
			return dir, dir
		}},
		{"shared by a group", func(t *testing.T, o string) (string, string) {
			git(t, o, "config", "core.sharedRepository", "group")
			return o, o
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, workTree := tt.make(t, newRepo(t))
			ctx := context.Background()
			s := open(t, dir)
			if got := real(t, s.WorkTree()); got != real(t, workTree) {
				t.Errorf("working tree %q, want %q", got, workTree)
			}
			start(t, s, testID, 2)
			if _, err := appendVersion(s, "IMPL-1", "x"); err != nil {
				t.Fatal(err)
			}
			if err := s.SetActive(ctx, testID); err != nil {
				t.Fatal(err)
			}
			if id, err := open(t, dir).Active(ctx); err != nil || id != testID {
				t.Errorf("active: %q, %v", id, err)
			}
			head, err := s.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := s.ReadFile(ctx, head, "sub/file"); err != nil || string(data) != "below\n" {
				t.Errorf("sub/file: %q, %v", data, err)
			}
			if plans, err := s.Plans(ctx); err != nil || len(plans) != 1 || plans[0].ID != testID {
				t.Errorf("plans: %v, %v", plans, err)
			}
			sound(t, dir)
		})
	}
}

func real(t *testing.T, path string) string {
	t.Helper()
	if path == "" {
		return ""
	}
	r, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOpenRefuses(t *testing.T) {
	isolate(t)
	ctx := context.Background()
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	if _, err := Open(ctx, t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--object-format=sha256")
	if _, err := Open(ctx, dir); err == nil || !strings.Contains(err.Error(), "sha256 objects is not supported") {
		t.Errorf("sha256: %v", err)
	}
	for version, want := range map[string]string{
		"git version 2.34.0\n":                 "",
		"git version 3.0.1.windows.1\n":        "",
		"git version 2.39.3 (Apple Git-146)\n": "",
		"git version 2.33.9\n":                 "git 2.33.9 is not supported: git 2.34 or later is needed",
		"git version 1.8.3.1\n":                "git 1.8.3.1 is not supported: git 2.34 or later is needed",
	} {
		got := ""
		if _, err := parseVersion(version); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

func TestNothingThere(t *testing.T) {
	isolate(t)
	ctx := context.Background()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	s := open(t, dir)
	if _, err := s.Head(ctx); !errors.Is(err, ErrUnborn) {
		t.Errorf("head: %v", err)
	}
	if _, err := s.Active(ctx); !errors.Is(err, ErrNoActive) {
		t.Errorf("active: %v", err)
	}
	if _, err := s.Snapshot(ctx, testID); !errors.Is(err, ErrNoPlan) {
		t.Errorf("snapshot: %v", err)
	}
	if _, err := s.Tip(ctx, testID); !errors.Is(err, ErrNoPlan) {
		t.Errorf("tip: %v", err)
	}
	if claims, err := s.Claims(ctx, testID); err != nil || len(claims) != 0 {
		t.Errorf("claims: %v, %v", claims, err)
	}
	if _, ok, err := s.Config(ctx, "wf.none"); ok || err != nil {
		t.Errorf("config: %v, %v", ok, err)
	}
	git(t, dir, "config", "user.useConfigOnly", "true")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "none"))
	if _, err := open(t, dir).Person(ctx); !errors.Is(err, errNoIdentity) {
		t.Errorf("person: %v", err)
	}
	// The shell of gemini hides the user's configuration from git.
	write(t, dir, ".gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.com\n")
	for name, value := range map[string]string{"HOME": dir, "GEMINI_CLI": "1", "GIT_CONFIG_GLOBAL": os.DevNull} {
		t.Setenv(name, value)
	}
	if who, err := open(t, dir).Person(ctx); err != nil || who.Name != "Ann" {
		t.Errorf("person: %v, %v", who, err)
	}
}

func TestNonASCIIPlan(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	id := plan.NewID("商店 Größe", 1)
	start(t, s, id, 1)
	snap, err := open(t, dir).Snapshot(context.Background(), id)
	if err != nil || snap.Plan.PlanID != id {
		t.Errorf("%s: %v", id, err)
	}
	if _, err := s.Claim(context.Background(), id, lease(1, testNow)); err != nil {
		t.Error(err)
	}
	sound(t, dir)
}

// The Store survives the death of its children.
func TestChildrenComeBack(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 2)
	for i, kill := range []func(){
		func() { s.objects.c.cmd.Process.Kill() },
		func() { s.events.c.cmd.Process.Kill(); s.events.c.cmd.Process.Wait() },
	} {
		kill()
		if _, err := appendVersion(s, testTask(i+1), "x"); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	sound(t, dir)
}

func TestTrees(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	src := t.TempDir()
	write(t, src, "a/b.txt", "text\r\n")
	write(t, src, "a-b", strings.Repeat("big\n", 50000))
	write(t, src, "run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(src, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../run.sh", filepath.Join(src, "a", "link")); err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	oid, infos, err := b.AddDir(ctx, src, []FileRef{
		{Path: "a/b.txt", Mode: modeFile}, {Path: "a-b", Mode: modeFile}, {Path: "run.sh", Mode: modeExecutable},
		{Path: "a/link", Mode: modeLink}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	git(t, src, "init", "-q")
	git(t, src, "add", "a", "a-b", "run.sh")
	if want := git(t, src, "write-tree"); string(oid) != want {
		t.Errorf("tree %s, git makes %s", oid, want)
	}
	list, err := s.ListTree(ctx, oid)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Mode+" "+e.Path)
	}
	if want := "100644 a-b,100644 a/b.txt,120000 a/link,100755 run.sh"; strings.Join(got, ",") != want {
		t.Errorf("list %v, want %s", got, want)
	}
	if again, err := s.NewBatch().AddTreeOf(list); err != nil || again != oid {
		t.Errorf("AddTreeOf: %s, %v", again, err)
	}
	if _, err := s.ListTree(ctx, list[0].OID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file: %v", err)
	}
	if _, err := s.ReadFile(ctx, oid, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read none: %v", err)
	}
	out := t.TempDir()
	if err := s.Export(ctx, oid, out); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a/b.txt", "a-b", "run.sh", "a/link"} {
		want, _ := os.ReadFile(filepath.Join(src, name))
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(data) != string(want) {
			t.Errorf("export %s: %v", name, err)
		}
		if infos[i].Mode != modeLink && infos[i].Size != int64(len(want)) {
			t.Errorf("%+v", infos[i])
		}
	}
	sound(t, dir)
}

func TestExportRefusesHostileTrees(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	for _, tt := range []struct{ name, mode, content, want string }{
		{"..", modeFile, "x", "component .."},
		{".git", modeFile, "x", "stands for .git"},
		{".Git ", modeFile, "x", "stands for .git"},
		{".g\u200cit", modeFile, "x", "stands for .git"},
		{"git~1", modeFile, "x", "stands for .git"},
		{"a\\b", modeFile, "x", "Windows"},
		{"link", modeLink, "/etc/passwd", "leads out"},
		{"link", modeLink, "../x", "leads out"},
		{"link", modeLink, "a/../../x", "leads out"},
	} {
		b := s.NewBatch()
		oid, err := b.addTree([]rawEntry{{tt.mode, tt.name, b.AddBlob([]byte(tt.content))}})
		if err == nil {
			err = b.Flush(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		if err := s.Export(ctx, oid, out); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.name, err, tt.want)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("%q: left %v", tt.name, left)
		}
	}
}

func TestLog(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	first := start(t, s, testID, 2)
	for range 3 {
		if _, err := appendVersion(s, "IMPL-1", "x"); err != nil {
			t.Fatal(err)
		}
	}
	tip, err := s.Tip(context.Background(), testID)
	if err != nil {
		t.Fatal(err)
	}
	var log []LogEntry
	if err := s.Log(context.Background(), testID, tip, func(e LogEntry) bool {
		log = append(log, e)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(log) != 4 || log[0].Subject != "IMPL-1: v3" || log[0].Trailers["Wf-Task"] != "IMPL-1" ||
		log[0].Author.Name != "Bot 1" || !log[0].Time.Equal(testNow) || log[3].Commit != first.Commit {
		t.Errorf("%+v", log)
	}
	n := 0
	err = s.Log(context.Background(), testID, tip, func(LogEntry) bool { n++; return n < 2 })
	if err != nil || n != 2 {
		t.Errorf("stopped after %d: %v", n, err)
	}
	if ok, err := s.IsAncestor(context.Background(), first.Commit, log[0].Commit); !ok || err != nil {
		t.Errorf("ancestor: %v, %v", ok, err)
	}
	if ok, err := s.IsAncestor(context.Background(), log[0].Commit, first.Commit); ok || err != nil {
		t.Errorf("descendant: %v, %v", ok, err)
	}
}
