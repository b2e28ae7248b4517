package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// act carries out a person's decision with the command that would do it on the command line, and goes back to the page.
// By now guard.go has checked that the request comes from the page itself. Form values become part of a flag
// ("--message=...") or follow "--", so that none of them can become a flag.
func (s *Server) act(w http.ResponseWriter, r *http.Request) error {
	snap, state, err := s.asked(r)
	if err != nil {
		return err
	}
	name, back := r.PathValue("action"), planURL(snap.ID)
	args := []string{name, "--plan=" + string(snap.ID)}
	var flags, words []string // after "--"
	switch name {
	case "export":
		for _, flag := range []string{"commit", "partial", "allow-stale", "final-only"} {
			if slices.Contains(r.PostForm["option"], flag) {
				flags = append(flags, "--"+flag)
			}
		}
	case "land": // every approved change
	case "run":
		s.tellNext(w, r, back, s.run(snap.ID))
		return nil
	case "stop":
		s.tellNext(w, r, back, s.stopRun(snap.ID))
		return nil
	case "pause", "resume", "complete":
		flags = given(r, "message")
	default:
		t := state.Tasks[plan.TaskID(r.PostFormValue("task"))]
		if t == nil {
			return notFound("there is no such task in %s", snap.ID)
		}
		words = []string{"--", string(t.TaskID)}
		if r.PostFormValue("from") != "plan" {
			back = planURL(snap.ID, "task", string(t.TaskID))
		}
		if flags, err = decision(name, state, t, r); err != nil {
			return s.refused(w, r, back, err)
		}
	}
	switch t := state.Tasks[plan.TaskID(r.PostFormValue("task"))]; name {
	case "submit":
		if written(r, "commit") != "" {
			break
		}
		dir, paths, err := handedIn(r, t.DeliverableSpec, func(name string) string {
			v, _ := snap.Records.Of(t.TaskID).Version(t.Active)
			data, _ := s.Store.ReadFile(r.Context(), v.Files, name) // none: the form began with nothing
			return strings.ReplaceAll(string(data), "\r\n", "\n")
		})
		defer os.RemoveAll(dir)
		if err != nil {
			return s.refused(w, r, back, err)
		}
		words = append(words, paths...)
	case "answer":
		dir, files, err := uploaded(r)
		defer os.RemoveAll(dir)
		if err != nil {
			return s.refused(w, r, back, err)
		}
		flags = append(flags, files...)
		if text := written(r, "text"); text == "-" { // which would be standard input
			words = append(words, "- ")
		} else if text != "" {
			words = append(words, text)
		}
	}
	// The decision was made: a browser that leaves the page does not cancel it.
	s.tellNext(w, r, back, s.Commands(context.WithoutCancel(r.Context()), slices.Concat(args, flags, words)))
	return nil
}

// tellNext goes back to a page, which shows how a command ended.
func (s *Server) tellNext(w http.ResponseWriter, r *http.Request, back string, o Outcome) {
	o.Output = plain.Text(o.Output)
	key := rand.Text()
	s.outcomes.keep(key, o)
	http.Redirect(w, r, back+"?said="+key, http.StatusSeeOther)
}

// refused says on the page what is wrong with one of its forms, so that it can be mended there. What is not about the
// form stays an error.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, back string, err error) error {
	var p *problem
	if !errors.As(err, &p) || p.status == http.StatusNotFound {
		return err
	}
	s.tellNext(w, r, back, Outcome{Output: "error: " + p.text})
	return nil
}

// written is a text of a form, with line ends as in files.
func written(r *http.Request, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n"))
}

// given are the fields of a form that say something, as flags of the same names.
func given(r *http.Request, names ...string) (flags []string) {
	for _, name := range names {
		if text := written(r, name); text != "" {
			flags = append(flags, "--"+name+"="+text)
		}
	}
	return flags
}

// decision is what a form says about one task, as flags.
func decision(name string, s *plan.State, t *plan.TaskState, r *http.Request) ([]string, error) {
	switch name {
	case "answer":
		return given(r, "question", "option", "for"), nil
	case "review":
		return reviewArgs(t, s.RubricOf(t.TaskID), r)
	case "abandon":
		if r.PostFormValue("sure") == "" {
			return nil, badRequest("to give a task up, say that you mean it")
		}
	case "retry", "rerun":
	case "submit":
		if t.DeliverableSpec == nil {
			return nil, badRequest("%s is no task that makes a deliverable", t.TaskID)
		}
		return given(r, "commit", "message"), nil
	default:
		return nil, notFound("there is no such action")
	}
	return given(r, "message"), nil
}

// reviewArgs are the verdict and the form's rulings on the criteria that a person judges.
func reviewArgs(t *plan.TaskState, rubric *plan.Rubric, r *http.Request) ([]string, error) {
	var args []string
	switch r.PostFormValue("verdict") {
	case "holds":
		return append(given(r, "message"), "--still-holds"), nil
	case "approve":
		args = append(args, "--approve")
	case "reject":
		args = append(args, "--reject")
	default:
		return nil, badRequest("the form has no verdict")
	}
	args = append(args, "--artifact="+cmp.Or(r.PostFormValue("version"), "none")) // refused unless it is the newest
	args = append(args, given(r, "score", "as")...)
	if rubric != nil {
		args = append(args, ratingArgs(rubric, r)...)
	}
	for _, c := range t.AcceptanceCriteria {
		word := r.PostFormValue("criterion." + c.ID)
		evidence := written(r, "evidence."+c.ID)
		if !c.Manual() || word == "" && evidence == "" {
			continue // the command knows what it makes of a criterion that it is not told of
		}
		if word != "pass" && word != "fail" {
			word = "none"
		}
		ruling := "--criterion=" + c.ID + "=" + word
		if evidence != "" {
			ruling += ":" + evidence
		}
		args = append(args, ruling)
	}
	return append(args, given(r, "message")...), nil
}

