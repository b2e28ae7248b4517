package vendor

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/templates"
)

// A Vendor is one whose program git wf can be set up for.
type Vendor struct {
	Name  string
	Home  string   // the directory of the user's files, below that of the user
	Env   string   // the variable that names another one
	Needs []string // what its user has left to do, in sentences
	User  []string // the same, for the user's files
	Files []File

	others []Vendor
}

// A File is one that its program reads.
type File struct {
	Path string // in the repository; "" if it is the user's alone
	User string // below Home; "" if it is the repository's alone
	From string // the file below templates/setup
	As   string // how it gets there: block, json, or file for one of our own
}

func load() ([]Vendor, error) {
	var table struct{ Vendors []Vendor }
	data, err := templates.FS.ReadFile("setup/vendors.yaml")
	if err == nil {
		err = document.ReadSettings("vendors.yaml", data, &table)
	}
	return table.Vendors, err
}

// Named is the vendor of a name.
func Named(name string) (Vendor, error) {
	all, err := load()
	for _, v := range all {
		if v.Name == name {
			v.others = all
			return v, err
		}
	}
	return Vendor{}, cmp.Or(err, fault.Usage("git wf setup --help", "no vendor is called %s", plain.Quote(name)))
}

// Dir is the directory of the user's files.
func (v Vendor) Dir(getenv func(string) string) string {
	if dir := getenv(v.Env); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(cmp.Or(getenv("HOME"), getenv("USERPROFILE")), filepath.FromSlash(v.Home))
}

// A Change is what becomes of one file.
type Change struct {
	Path          string `json:"path"`
	State         string `json:"state"` // present, missing, outdated; kept, if it stays as it is for Why
	Why           string `json:"why,omitempty"`
	Wanted        string `json:"-"` // what a new file has
	Before, After string `json:"-"`
	Exists, Gone  bool   `json:"-"` // there is a file; there will be none
	Failed        bool   `json:"-"` // it should not have stayed as it is
}

// Does reports whether anything is to be written.
func (c Change) Does() bool { return c.Before != c.After || c.Gone }

// Lines are those that go, each after a minus, and those that come, after a plus.
func (c Change) Lines() (lines []string) {
	texts := [][]string{strings.Split(c.Before, "\n"), strings.Split(c.After, "\n")}
	for i, mark := range []string{"-", "+"} {
		for _, line := range texts[i] {
			if line != "" && !slices.Contains(texts[1-i], line) {
				lines = append(lines, mark+strings.TrimRight(line, "\r"))
			}
		}
	}
	return lines
}

// Plan says what setting up, or taking away, changes below a directory: the worktree or, for the user's files, the
// vendor's. A link that leads out of it is not followed.
func (v Vendor) Plan(dir string, user, remove bool) (changes []Change, err error) {
	root, err := os.OpenRoot(dir)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, root.Close()) }()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	seen := map[string]bool{"": true} // by what a link leads to
	for _, f := range v.Files {
		c := Change{Path: f.Path}
		if user {
			c.Path = f.User
		}
		target := c.Path
		if to, err := os.Readlink(filepath.Join(dir, target)); err == nil {
			target = path.Join(path.Dir(target), filepath.ToSlash(to))
		}
		if seen[target] {
			continue
		}
		seen[target] = true
		text, err := templates.FS.ReadFile("setup/" + f.From)
		if err != nil {
			return nil, err
		}
		c.fill(root, piece{path.Base(c.Path), string(text)}, f.As, remove)
		if other := v.sharer(root, c.Path); remove && c.Does() && other != "" && !user {
			c = Change{Path: c.Path, State: "kept", Why: other + " reads it, too"}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// fill looks at the file and says what becomes of it.
func (c *Change) fill(root *os.Root, p piece, as string, remove bool) {
	text, err := "", error(nil)
	c.Wanted, _ = p.add(as, "", false) // which no file is in the way of
	if c.Before, c.Exists, err = read(root, c.Path); err == nil && c.Exists {
		text, c.Gone, err = p.take(as, c.Before)
	}
	with := c.Before
	if err == nil && !remove {
		with, err = p.add(as, text, c.Exists && !c.Gone)
	}
	switch {
	case err != nil:
		c.State, c.Why, c.Failed, c.After, c.Gone = "kept", err.Error(), !remove, c.Before, false
	case remove:
		c.After = text
	case c.Exists && sameMarks(with, c.Before):
		c.State, c.After, c.Gone = "present", c.Before, false
	case c.Gone || c.Exists && text != c.Before:
		c.State, c.After, c.Gone = "outdated", with, false
	default:
		c.State, c.After = "missing", with
	}
}

// read reads a file that can be written, too.
func read(root *os.Root, name string) (text string, exists bool, err error) {
	if root == nil {
		return "", false, nil
	}
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular() || info.Size() > 4<<20:
		return "", true, errors.New("it is a directory, or no file that can be changed")
	case info.Mode().Perm()&0o200 == 0:
		return "", true, errors.New("it is read-only: chmod u+w " + name)
	}
	data, err := root.ReadFile(name)
	return string(data), true, err
}

// sharer is another vendor that reads a file and is set up, as its hooks tell; "" if there is none.
func (v Vendor) sharer(root *os.Root, name string) string {
	for _, o := range v.others {
		reads := func(f File) bool { return f.Path == name }
		hooked := func(f File) bool {
			text, _, _ := read(root, "./"+f.Path) // a file that can't be read tells nothing
			return strings.Contains(text, "--vendor "+o.Name)
		}
		if o.Name != v.Name && slices.ContainsFunc(o.Files, reads) && slices.ContainsFunc(o.Files, hooked) {
			return o.Name
		}
	}
	return ""
}

// Write carries changes below a directory out.
func Write(dir string, changes []Change) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err != nil || !c.Does() {
			continue
		}
		now, exists, readErr := read(root, c.Path)
		switch {
		case readErr != nil || now != c.Before || exists != c.Exists: // somebody has looked at it for a while
			err = fault.Refused("git wf setup again", "%s has changed meanwhile", c.Path)
		case c.Gone:
			err = root.Remove(c.Path)
			for in := path.Dir(c.Path); err == nil && in != "." && root.Remove(in) == nil; in = path.Dir(in) {
			}
		default:
			if err = root.MkdirAll(path.Dir(c.Path), 0o777); err == nil {
				err = replace(root, c.Path, []byte(c.After))
			}
		}
	}
	_ = os.Remove(dir) // which goes only if nothing is in it
	return errors.Join(err, root.Close())
}

// replace writes a file in one step: a kill leaves the old one or the new one. A link stays a link.
func replace(root *os.Root, name string, text []byte) error {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return root.WriteFile(name, text, 0o666)
	}
	fresh := name + ".git-wf.tmp"
	failed := root.WriteFile(fresh, text, 0o666)
	if failed == nil && err == nil {
		failed = root.Chmod(fresh, info.Mode().Perm())
	}
	if failed == nil {
		return root.Rename(fresh, name)
	}
	return errors.Join(failed, root.Remove(fresh))
}
