package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// File is one file of an artifact.
type File struct {
	Path   string // below the root of the artifact, with slashes
	Mode   string // as git writes it: ModeFile, ModeExecutable or ModeSymlink
	Size   int64  // bytes; of a link, of its target's name
	Target string // of a link, with slashes
	Source string // where its bytes are; "" if at its path below the collected directory
}

// The modes that a file of an artifact can have.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
)

// Rule is what an output must keep to be an artifact.
type Rule string

// The rules.
const (
	RuleEmpty      Rule = "nothing was written"
	RuleMissing    Rule = "a declared file is missing"
	RuleNoMatch    Rule = "no file fits a declared pattern"
	RulePattern    Rule = "the declared name is not a pattern"
	RuleUndeclared Rule = "the file is not declared"
	RuleSingleFile Rule = "the deliverable is a single file"
	RuleSymlink    Rule = "a symbolic link must lead to a file of the artifact"
	RuleType       Rule = "not a regular file"
	RuleUnreadable Rule = "can't be read"
	RuleChanged    Rule = "changed while it was collected"
	RuleTooBig     Rule = "too many bytes"
	RuleTooMany    Rule = "too many files"
	RuleName       Rule = "the name is not allowed"
	RuleCollision  Rule = "two names are the same on some systems"
	RuleTwice      Rule = "handed in twice"
)

// CollectError is one rule that an output breaks at one place.
type CollectError struct {
	Path string // below WF_OUT, as the file system has it
	Rule Rule
	Want string
	Got  string
}

func (e *CollectError) Error() string {
	where := visible(e.Path)
	if e.Path == "." || e.Path == "" {
		where = "WF_OUT"
	}
	return fmt.Sprintf("%s: %s: want %s, got %s", where, e.Rule, e.Want, e.Got)
}

// Exit has no hint: the error says what is wanted.
func (e *CollectError) Exit() (int, string) { return fault.ExitUsage, "" }

// maxProblems is how many broken rules one error lists: an agent wants them all, a reader not a thousand.
const maxProblems = 20

// Collect decides what the artifact in the directory out is, after the agent has ended. It lists the files by path if
// they keep every rule and match what spec declares. A spec without filename and files declares everything below its
// output_dir. Zero limits mean the defaults. Like git, it ignores empty directories.
//
// The error is a *CollectError, or joins several. Collect reads only names and file metadata. So whoever reads the
// bytes later must also open each file below out without following links.
func Collect(out string, spec *plan.DeliverableSpec, limits plan.Config) ([]File, error) {
	c := newCollection(limits)
	if err := walk(out, c.visit); err != nil {
		return nil, err // a walk that was cut short can't tell what is missing
	}
	return c.judge(spec)
}

// Gather is Collect for files that lie elsewhere and stay there. It takes everything below a directory as it is, and a
// file under its own name, below the spec's output_dir; a file alone, where one is declared, is that one.
func Gather(paths []string, spec *plan.DeliverableSpec, limits plan.Config) ([]File, error) {
	c := newCollection(limits)
	dir := ""
	if spec != nil {
		dir = strings.TrimPrefix(path.Clean("/"+spec.OutputDir), "/")
	}
	for _, p := range paths {
		if err := c.gather(p, dir); err != nil {
			return nil, err
		}
	}
	if name := spec.Only(); name != "" && len(paths) == 1 && c.single {
		c.files[0].Path = name
	}
	return c.judge(spec)
}

// gather collects what lies at one path. The path may be a link: the person named it.
func (c *collection) gather(name, outputDir string) error {
	real, err := filepath.EvalSymlinks(name)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil {
		return fault.Usage("", "submit %s: %w", plain.Line(name), fault.Reason(err))
	}
	if c.single = !info.IsDir(); c.single {
		c.source = func(string) string { return real }
		return c.visit(nil, path.Join(outputDir, filepath.Base(name)), info)
	}
	c.source = func(below string) string { return filepath.Join(real, filepath.FromSlash(below)) }
	return walk(real, c.visit)
}

func newCollection(limits plan.Config) *collection {
	limits.OrElse(plan.DefaultConfig())
	return &collection{limits: limits}
}

// judge checks everything found against the rules.
func (c *collection) judge(spec *plan.DeliverableSpec) ([]File, error) {
	if spec == nil {
		spec = &plan.DeliverableSpec{}
	}
	sort.SliceStable(c.files, func(i, j int) bool { return c.files[i].Path < c.files[j].Path })
	for i := range c.files[min(1, len(c.files)):] {
		if a, b := c.files[i], c.files[i+1]; a.Path == b.Path {
			c.report(a.Path, RuleTwice, "one file of each path", visible(a.Source)+" and "+visible(b.Source))
		}
	}
	if err := c.declared(spec); err != nil {
		return nil, err
	}
	c.collisions()
	c.checkLinks()
	return c.files, c.err()
}

// collection is what we have found so far, and what is wrong with it.
type collection struct {
	source   func(name string) string // where a file's bytes are; nil if they are in place
	single   bool                     // the last path that was gathered is a file
	limits   plan.Config
	files    []File
	bytes    int64
	problems []*CollectError
}