// ratingArgs are the form's ratings of a rubric's dimensions; none where all are empty.
func ratingArgs(rubric *plan.Rubric, r *http.Request) (args []string) {
	rated := false
	for _, name := range rubric.Names() {
		value := written(r, "rating."+name)
		args, rated = append(args, "--rating="+name+"="+cmp.Or(value, "none")), rated || value != ""
	}
	if !rated {
		return nil
	}
	return args
}

// typed is a file of a deliverable that can be written in the page.
type typed struct {
	Path string // in the deliverable
	Text string // of the newest version
}

// How much can be written in the page, beside what is uploaded.
const (
	mostTyped   = 3 // files
	largestText = 64 << 10
)

// typedFiles are the declared files that are text, with what the newest version has; none if there are many.
func typedFiles(ctx context.Context, store *gitstore.Store, t *plan.TaskState, newest *version) (all []typed,
	err error) {
	for _, name := range t.DeliverableSpec.Named() {
		switch strings.ToLower(path.Ext(name)) {
		case "", ".txt", ".md", ".csv", ".json", ".yaml", ".yml", ".html", ".css", ".js", ".sh", ".svg":
		default:
			continue
		}
		f := typed{Path: name}
		if newest != nil {
			for _, have := range newest.Files {
				if have.Path != name {
					continue
				}
				data, whole, err := store.BlobHead(ctx, have.OID, largestText)
				if err != nil {
					return nil, err
				}
				if !whole || !plain.IsText(data, true) {
					return nil, nil
				}
				f.Text = string(data)
			}
		}
		all = append(all, f)
	}
	if len(all) > mostTyped {
		return nil, nil
	}
	return all, nil
}

// handedIn writes what a form hands in for a task to a directory of its own, and returns the paths for the command. Was
// gives the text of a file that the form began with: a file is not taken in the place of what somebody wrote since. The
// caller removes the directory.
func handedIn(r *http.Request, spec *plan.DeliverableSpec, was func(name string) string) (dir string, paths []string,
	err error) {
	if dir, err = os.MkdirTemp("", "git-wf-ui-"); err != nil {
		return "", nil, err
	}
	declared, sent := spec.Named(), formFiles(r)
	have := map[string]bool{}
	paths = []string{dir}
	for _, f := range sent {
		name := path.Join(spec.OutputDir, f.Filename)
		for _, d := range declared {
			if path.Base(d) == f.Filename {
				name = d
			}
		}
		at, err := keepFile(dir, name, f)
		if err != nil {
			return dir, nil, err
		}
		if only := spec.Only(); only != "" && len(sent) == 1 {
			name, paths = only, []string{at} // whatever its name: the command says so
		}
		have[name] = true
	}
	for _, name := range declared {
		text := strings.ReplaceAll(r.PostFormValue("content."+name), "\r\n", "\n")
		switch {
		case strings.TrimSpace(text) == "", have[name] && strings.TrimSpace(text) == strings.TrimSpace(was(name)):
			continue
		case have[name]:
			return dir, nil, badRequest("%s is both written here and chosen as a file: choose none, or empty the text",
				plain.Line(name))
		}
		have[name] = true
		if _, err := keep(dir, name, strings.NewReader(strings.TrimRight(text, "\n")+"\n")); err != nil {
			return dir, nil, err
		}
	}
	if len(have) == 0 {
		return dir, nil, badRequest("nothing is handed in: choose a file, or write one")
	}
	return dir, paths, nil
}

// uploaded writes the files of a form to a directory of their own, under their own names, and returns the flags that
// hand them in. The caller removes the directory.
func uploaded(r *http.Request) (dir string, flags []string, err error) {
	if dir, err = os.MkdirTemp("", "git-wf-ui-"); err != nil {
		return "", nil, err
	}
	for i, f := range formFiles(r) {
		at, err := keepFile(filepath.Join(dir, strconv.Itoa(i)), f.Filename, f) // two may have one name
		if err != nil {
			return dir, nil, err
		}
		flags = append(flags, "--file="+at)
	}
	return dir, flags, nil
}

// formFiles are the files of a form. A browser sends one without a name for a field in which none was chosen.
func formFiles(r *http.Request) (all []*multipart.FileHeader) {
	if r.MultipartForm == nil {
		return nil
	}
	for _, f := range r.MultipartForm.File["file"] {
		if f.Filename != "" {
			all = append(all, f)
		}
	}
	return all
}

func keepFile(dir, name string, f *multipart.FileHeader) (at string, err error) {
	content, err := f.Open()
	if err != nil {
		return "", err
	}
	defer content.Close()
	return keep(dir, name, content)
}

// keep writes a new file below a directory, under a name that somebody sent.
func keep(dir, name string, content io.Reader) (at string, err error) {
	if relpath.Check(name) != nil {
		return "", badRequest("%s is no name for a file that can be handed in", plain.Line(name))
	}
	at = filepath.Join(dir, filepath.FromSlash(name))
	var to *os.File
	if err = os.MkdirAll(filepath.Dir(at), 0o700); err == nil {
		to, err = os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR):
		return "", badRequest("%s is handed in twice, or as a file and as a directory", plain.Line(name))
	case err != nil:
		return "", err
	}
	_, err = io.Copy(to, content)
	return at, errors.Join(err, to.Close())
}
