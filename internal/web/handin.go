package web

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

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
				if !whole || !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
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
