package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// benchLarge carries one large file and many small ones through a plan: handed in, copied for a task that uses them,
// judged, exported, landed and verified. Next to each step it shows how long plain git takes to move the same bytes the
// same way. The steps build on each other, so there is one round.
func benchLarge(ctx context.Context, l *lab, z sizes) (report, error) {
	src := filepath.Join(l.dir, "large-src")
	if err := largeSource(src, int64(z.large)<<20, z.many); err != nil {
		return report{}, err
	}
	defer os.RemoveAll(src)
	big, many := filepath.Join(src, "big.bin"), filepath.Join(src, "many")
	plain, err := l.repo(ctx, "large-plain", "")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(plain)
	dir, err := l.repo(ctx, "large", "")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	yaml := filepath.Join(l.dir, "large.yaml")
	if err := os.WriteFile(yaml, []byte(largePlan(z.many)), 0o666); err != nil {
		return report{}, err
	}
	if err := l.steps(ctx, dir, []string{l.gitWF, "plan", "-f", yaml}); err != nil {
		return report{}, err
	}
	git := func(name string, args ...string) *contestant {
		return &contestant{name: name, dir: plain, args: append([]string{"git"}, args...)}
	}
	wf := func(args ...string) *contestant {
		return &contestant{name: "git wf " + args[0], dir: dir, args: append([]string{l.gitWF}, args...)}
	}
	flushed := []string{"-c", "core.fsync=loose-object,pack", "-c", "core.fsyncMethod=batch"}
	hash := git("git hash-object -w, the large file, flushed", append(flushed, "hash-object", "-w", big)...)
	add := git("git add, the small files, flushed", append(flushed, "--work-tree="+src, "add", "many")...)
	checkout := git("git checkout of both", "checkout", "--quiet", "landed", "--", ".")
	checkout.before = func(ctx context.Context) error {
		return l.steps(ctx, plain,
			[]string{"git", "--work-tree=" + src, "add", "big.bin"},
			[]string{"git", "commit", "--quiet", "--message=both"}, []string{"git", "branch", "landed"})
	}
	submitBig, submitMany := wf("submit", "BIG-1", big), wf("submit", "MANY-1", many)
	submitBig.name, submitMany.name = "git wf submit, the large file", "git wf submit, the small files"
	run := wf("run", "--quiet")
	run.name = "git wf run: both judged, and copied for a task that uses them, which is judged in the whole bundle"
	export, again, verify := wf("export"), wf("export"), wf("verify", "HEAD")
	again.name = "git wf export, once more"
	land := wf("export", "--commit")
	land.name = "git wf export --commit"
	rows := []*contestant{hash, submitBig, add, submitMany, run, checkout, export, again, land, verify}
	for _, c := range rows {
		if err := l.once(ctx, c); err != nil {
			return report{}, err
		}
	}
	r := report{
		title: fmt.Sprintf("large: a file of %d MB and %d small files; one round", z.large, z.many),
		rows:  rows,
		ratios: []ratio{
			compare("submit / hash-object", 0, submitBig, hash),
			compare("submit / add", 0, submitMany, add),
			compare("export / checkout", 0, export, checkout),
		},
	}
	var most int64
	for _, c := range []*contestant{submitBig, submitMany, run, export, again, land, verify} {
		most = max(most, c.memory)
	}
	r.ratios = append(r.ratios, within("memory of the largest step / 300 MB", most, mostMemory))
	return r, nil
}

// largeSource makes the deliverables: bytes that don't compress, and files of a few lines.
func largeSource(dir string, bytes int64, files int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "big.bin"))
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), bytes)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	const perDir = 200
	for i := 0; i < files && err == nil; i++ {
		below := filepath.Join(dir, "many", fmt.Sprintf("d%d", i/perDir))
		if i%perDir == 0 {
			if err := os.MkdirAll(below, 0o777); err != nil {
				return err
			}
		}
		text := fmt.Appendf(nil, "This is file %d of %d.\nIts lines are few.\n", i, files)
		err = os.WriteFile(filepath.Join(below, fmt.Sprintf("f%d.txt", i)), text, 0o666)
	}
	return err
}

func largePlan(files int) string {
	return fmt.Sprintf(`title: Large
top_task: Deliver what is large.
config: {max_artifact_bytes: 1099511627776, max_artifact_files: 1000000}
root_acceptance_criteria:
  - {id: R1, statement: It holds at least 1 byte.}
tasks:
  - task_id: BIG-1
    title: Big
    description: One file.
    estimated_person_days: 0.1
    covers: [R1]
    deliverable_spec: {format: bin, filename: big.bin}
    acceptance_criteria:
      - {id: A1, statement: It holds at least 1 byte., check_method: static_check, severity: MUST, covers: [R1], run: test -s big.bin}
  - task_id: MANY-1
    title: Many
    description: Many files.
    estimated_person_days: 0.1
    covers: [R1]
    deliverable_spec: {format: txt, files: ['**']}
    acceptance_criteria:
      - {id: A1, statement: There is at least 1 file., check_method: static_check, severity: MUST, covers: [R1], run: test -s d0/f0.txt}
  - task_id: USE-1
    title: Use
    description: Counts the files of both.
    estimated_person_days: 0.1
    covers: [R1]
    depends_on: [BIG-1, MANY-1]
    deliverable_spec: {format: txt, filename: count.txt}
    run: 'find "$WF_IN/BIG-1" "$WF_IN/MANY-1" -type f | wc -l > "$WF_OUT/count.txt"'
    acceptance_criteria:
      - {id: A1, statement: It counts %[1]d files., check_method: run_smoke_test, severity: MUST, covers: [R1], run: 'test "$(cat Use_USE-1/count.txt || cat use_USE-1/count.txt)" -eq %[1]d'}
`, files+1)
}