// visit adds one file. Its error ends the walk: a limit is exceeded.
func (c *collection) visit(root *os.Root, name string, info fs.FileInfo) error {
	f := File{Path: name, Mode: ModeFile, Size: info.Size()}
	if c.source != nil {
		f.Source = c.source(name)
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(filepath.FromSlash(name))
		if err != nil {
			return unreadable(name, err)
		}
		f.Mode, f.Target = ModeSymlink, filepath.ToSlash(target)
		f.Size = int64(len(f.Target))
	case !mode.IsRegular():
		c.report(name, RuleType, "a file, a directory or a symbolic link", typeName(info))
	case mode&0o400 == 0 && runtime.GOOS != "windows":
		c.report(name, RuleUnreadable, "a file that its owner can read", mode.String())
	case mode&0o100 != 0:
		f.Mode = ModeExecutable
	}
	if err := relpath.Check(name); err != nil {
		c.report(name, RuleName, "a name that is safe on every system and that git does not interpret", err.Error())
	}
	c.files = append(c.files, f)
	if len(c.files) > c.limits.MaxArtifactFiles {
		return &CollectError{".", RuleTooMany, fmt.Sprintf("at most %d files (max_artifact_files)",
			c.limits.MaxArtifactFiles), "more"}
	}
	c.bytes += f.Size
	if f.Size > c.limits.MaxArtifactBytes || c.bytes > c.limits.MaxArtifactBytes {
		return &CollectError{name, RuleTooBig, fmt.Sprintf("at most %d bytes in all (max_artifact_bytes)",
			c.limits.MaxArtifactBytes),
			fmt.Sprintf("a file of %d bytes that makes it more", f.Size)}
	}
	return nil
}

// declared compares the files with the spec. It fails on an invalid pattern.
func (c *collection) declared(spec *plan.DeliverableSpec) error {
	patterns, err := patternsOf(spec)
	if err != nil {
		return err
	}
	if len(c.files) == 0 {
		c.report(".", RuleEmpty, describe(patterns), "no file")
		return nil
	}
	used, undeclared := make([]bool, len(patterns)), 0
	for _, f := range c.files {
		known := false
		for i, p := range patterns {
			if p.match(f.Path) {
				known, used[i] = true, true
			}
		}
		if !known {
			undeclared++
			c.report(f.Path, RuleUndeclared,
				describe(patterns)+" (temporary files belong elsewhere)", "this file")
		}
	}
	for i, p := range patterns {
		if !used[i] && !p.optional {
			rule := RuleMissing
			if relpath.IsPattern(p.glob) {
				rule = RuleNoMatch
			}
			c.report(p.String(), rule, "a file "+p.String(), c.names())
		}
	}
	if spec.SingleFile && len(c.files)-undeclared > 1 {
		c.report(".", RuleSingleFile, "one file", c.names())
	}
	return nil
}

// names lists the files, as many as a message can hold.
func (c *collection) names() string {
	return strings.Join(plain.Some(c.files, 5, func(f File) string { return visible(f.Path) }), ", ")
}

func (c *collection) report(path string, rule Rule, want, got string) {
	c.problems = append(c.problems, &CollectError{path, rule, want, got})
}

func (c *collection) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b *CollectError) int { return strings.Compare(a.Path, b.Path) })
	var errs []error
	for i, p := range c.problems {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("and %d more", len(c.problems)-maxProblems))
			break
		}
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// visible is a name for a message: quoted if it has unprintable characters.
func visible(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// pattern is a declared path: the spec's output_dir, "" for the root of the artifact, then a pattern of internal/glob.
type pattern struct {
	dir      string
	glob     string
	optional bool // nothing need match
}

// patternsOf returns the paths that a spec declares, at least one.
func patternsOf(spec *plan.DeliverableSpec) ([]pattern, error) {
	names := slices.Clone(spec.Files)
	if spec.Filename != "" {
		names = append([]string{spec.Filename}, names...)
	}
	dir := path.Clean(spec.OutputDir)
	if dir == "." || dir == "/" {
		dir = ""
	}
	if len(names) == 0 {
		return []pattern{{dir: dir, glob: "**", optional: true}}, nil
	}
	var patterns []pattern
	for _, n := range names {
		p := pattern{dir: dir, glob: path.Clean(n)}
		if err := glob.Check(p.glob); err != nil {
			return nil, &CollectError{Path: n, Rule: RulePattern, Want: "a pattern of names, * ? [a-z] and **",
				Got: err.Error()}
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func (p pattern) String() string { return path.Join(p.dir, p.glob) }

// match reports whether the pattern stands for the file.
func (p pattern) match(file string) bool {
	below, inside := file, true
	if p.dir != "" {
		below, inside = strings.CutPrefix(file, p.dir+"/")
	}
	return inside && glob.Match(p.glob, below)
}

// describe lists the declared patterns for a message.
func describe(patterns []pattern) string {
	return "what is declared: " + strings.Join(plain.Some(patterns, 5, pattern.String), ", ")
}

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

// collisions reports names that coincide on a file system which ignores case or Unicode composition.
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
