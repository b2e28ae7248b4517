package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"gitwf/internal/plain"
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
	key := secret()
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
