package gitstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// treeMaker makes trees of random files, of few names and contents, so that sides agree, differ and clash.
type treeMaker struct {
	t   *testing.T
	dir string
	*rand.Rand
	blobs map[string]string
}

func (m *treeMaker) blob(content string) string {
	if m.blobs[content] == "" {
		cmd := exec.Command("git", "hash-object", "-w", "--stdin")
		cmd.Dir, cmd.Stdin = m.dir, strings.NewReader(content)
		out, err := cmd.Output()
		if err != nil {
			m.t.Fatal(err)
		}
		m.blobs[content] = strings.TrimSpace(string(out))
	}
	return m.blobs[content]
}

// files maps paths to "<mode> <id>".
type files map[string]string

func (m *treeMaker) content() string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "line %d %d\n", i, m.IntN(6)/5)
	}
	return b.String()
}

func (m *treeMaker) file() string {
	switch m.IntN(12) {
	case 0:
		return "120000 " + m.blob([]string{"to", "there"}[m.IntN(2)])
	case 1:
		return "160000 " + strings.Repeat([]string{"1", "2"}[m.IntN(2)], 40)
	case 2:
		return "100755 " + m.blob(m.content())
	case 3:
		return "100644 " + m.blob("\x00"+m.content())
	}
	return "100644 " + m.blob(m.content())
}

// put adds a file and removes whatever would be in its way.
func (f files) put(path, what string) {
	for p := range f {
		if p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			delete(f, p)
		}
	}
	f[path] = what
}

func (m *treeMaker) change(of files) files {
	paths := []string{"a", "b", "d/a", "d/b", "d/e/c", "d/e", "d.x", "f/g/h", "f"}
	now := files{}
	for p, what := range of {
		now[p] = what
	}
	for range 1 + m.IntN(4) {
		p := paths[m.IntN(len(paths))]
		switch old := now[p]; {
		case old != "" && m.IntN(4) == 0:
			delete(now, p)
		case old != "" && m.IntN(4) == 0 && strings.HasPrefix(old, "100"):
			now[p] = map[string]string{"100644": "100755", "100755": "100644"}[old[:6]] + old[6:]
		default:
			now.put(p, m.file())
		}
	}
	return now
}

func (m *treeMaker) write(f files) plan.OID {
	index := filepath.Join(m.dir, ".git", "made")
	os.Remove(index)
	var list strings.Builder
	for p, what := range f {
		fmt.Fprintf(&list, "%s\t%s\n", what, p)
	}
	m.git(index, list.String(), "update-index", "--index-info")
	return plan.OID(m.git(index, "", "write-tree", "--missing-ok"))
}

func (m *treeMaker) git(index, stdin string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin, cmd.Env = m.dir, strings.NewReader(stdin), append(os.Environ(), "GIT_INDEX_FILE="+index)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// gitMerges says what git's own plumbing makes of three trees: git read-tree --aggressive, and git merge-file for three
// versions of a regular file. The conflicts are paths, sorted.
func (m *treeMaker) gitMerges(base, ours, theirs plan.OID) (tree plan.OID, conflicts []string) {
	index := filepath.Join(m.dir, ".git", "merged")
	os.Remove(index)
	m.git(index, "", "read-tree", "-i", "-m", "--aggressive", string(base), string(ours), string(theirs))
	stages := map[string]*[4]string{}
	for line := range strings.Lines(m.git(index, "", "ls-files", "-u")) {
		f := strings.Fields(line)
		if stages[f[3]] == nil {
			stages[f[3]] = &[4]string{}
		}
		stages[f[3]][f[2][0]-'0'] = f[0] + " " + f[1]
	}
	for path, s := range stages {
		merged := ""
		if strings.HasPrefix(s[1], "100") && strings.HasPrefix(s[2], "100") && strings.HasPrefix(s[3], "100") {
			merged = m.gitMergesFile(s[1], s[2], s[3])
		}
		if merged == "" {
			conflicts = append(conflicts, path)
			continue
		}
		m.git(index, fmt.Sprintf("0 %040d\t%s\n%s\t%s\n", 0, path, merged, path), "update-index", "--index-info")
	}
	slices.Sort(conflicts)
	if len(conflicts) == 0 {
		tree = plan.OID(m.git(index, "", "write-tree", "--missing-ok"))
	}
	return tree, conflicts
}

func (m *treeMaker) gitMergesFile(base, ours, theirs string) string {
	mode := ours[:6]
	if base[:6] == mode {
		mode = theirs[:6]
	}
	switch { // git merge-file takes no file with NUL bytes, even if only one side changed it
	case base[7:] == theirs[7:] || ours[7:] == theirs[7:]:
		return mode + ours[6:]
	case base[7:] == ours[7:]:
		return mode + theirs[6:]
	}
	dir := m.t.TempDir()
	for name, what := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		out, err := exec.Command("git", "-C", m.dir, "cat-file", "blob", what[7:]).Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), out, 0o666)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	out, err := exec.Command("git", "-C", dir, "merge-file", "-p", "-q", "ours", "base", "theirs").Output()
	if err != nil {
		return ""
	}
	return mode + " " + m.blob(string(out))
}

