package repotest

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Now is the time of every event.
var Now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Repo is a repository in a temporary directory, with one commit on main.
type Repo struct {
	Dir   string
	Store *gitstore.Store
	t     testing.TB
}

// New makes a repository. Until the test ends it hides the process's GIT_ variables and the user's configuration, so
// the test can't run in parallel with others.
func New(t testing.TB) *Repo {
	t.Helper()
	isolate(t)
	r := &Repo{Dir: filepath.Join(t.TempDir(), "repo"), t: t}
	if err := os.Mkdir(r.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "-q")
	r.Write("README", "hello\n")
	r.Git("add", ".")
	r.Git("commit", "-q", "-m", "first")
	r.Store = r.Open()
	return r
}

// isolate hides the user's configuration, and a hook's GIT_DIR, from the test.
func isolate(t testing.TB) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "WF_") {
			t.Setenv(name, "") // Setenv restores it at the end
			os.Unsetenv(name)
		}
	}
	home := t.TempDir()
	config := filepath.Join(home, "gitconfig")
	text := "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[core]\n\tautocrlf = false\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// In returns the same repository for a subtest, with the plan, index and HEAD of the mark.
func (r *Repo) In(t testing.TB, m Mark) *Repo {
	t.Helper()
	part := &Repo{Dir: r.Dir, Store: r.Store, t: t}
	part.Git("update-ref", Ref, string(m.plan))
	part.Git("update-ref", "HEAD", string(m.head))
	part.Git("read-tree", m.index)
	return part
}

// Mark is a state that a repository can return to.
type Mark struct {
	plan, head plan.OID
	index      string // its tree
}

// Mark records the current state.
func (r *Repo) Mark() Mark {
	r.t.Helper()
	return Mark{plan.OID(r.Git("rev-parse", Ref)), plan.OID(r.Git("rev-parse", "HEAD")), r.Git("write-tree")}
}

// Open opens the repository again, with empty caches.
func (r *Repo) Open() *gitstore.Store {
	r.t.Helper()
	s, err := gitstore.Open(context.Background(), r.Dir)
	if err == nil {
		s.Sound = func(context.Context, plan.ID, plan.OID) error { return nil } // internal/audit has what judges it
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	return s
}

// Git runs git and returns its output.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.GitIn("", args...)
}

// GitIn runs git with standard input.
func (r *Repo) GitIn(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.Dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Write writes a file in the working tree.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Snapshot reads a plan with a new store, so nothing is cached.
func (r *Repo) Snapshot(id plan.ID) *gitstore.Snapshot {
	r.t.Helper()
	snap, err := r.Open().Snapshot(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return snap
}

// Forge adds a commit to a plan's ref that the store would refuse: on top of the tip it adds or replaces the files, and
// removes those with content "". It returns the commit.
func (r *Repo) Forge(ref string, files map[string]string) plan.OID {
	r.t.Helper()
	return r.ForgeEvent(ref, nil, files)
}

// ForgeEvent is Forge for a commit with trailers.
func (r *Repo) ForgeEvent(ref string, trailers []string, files map[string]string) plan.OID {
	r.t.Helper()
	var in strings.Builder
	in.WriteString("commit " + ref + "\ncommitter Eve <eve@example.com> 1800000000 +0000\n" +
		data("forge\n\n"+strings.Join(trailers, "\n")))
	in.WriteString("from " + ref + "^0\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			in.WriteString("D " + name + "\n")
			continue
		}
		in.WriteString("M 100644 inline " + name + "\n" + data(files[name]))
	}
	r.GitIn(in.String(), "fast-import", "--quiet")
	return plan.OID(r.Git("rev-parse", ref))
}
