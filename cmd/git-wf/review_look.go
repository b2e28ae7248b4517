package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// How much of a version is shown: of each file, and of how many.
const (
	mostShownBytes = 64 << 10
	mostShownFiles = 40
	mostDiffLines  = 5000
)

var errEnough = errors.New("enough has been read")

// versionText is what a person reads of a task's newest version before a verdict: what it changes or, of the first
// version of a document or on demand, its files.
func (st style) versionText(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	t *plan.TaskState, whole bool) (string, error) {
	if t.Changes() || t.Active > 1 && !whole {
		return st.diffText(ctx, store, snap, t)
	}
	v, _ := snap.Records.Of(t.TaskID).Version(t.Active)
	files, err := store.ListTree(ctx, v.Files)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range files[:min(len(files), mostShownFiles)] {
		fmt.Fprintf(&b, "%s\n", st.paint("1", "== "+plain.Line(f.Path)))
		data, all, err := store.BlobHead(ctx, f.OID, mostShownBytes)
		if err != nil {
			return "", err
		}
		if !plain.IsText(data, all) {
			b.WriteString("(no text: git wf ui shows it)\n")
			continue
		}
		n := 0
		for line := range strings.Lines(plain.Text(strings.ToValidUTF8(string(data), ""))) {
			n++
			fmt.Fprintf(&b, "%s  %s\n", st.paint("90", fmt.Sprintf("%5d", n)), strings.TrimRight(line, "\n"))
		}
		if !all {
			b.WriteString("(only the beginning is shown)\n")
		}
	}
	if more := len(files) - mostShownFiles; more > 0 {
		fmt.Fprintf(&b, "and %s more\n", plain.Count(more, "file"))
	}
	return b.String(), nil
}

// diffText is what a version changes.
func (st style) diffText(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	t *plan.TaskState) (string, error) {
	var b strings.Builder
	n := 0
	err := followDiff(ctx, store, snap, t, []int{t.Active}, func(out *bufio.Reader) error {
		for {
			line, err := out.ReadString('\n')
			if line != "" {
				b.WriteString(st.diffLine(plain.Text(strings.TrimRight(line, "\n"))) + "\n")
			}
			switch n++; {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case n == mostDiffLines:
				fmt.Fprintf(&b, "(only the beginning is shown: git wf diff %s --plan %s)\n", t.TaskID, snap.ID)
				return errEnough
			}
		}
	}, "--no-color")
	if errors.Is(err, errEnough) {
		err = nil
	}
	return cmp.Or(b.String(), "nothing is different\n"), err
}

// diffLine colours a line of a diff as git does.
func (st style) diffLine(line string) string {
	for _, c := range []struct{ mark, colour string }{{"+++", "1"}, {"---", "1"}, {"diff ", "1"}, {"+", "32"},
		{"-", "31"}, {"@@", "36"}} {
		if strings.HasPrefix(line, c.mark) {
			return st.paint(c.colour, line)
		}
	}
	return line
}

// printSubject prints what a verdict is about beside the version itself: what was said of it and of the one before,
// and its criteria with what their commands came to.
func (st style) printSubject(ctx context.Context, w io.Writer, store *gitstore.Store, snap *gitstore.Snapshot,
	t *plan.TaskState) error {
	type judged struct {
		plan.Criterion
		Judge string // or what a command came to
	}
	var criteria []judged
	docs, records := export.DocumentsOf(ctx, store, snap, t.TaskID), snap.Records.Of(t.TaskID)
	reviews, err := export.All(each.If(records.Reviews, func(r plan.ReviewRecord) bool {
		return r.Version >= t.Active-1
	}), docs.Review)
	checks, checksErr := export.All(each.If(records.Checks, func(k plan.CheckRecord) bool {
		return k.Version == t.Active
	}), docs.Check)
	if err := errors.Join(err, checksErr); err != nil {
		return err
	}
	results := map[string]plan.CriterionResult{}
	for _, k := range checks {
		for _, r := range k.Criteria {
			results[r.ID] = r
		}
	}
	for _, c := range t.AcceptanceCriteria {
		who := "a command judges it"
		if c.Manual() {
			who = "a person judges it"
		} else if r := results[c.ID]; r.Result != "" {
			who = r.Result
		}
		criteria = append(criteria, judged{c, who})
	}
	return st.render(w, "subject", struct {
		Reviews  []plan.Review
		Criteria []judged
	}{reviews, criteria})
}

// page prints a text, through the pager that git would use if it is longer than the terminal.
func (e *env) page(ctx context.Context, store *gitstore.Store, text string) error {
	if size := e.sizeOf(e.stdout); size != nil {
		columns, rows := size()
		for line := range strings.Lines(text) {
			rows -= 1 + max(terminal.Cells(line)-2, 0)/max(columns, 1)
		}
		pager, err := store.Git(ctx, "var", "GIT_PAGER")
		if pager = strings.TrimSpace(pager); err == nil && rows < 1 && pager != "" && pager != "cat" {
			cmd := exec.Command("sh", "-c", pager) // no ctx: killed, it would leave the terminal in another mode
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), e.stdout, e.stderr
			cmd.Dir, cmd.Env = e.dir, slices.Concat([]string{"LESS=FRX", "LV=-c"}, e.environ)
			if err := cmd.Run(); err == nil || errors.As(err, new(*exec.ExitError)) {
				return nil // it has shown its own errors
			}
		}
	}
	_, err := io.WriteString(e.stdout, text)
	return err
}
