package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// Three changes of one file: the second stands on the first.
const proposed = `title: Page
tasks:
` + `  - {task_id: A-1, title: A, description: A., estimated_person_days: 0.5, run: "sed -i 's/^line 5$/line five/' lines.txt", deliverable_spec: &d {format: change, paths: ['*.txt']}, acceptance_criteria: [{id: A1, statement: Five., run: grep five lines.txt}]}
  - {task_id: B-1, title: B, description: B., depends_on: [A-1], estimated_person_days: 0.5, run: "sed -i 's/^line 15$/line fifteen/' lines.txt", deliverable_spec: *d, acceptance_criteria: [{id: A1, statement: Fifteen., run: grep fifteen lines.txt}]}
  - {task_id: C-1, title: C, description: C., estimated_person_days: 0.5, run: "sed -i 's/^line 25$/line 25 and more/' lines.txt; echo new > c.txt", deliverable_spec: *d, acceptance_criteria: [{id: A1, statement: More., run: grep more lines.txt}]}
`

// Squashes, merges and rebases, beside neighbours that move, by git itself: a change has landed in exactly the commit
// whose bytes are those of the merge, and nowhere else. GIT_WF_HISTORIES says how many histories.
func TestLandedWhereTheBytesLanded(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GIT_WF_HISTORIES"))
	ctx := context.Background()
	b := newWorkshop(t, proposed)
	server, clone := t.TempDir(), t.TempDir()
	git := func(dir string, args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_EDITOR=:", "GIT_MERGE_AUTOEDIT=no")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(dir string, args ...string) string {
		t.Helper()
		out, err := git(dir, args...)
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return out
	}
	lines := ""
	for i := range 30 {
		lines += fmt.Sprintf("line %d\n", i+1)
	}
	b.repo.Write("lines.txt", lines)
	b.repo.Write("other.txt", "other\n")
	must(b.repo.Dir, "add", "lines.txt", "other.txt")
	must(b.repo.Dir, "commit", "-q", "-m", "Lines")
	branch := must(b.repo.Dir, "symbolic-ref", "--short", "HEAD")
	must(server, "init", "-q", "--bare")
	for _, args := range [][]string{{"remote", "add", "origin", server}, {"push", "-q", "-u", "origin", branch},
		{"config", "wf.branch", branch}, {"config", "wf.forge", "none"}} {
		must(b.repo.Dir, args...)
	}
	first := must(b.repo.Dir, "rev-parse", "HEAD")
	b.Store = b.repo.Open()
	if err := b.Trust.AddCode(); err != nil {
		t.Fatal(err)
	}
	b.Report = nil
	if _, err := b.Run(ctx, repotest.ID); err != nil {
		t.Fatal(err)
	}
	o := LandOptions{Person: plan.Actor{Name: "Ann", Email: "ann@example.com"}, Propose: true}
	done, err := b.Land(ctx, repotest.ID, o)
	if err != nil || len(done.Tasks) != 3 || done.Tasks[2].Head == "" {
		t.Fatalf("%+v %v", done, err)
	}
	must(clone, "clone", "-q", server, ".")
	counts := map[string]int{}
	for seed := range max(n, 6) {
		r := rand.New(rand.NewPCG(uint64(seed), 33))
		must(clone, "checkout", "-q", "-B", "work", first)
		want, log, file := map[plan.TaskID]string{}, "", "lines.txt"
		commit := func(message string) string {
			must(clone, "add", "-A")
			must(clone, "commit", "-q", "--allow-empty", "-m", message)
			return must(clone, "rev-parse", "HEAD")
		}
		neighbour := func() {
			switch k := r.IntN(4); k {
			case 0: // above and below everything, next to nothing
				data, _ := os.ReadFile(filepath.Join(clone, file))
				all := strings.SplitAfter(string(data), "\n")
				at := []int{0, 9, 10, 19, 20, len(all) - 1}[r.IntN(6)]
				text := strings.Join(all[:at], "") + fmt.Sprintf("moved %d\n", seed) + strings.Join(all[at:], "")
				_ = os.WriteFile(filepath.Join(clone, file), []byte(text), 0o666)
			case 1:
				if file == "lines.txt" {
					file = "moved.txt"
					must(clone, "mv", "lines.txt", file)
				}
			default:
				_ = os.WriteFile(filepath.Join(clone, "other.txt"), []byte(fmt.Sprint(r.Uint64())), 0o666)
			}
			log += " neighbour"
			commit("A neighbour")
		}
		ids := []plan.TaskID{"A-1", "B-1", "C-1"}
		r.Shuffle(3, func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
		for _, id := range ids {
			for range r.IntN(3) {
				neighbour()
			}
			head, way := "origin/wf/"+string(repotest.ID)+"/"+string(id), []string{"squash", "merge", "rebase", "none"}[r.IntN(4)]
			tampers, was := r.IntN(4) == 0 && way != "none", must(clone, "rev-parse", "HEAD")
			log += fmt.Sprintf(" %s:%s:%v", id, way, tampers)
			brings := []plan.TaskID{id}
			if id == "B-1" && (want["A-1"] == "" || want["A-1"] == "reverted") { // its branch has the first one, too
				brings = []plan.TaskID{"A-1", "B-1"}
			}
			var err error
			switch way {
			case "squash":
				if _, err = git(clone, "merge", "-q", "--squash", head); err == nil && !tampers {
					commit(fmt.Sprintf("%s (#%d)", id, r.IntN(99)))
				}
			case "merge":
				if _, err = git(clone, "merge", "-q", "--no-ff", "--no-commit", head); err == nil && !tampers {
					commit("Merge " + string(id))
				}
			case "rebase":
				must(clone, "checkout", "-q", "-B", "rebased", head)
				_, err = git(clone, "rebase", "-q", "--force-rebase", was)
				if err == nil {
					must(clone, "checkout", "-q", "-B", "work", "rebased")
				} else {
					_, _ = git(clone, "rebase", "--abort")
					must(clone, "checkout", "-q", "work")
				}
			case "none":
				continue
			}
			if err != nil { // conflicts are for people
				_, _ = git(clone, "merge", "--abort")
				must(clone, "reset", "-q", "--hard", was)
				log += ":conflict"
				continue
			}
			if must(clone, "rev-parse", "HEAD") == was && (way == "rebase" || !tampers) { // it is there already
				continue
			}
			if way == "rebase" && must(clone, "rev-list", "--count", was+"..HEAD") == "1" { // the first is there
				brings = []plan.TaskID{id}
			}
			if tampers {
				_ = os.WriteFile(filepath.Join(clone, "evil.txt"), []byte(log), 0o666)
				if must(clone, "add", "-A"); way == "rebase" {
					must(clone, "commit", "-q", "--amend", "--no-edit")
					if len(brings) == 2 && must(clone, "rev-list", "--count", was+"..HEAD") == "2" { // of the two, the last
						want["A-1"] = must(clone, "rev-parse", "HEAD^")
					}
				} else {
					commit("Merged " + string(id))
				}
				if len(brings) == 2 && want["A-1"] == "" {
					want["A-1"] = "tampered" // and can't land any more
				}
				if want[id] == "" {
					want[id] = "tampered"
				}
				continue
			}
			at := must(clone, "rev-parse", "HEAD")
			for i, of := range brings {
				if want[of] != "" && want[of] != "reverted" {
					continue
				}
				want[of] = at
				if way == "rebase" && i < len(brings)-1 {
					want[of] = must(clone, "rev-parse", "HEAD^")
				}
			}
			if r.IntN(5) == 0 && want[id] == at && len(brings) == 1 && way != "merge" {
				if _, err := git(clone, "revert", "--no-edit", "HEAD"); err == nil {
					want[id], log = "reverted", log+":reverted"
				}
			}
		}
		must(clone, "push", "-q", "--force", "origin", "work:"+branch)
		l := landing{engine: b.Engine, options: LandOptions{Propose: true, Watch: true}, passed: b.openPassed()}
		if err := l.begin(ctx, repotest.ID); err != nil {
			t.Fatal(err)
		}
		all, err := l.watch(ctx)
		if err != nil || len(all) != 3 {
			t.Fatalf("%d%s: %v", seed, log, err)
		}
		for _, w := range all {
			expect := want[w.TaskID]
			switch {
			case expect == "tampered" || expect == "reverted":
				counts[expect]++
				expect = ""
			case expect == "":
				counts["open"]++
			default:
				counts["landed"]++
			}
			got := ""
			if w.landed != nil {
				got = string(w.landed.Commit)
			}
			if got != expect {
				t.Errorf("%d%s: %s landed as %q, want %q (%s)\n%s", seed, log, w.TaskID, got, expect, want[w.TaskID],
					must(clone, "log", "--oneline", "--stat", "--first-parent", "work"))
			}
		}
	}
	t.Log(counts)
}
