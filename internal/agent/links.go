package agent

import (
	"path"
	"strings"

	"gitwf/internal/plan"
)

// Limits of a link's resolution: the number of links on the way (Linux's limit), and of name components. Without the
// second, thousands of links with long targets would take minutes.
const (
	maxLinks = 40
	maxSteps = 1000
)

// checkLinks judges every link by the listing, not by the file system: it matters where the link leads in the artifact,
// and a listing does not change between two looks.
func (c *collection) checkLinks() {
	t := tree{files: map[string]bool{}, dirs: map[string]bool{".": true}, links: c.links, toDir: map[string]string{}}
	for _, f := range c.files {
		t.files[f.Path] = true
		for d := path.Dir(f.Path); !t.dirs[d]; d = path.Dir(d) {
			t.dirs[d] = true
		}
	}
	for _, f := range c.files {
		if f.Mode != ModeSymlink {
			continue
		}
		switch end, problem := t.resolve(f.Path); {
		case problem != "":
			c.badLink(f, problem)
		case within(f.Path, end):
			c.badLink(f, "a directory that the link itself is in")
		case t.dirs[end]:
			t.toDir[f.Path] = end
		}
	}
	c.checkNested(t.toDir)
}

// checkNested refuses a link to a directory that has another such link below it: two of them, each in the directory
// that the other leads to, make an endless tree. Not every nesting does, but telling them apart is worth nothing.
func (c *collection) checkNested(toDir map[string]string) {
	holds := map[string]string{} // directory -> a link to a directory below it
	for _, f := range c.files {
		if _, ok := toDir[f.Path]; ok {
			for d := path.Dir(f.Path); holds[d] == ""; d = path.Dir(d) {
				holds[d] = f.Path
			}
		}
	}
	for _, f := range c.files {
		if end, ok := toDir[f.Path]; ok && holds[end] != "" {
			c.badLink(f, "a directory with another link to a directory in it, "+visible(holds[end]))
		}
	}
}

func (c *collection) badLink(f File, problem string) {
	c.report(f.Path, RuleSymlink, "a relative target inside WF_OUT", visible(f.Target)+": "+problem)
}

// tree is an artifact as its listing shows it. Like git, it has no empty directories.
type tree struct {
	files map[string]bool // and links
	dirs  map[string]bool
	links map[string]string
	toDir map[string]string // links to directories, with the directory
}

// resolve follows the link at name to its end, or says why there is none.
func (t tree) resolve(name string) (end, problem string) {
	at := path.Dir(name)
	todo := []string{path.Base(name)}
	for hops, steps := 0, 0; len(todo) > 0; steps++ {
		if steps > maxSteps {
			return "", "a longer way than can be followed"
		}
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", "outside of WF_OUT"
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, c)
		target, isLink := t.links[next]
		switch {
		case isLink && path.IsAbs(target), isLink && strings.Contains(target, ":"):
			return "", "an absolute path"
		case isLink:
			if hops++; hops > maxLinks {
				return "", "a loop"
			}
			todo = append(strings.Split(target, "/"), todo...)
		case t.dirs[next], t.files[next] && len(todo) == 0:
			at = next
		case t.files[next]:
			return "", visible(next) + " is not a directory"
		default:
			return "", "there is no file " + visible(next)
		}
	}
	return at, ""
}

// within reports whether a path is below a directory.
func within(name, dir string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

// collisions reports names of files or directories that coincide on a file system which ignores case or Unicode
// composition.
func (c *collection) collisions() {
	seen := map[string]string{}
	for _, f := range c.files {
		for name := f.Path; name != "."; name = path.Dir(name) {
			key := plan.FoldPath(name)
			first, ok := seen[key]
			if !ok {
				seen[key] = name
				continue
			}
			if first != name {
				c.report(f.Path, RuleCollision, "names that differ in more than case and composition",
					visible(name)+" and "+visible(first))
			}
			break // the directories above it were checked with the first
		}
	}
}
