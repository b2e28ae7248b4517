package web

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// act carries out a person's decision with the command that would do it on the command line, and goes back to the page.
// By now guard.go has checked that the request comes from the page itself. Form values become part of a flag
// ("--message=...") or follow "--", so that none of them can become a flag.
func (s *Server) act(w http.ResponseWriter, r *http.Request) error {
	snap, state, err := s.asked(r)
	if err != nil {
		return err
	}
	args := []string{"--plan=" + string(snap.ID)}
	back := planURL(snap.ID)
	name := r.PathValue("action")
	switch name {
	case "export":
		args = exportArgs(args, r)
	case "pause", "resume":
		args = withMessage(args, r)
	default:
		t := state.Tasks[plan.TaskID(r.PostFormValue("task"))]
		if t == nil {
			return notFound("there is no such task in %s", snap.ID)
		}
		back = planURL(snap.ID, "task", string(t.TaskID))
		var clean func()
		args, clean, err = decision(name, args, t, r)
		if err != nil {
			return err
		}
		defer clean()
	}
	// The decision was made: a browser that leaves the page does not cancel it.
	o := s.Commands(context.WithoutCancel(r.Context()), append([]string{name}, args...))
	o.Output = plan.Printable(o.Output)
	key := secret()
	s.outcomes.keep(key, o)
	http.Redirect(w, r, back+"?said="+key, http.StatusSeeOther)
	return nil
}

// written is a text of a form, with line ends as in files.
func written(r *http.Request, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n"))
}

// decision is the rest of a command line about one task, with a function that removes the files that it names.
func decision(name string, args []string, t *plan.TaskState, r *http.Request) ([]string, func(), error) {
	clean := func() {}
	switch name {
	case "answer":
		return answerArgs(args, t, r)
	case "review":
		more, err := reviewArgs(t, r)
		if err != nil {
			return nil, clean, err
		}
		args = append(args, more...)
	case "abandon":
		if r.PostFormValue("sure") == "" {
			return nil, clean, badRequest("to give a task up, say that you mean it")
		}
	case "retry":
	default:
		return nil, clean, notFound("there is no such action")
	}
	return append(withMessage(args, r), "--", string(t.TaskID)), clean, nil
}

// withMessage adds the form's reason to a command line.
func withMessage(args []string, r *http.Request) []string {
	if message := written(r, "message"); message != "" {
		args = append(args, "--message="+message)
	}
	return args
}

// reviewArgs are the verdict and the form's rulings on the criteria that a person judges.
func reviewArgs(t *plan.TaskState, r *http.Request) ([]string, error) {
	var args []string
	switch r.PostFormValue("verdict") {
	case "approve":
		args = append(args, "--approve")
	case "reject":
		args = append(args, "--reject")
	default:
		return nil, badRequest("the form has no verdict")
	}
	if seen, newest := r.PostFormValue("version"), plan.VersionID(t.Active); seen != newest {
		return nil, &problem{http.StatusConflict,
			fmt.Sprintf("%s has a newer version, %s, than the one you looked at, %s: look again", t.TaskID, newest,
				plan.OneLine(seen))}
	}
	args = append(args, "--artifact="+plan.VersionID(t.Active)) // by the time it is locked, there may be a newer one
	if score := r.PostFormValue("score"); score != "" {
		n, err := strconv.Atoi(score)
		if err != nil || n < 0 || n > 100 {
			return nil, badRequest("a score is a number from 0 to 100")
		}
		args = append(args, fmt.Sprintf("--score=%d", n))
	}
	for _, c := range t.AcceptanceCriteria {
		word := r.PostFormValue("criterion." + c.ID)
		if word != "pass" && word != "fail" {
			continue
		}
		ruling := "--criterion=" + c.ID + "=" + word
		if evidence := written(r, "evidence."+c.ID); evidence != "" {
			ruling += ":" + evidence
		}
		args = append(args, ruling)
	}
	return args, nil
}

// answerArgs are a text, an option or files, as the form has them.
func answerArgs(args []string, t *plan.TaskState, r *http.Request) ([]string, func(), error) {
	clean := func() {}
	if q := r.PostFormValue("question"); q != "" {
		args = append(args, "--question="+q)
	}
	if option := r.PostFormValue("option"); option != "" {
		args = append(args, "--option="+option)
	}
	if name := r.PostFormValue("for"); name != "" {
		args = append(args, "--for="+name)
	}
	if r.MultipartForm != nil && len(r.MultipartForm.File["file"]) > 0 {
		dir, names, err := uploaded(r.MultipartForm.File["file"])
		clean = func() { _ = os.RemoveAll(dir) }
		if err != nil {
			clean()
			return nil, func() {}, err
		}
		for _, name := range names {
			args = append(args, "--file="+name)
		}
	}
	args = append(args, "--", string(t.TaskID))
	if text := written(r, "text"); text != "" {
		if text == "-" { // which would be standard input
			text = "- "
		}
		args = append(args, text)
	}
	return args, clean, nil
}

// uploaded writes the files of a form to a directory of their own, under their own names.
func uploaded(files []*multipart.FileHeader) (dir string, names []string, err error) {
	if dir, err = os.MkdirTemp("", "git-wf-ui-"); err != nil {
		return dir, nil, err
	}
	for i, f := range files {
		base := f.Filename // mime/multipart keeps only its last element
		if plan.CheckPath(base) != nil || strings.ContainsAny(base, `/\`) {
			return dir, nil, badRequest("%s is no name for a file that can be handed in", plan.OneLine(base))
		}
		own := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return dir, nil, err
		}
		name := filepath.Join(own, base)
		if err := copyTo(name, f); err != nil {
			return dir, nil, err
		}
		names = append(names, name)
	}
	return dir, names, nil
}

func copyTo(name string, f *multipart.FileHeader) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

func exportArgs(args []string, r *http.Request) []string {
	for _, flag := range []string{"commit", "partial", "allow-stale", "final-only"} {
		if slices.Contains(r.PostForm["option"], flag) {
			args = append(args, "--"+flag)
		}
	}
	return args
}
