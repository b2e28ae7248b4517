package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/checkout"
	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// keepOut sees to it that git passes the views over. It refuses where the index has some of them already: then what is
// written would be committed.
func (v *views) keepOut(ctx context.Context) error {
	dir := viewDir + "/" + string(v.id)
	marker := viewDir + "/" + exchange.Marker(v.id)
	in := func(args ...string) gitstore.Invocation {
		return gitstore.Invocation{Dir: v.store.WorkTree(), Args: append([]string{"--literal-pathspecs"}, args...)}
	}
	tracked, err := v.store.GitIn(ctx, in("ls-files", "-z", "--", dir, marker))
	if err != nil {
		return fmt.Errorf("look whether %s is in the index: %w", dir, err)
	}
	if name, _, some := strings.Cut(string(tracked), "\x00"); some {
		return fault.Refused("git rm -r -q --cached --ignore-unmatch "+shell.Word(dir)+" "+shell.Word(marker)+", and git wf checkout again",
			"%s is in the index; views are kept out of it", plan.OneLine(name))
	}
	var lines []string
	for pattern, probe := range map[string]string{"/" + dir + "/": dir + "/TODO_LIST.md", "/" + marker: marker, "/" +
		viewDir + "/.checkout-*": viewDir + "/.checkout-1"} {
		if v.inView(ctx, probe) {
			lines = append(lines, pattern)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	if err := exclude(ctx, v.store, lines); err != nil {
		return err
	}
	if v.inView(ctx, dir+"/TODO_LIST.md") {
		fmt.Fprintf(v.e.stderr, "warning: a .gitignore of this repository takes %s back into view; git add would take it\n",
			dir)
	}
	return nil
}

// inView reports whether git does not pass a file over. Where it can't say, as behind a symbolic link, nothing is
// written.
func (v *views) inView(ctx context.Context, name string) bool {
	_, err := v.store.GitIn(ctx, gitstore.Invocation{Dir: v.store.WorkTree(),
		Args: []string{"check-ignore", "-q", "--no-index", "--", name}})
	var said *gitstore.GitError
	return errors.As(err, &said) && said.ExitCode == 1
}

// exclude adds patterns to the file that git keeps for this, outside of the working tree. Linked working trees share
// it.
func exclude(ctx context.Context, store *gitstore.Store, patterns []string) error {
	name, err := store.Git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return fmt.Errorf("find the file of what git passes over: %w", err)
	}
	name = filepath.FromSlash(name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	before, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var add strings.Builder
	if len(before) > 0 && before[len(before)-1] != '\n' {
		add.WriteByte('\n')
	}
	have := strings.Split(string(before), "\n")
	for _, p := range patterns {
		if !slices.Contains(have, p) {
			add.WriteString(p + "\n")
		}
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, add.String())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// maxShown is the size in bytes above which a file is not compared for showing.
const maxShown = 1 << 20

// before is what an edit began with: what was written, or, where nobody knows that, what the plan says by now.
func before(ed checkout.Edit) []byte {
	if ed.Base != nil {
		return ed.Base
	}
	return ed.Want
}

// viewDiff is the edit: the difference from what was written, or else from what the plan says by now. git makes it, of
// copies: nothing is read through a link, and no setting of the repository's content is heard. It is "" where there is
// nothing to show.
func viewDiff(ctx context.Context, store *gitstore.Store, ed checkout.Edit) string {
	was, from := before(ed), "plan"
	if ed.Base != nil {
		from = "written"
	}
	if len(ed.Have) > maxShown || len(was) > maxShown {
		return ""
	}
	dir, err := os.MkdirTemp("", "git-wf-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	names := [2]string{path.Join(from, ed.Name), path.Join(viewDir, ed.Name)}
	for i, data := range [][]byte{was, ed.Have} {
		full := filepath.Join(dir, filepath.FromSlash(names[i]))
		if os.MkdirAll(filepath.Dir(full), 0o777) != nil || os.WriteFile(full, data, 0o666) != nil {
			return ""
		}
	}
	// That they differ is what git's exit code says.
	out, _ := store.GitIn(ctx, gitstore.Invocation{Dir: dir, Args: []string{
		"-c", "core.quotePath=false", "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=",
		"--dst-prefix=", "--", names[0], names[1],
	}})
	_, hunks, _ := strings.Cut(string(out), "\n--- ")
	if hunks == "" {
		return plan.Printable(string(out))
	}
	return plan.Printable("--- " + hunks)
}

func (st style) printDiff(w io.Writer, diff string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			line = st.paint("1", line)
		case strings.HasPrefix(line, "@@"):
			line = st.paint("36", line)
		case strings.HasPrefix(line, "-"):
			line = st.paint("31", line)
		case strings.HasPrefix(line, "+"):
			line = st.paint("32", line)
		}
		fmt.Fprintln(w, line)
	}
}

const editPlan = "what the plan says is changed with git wf plan --edit, or git wf plan --amend -m 'what is to change'"

// waysIn says how an edit of a view reaches the plan.
func waysIn(s exchange.Snapshot, id plan.ID, ed checkout.Edit) []string {
	view, task := exchange.ViewOf(id, ed.Name)
	if ed.Gone {
		return []string{"the plan has nothing any more that this file shows; git wf checkout --force removes it and keeps a copy"}
	}
	if ed.Have == nil {
		return nil
	}
	switch view {
	case exchange.ViewTodo:
		return todoEdit(s, ed)
	case exchange.ViewTask:
		return taskEdit(s, task, ed)
	case exchange.ViewSession:
		return []string{"a session is changed with git wf pause, git wf resume, git wf complete and git wf switch; " +
			editPlan}
	case exchange.ViewSummary:
		return []string{fmt.Sprintf("a summary is made of the approved version and its review; another one comes with the next version: git wf submit %s PATH... -m 'what was done'", task)}
	case exchange.ViewMarker:
		return []string{"the active plan is chosen with git wf switch PLAN"}
	}
	return []string{editPlan}
}

func todoEdit(s exchange.Snapshot, ed checkout.Edit) []string {
	var out []string
	want, have := exchange.Ticks(before(ed)), exchange.Ticks(ed.Have)
	for _, t := range s.State.Plan.Tasks {
		was, known := want[t.TaskID]
		is, there := have[t.TaskID]
		switch {
		case !known || !there || was == is:
		case is:
			out = append(out, fmt.Sprintf("%s is ticked: %s", t.TaskID, finish(s, t.TaskID)))
		default:
			out = append(out, fmt.Sprintf("%s is not ticked any more: git wf review %s --reject -m WHY", t.TaskID, t.TaskID))
		}
	}
	if len(out) == 0 || exchange.WithoutTicks(before(ed)) != exchange.WithoutTicks(ed.Have) {
		out = append(out, editPlan)
	}
	return out
}

// finish is how a person brings a task to its end.
func finish(s exchange.Snapshot, id plan.TaskID) string {
	review := fmt.Sprintf("git wf review %s --approve", id)
	switch t := s.State.Tasks[id]; {
	case t != nil && t.Status == plan.StatusDone:
		return "it is approved by now, and git wf checkout --force shows that"
	case t != nil && t.Status == plan.StatusReadyToCheck:
		return review
	}
	return fmt.Sprintf("git wf submit %s PATH..., and then %s", id, review)
}

// taskEdit looks at which fields of a task's document were changed.
func taskEdit(s exchange.Snapshot, id plan.TaskID, ed checkout.Edit) []string {
	var want, have map[string]any
	if json.Unmarshal(before(ed), &want) != nil || json.Unmarshal(ed.Have, &have) != nil || have == nil {
		return []string{"it is no JSON object any more; " + editPlan}
	}
	var out []string
	other := false
	for _, key := range slices.Sorted(maps.Keys(union(want, have))) {
		switch {
		case reflect.DeepEqual(want[key], have[key]):
		case key != "status":
			other = true
		case have[key] == "completed":
			out = append(out, fmt.Sprintf("%s is marked completed: %s", id, finish(s, id)))
		default:
			out = append(out, fmt.Sprintf("the status of %s follows from what was handed in and reviewed: git wf submit, git wf review, git wf abandon", id))
		}
	}
	if other || len(out) == 0 {
		out = append(out, editPlan)
	}
	return out
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// copyViews writes the views once below a directory that has none of that plan yet. Nothing there is overwritten.
func (e *env) copyViews(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	name := c.String("output")
	if name == "" || name == "-" {
		return usage("--output: expected a directory, found %q", name)
	}
	v := &views{e: e, c: c, store: store, id: snap.ID}
	_, files, err := v.files(snap)
	if err != nil {
		return err
	}
	full := e.absolute(name)
	dir := filepath.Join(full, string(snap.ID))
	if _, err := os.Lstat(dir); err == nil {
		return fault.Usage("git wf checkout --output DIR, with another directory; or remove it",
			"%s is there already", plan.OneLine(dir))
	}
	if err := os.MkdirAll(full, 0o777); err != nil {
		return fault.Usage("--output DIR, where you may write", "write %s: %w", plan.OneLine(name), reasonOf(err))
	}
	if err := writeTree(full, files); err != nil {
		return fmt.Errorf("write %s: %w", plan.OneLine(name), err)
	}
	names := slices.Sorted(maps.Keys(files))
	return e.say(c, exported{name, names}, "%s: %s", plan.OneLine(dir), plan.Count(len(names), "file"))
}

// writeTree writes files below a directory, and follows no link out of it.
func writeTree(dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if up := path.Dir(name); up != "." {
			if err := root.MkdirAll(filepath.FromSlash(up), 0o777); err != nil {
				return err
			}
		}
		if err := root.WriteFile(filepath.FromSlash(name), files[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}
