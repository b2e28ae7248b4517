package agent

import (
	"path"
	"strings"

	"gitwf/internal/relpath"
)

// checkLinks refuses every link that does not lead straight to a file of the artifact: not out of it, not to a
// directory (two of those can make an endless tree) and not over another link. It judges by the listing, which, unlike
// the file system, does not change between two looks.
func (c *collection) checkLinks() {
	files := map[string]bool{}
	for _, f := range c.files {
		files[f.Path] = f.Mode != ModeSymlink
	}
	for _, f := range c.files {
		target := strings.TrimPrefix(f.Target, "./")
		straight := !path.IsAbs(target) && path.Clean(target) == target // no ".." behind a name, which might be a link
		if f.Mode == ModeSymlink && !(straight && files[path.Join(path.Dir(f.Path), target)]) {
			c.report(f.Path, RuleSymlink, "the relative path of a file of the artifact, no directory and no link",
				visible(f.Target))
		}
	}
}

// collisions reports names of files or directories that coincide on a file system which ignores case or Unicode
// composition.
func (c *collection) collisions() {
	seen := map[string]string{}
	for _, f := range c.files {
		for name := f.Path; name != "."; name = path.Dir(name) {
			key := relpath.Fold(name)
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