// turns reports whether one tree has a file where another has a directory.
func turns(trees ...files) bool {
	for _, t := range trees {
		for p := range t {
			for _, other := range trees {
				for q := range other {
					if strings.HasPrefix(q, p+"/") {
						return true
					}
				}
			}
		}
	}
	return false
}

// Trees are merged as git's plumbing does, whatever the user configured, and alike with the sides swapped; cutting a
// change out and applying it to its base gives what it was cut from.
func TestMergeTrees(t *testing.T) {
	dir := newRepo(t)
	m := &treeMaker{t: t, dir: dir, Rand: rand.New(rand.NewPCG(1, 2)), blobs: map[string]string{}}
	clean, rounds := 0, 150
	if testing.Short() {
		rounds = 15
	}
	for round := range rounds {
		base := files{}
		for range 3 {
			base = m.change(base)
		}
		our, their := m.change(base), m.change(base)
		b, o, th := m.write(base), m.write(our), m.write(their)
		wantTree, wantConflicts := m.gitMerges(b, o, th)
		// What would change the answer of git merge.
		git(t, dir, "config", "merge.conflictStyle", []string{"merge", "diff3"}[round%2])
		git(t, dir, "config", "merge.default", "union")
		write(t, dir, ".gitattributes", "* merge=union\n")

		s := open(t, dir)
		batch := &treeObjects{s.NewBatch()}
		for _, sides := range [][2]plan.OID{{o, th}, {th, o}} {
			tree, conflicts, err := threeway.Merge(t.Context(), batch, b, sides[0], sides[1])
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, c := range conflicts {
				paths = append(paths, c.Path)
			}
			slices.Sort(paths)
			if turns(base, our, their) { // then git has a conflict even where one side deleted what the other turned
				continue
			}
			if paths = slices.Compact(paths); len(paths) != 0 != (len(wantConflicts) != 0) {
				t.Fatalf("round %d: got conflicts %v, git has %v:\n%s\n\n%s\n\n%s", round, conflicts, wantConflicts,
					git(t, dir, "ls-tree", "-r", string(b)), git(t, dir, "ls-tree", "-r", string(sides[0])),
					git(t, dir, "ls-tree", "-r", string(sides[1])))
			}
			if len(paths) == 0 && tree != wantTree {
				t.Fatalf("round %d: got tree %s, git makes %s", round, tree, wantTree)
			}
			if len(paths) == 0 {
				clean++
			}
		}
		old, now, err := threeway.Cut(t.Context(), batch, b, o)
		if err != nil {
			t.Fatal(err)
		}
		tree, conflicts, err := threeway.Merge(t.Context(), batch, old, b, now)
		if err != nil || len(conflicts) > 0 || tree != o {
			t.Fatalf("round %d: applied to its base: %s, %v, %v; want %s", round, tree, conflicts, err, o)
		}
		again, conflicts, err := threeway.Merge(t.Context(), batch, old, o, now)
		if err != nil || len(conflicts) > 0 || again != o {
			t.Fatalf("round %d: applied twice: %s, %v, %v; want %s", round, again, conflicts, err, o)
		}
		back, conflicts, err := threeway.Merge(t.Context(), batch, now, o, old)
		if err != nil || len(conflicts) > 0 || back != b {
			t.Fatalf("round %d: taken back: %s, %v, %v; want %s", round, back, conflicts, err, b)
		}
	}
	if clean < rounds*4/15 {
		t.Errorf("only %d merges were clean: the rounds don't tell much", clean)
	}
}
