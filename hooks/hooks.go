package hooks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
)

// Git runs git in the repository's directory and returns its trimmed standard output. It returns an error if git exits
// with a code other than 0, together with the output so far.
type Git func(ctx context.Context, args ...string) (stdout string, err error)

// Options says where and how to install the hooks.
type Options struct {
	Git     Git      // runs git in the repository
	Program string   // absolute path of git-wf, used if PATH has none; may be empty
	Roots   []string // protected, relative to the top of the worktree; empty means DefaultRoot, "." everything
	Policy  string   // the policy commit that the roots come from; empty if there is none
	Server  bool     // the hooks of a bare repository that others push to, instead of a client's
	Force   bool     // take over a hooks directory that is tracked, or that is configured outside this repository
	Strict  bool     // judge every move of a branch or a plan, too (the reference-transaction hook); not for a server
}

// everywhere, among the roots, stands for the whole worktree.
const everywhere = "."

// gitFiles, as the name of a root, stands for the attributes and modules of git in that directory.
const gitFiles = ".git*"

// DefaultRoot is the protected root of a repository whose policy names none.
const DefaultRoot = "deliverables"

// ErrBare is returned by Install in a bare repository: the hooks of a client never run there.
var ErrBare = errors.New("install hooks: this is a bare repository, where the hooks of a client never " +
	"run; run it in a worktree")

// ErrNotBare is returned by Install, for a server, in a repository with a worktree.
var ErrNotBare = errors.New("install hooks: this is not a bare repository: the hooks of a server belong " +
	"where others push to")

// HooksPathError says that core.hooksPath names a directory that Install may take over only with Force.
type HooksPathError struct {
	Dir     string // the directory where git looks for hooks
	Scope   string // where core.hooksPath is set: local, worktree, global, system or command
	Tracked bool   // this repository tracks files in it
}

func (e *HooksPathError) Error() string {
	switch {
	case e.Scope == scopeCommand:
		return fmt.Sprintf("install hooks: core.hooksPath is set to %s by the command line or the "+
			"environment (-c, GIT_CONFIG_*), which overrides the repository: run it without that", e.Dir)
	case e.Scope == scopeWorktree:
		return fmt.Sprintf("install hooks: core.hooksPath is set to %s for this working tree alone, which overrides "+
			"the repository: git config --worktree --unset core.hooksPath, then install again", e.Dir)
	case e.Tracked:
		return fmt.Sprintf("install hooks: git takes its hooks from %s, which is tracked: `git wf hooks "+
			"install --force` sets core.hooksPath to a directory that calls those hooks first, and "+
			"changes no tracked file", e.Dir)
	}
	return fmt.Sprintf("install hooks: git takes its hooks from %s, set in the %s config: `git wf hooks "+
		"install --force` sets core.hooksPath for this repository to a directory that calls those hooks "+
		"first, and changes nothing else", e.Dir, e.Scope)
}

// Action is one thing that was done or left alone, for a person to read.
type Action struct {
	Path string // the file, directory or config key
	Did  string // what happened to it
}

// Report lists what Install or Uninstall did.
type Report struct {
	Mode    Mode     // how the hooks are installed; empty after Uninstall
	Actions []Action // empty when there was nothing to do
	Hooks   []HookStatus
}

func (r *Report) add(path, did string) { r.Actions = append(r.Actions, Action{path, did}) }

// Mode is how git is made to run the gate.
type Mode string

// The modes; the package comment describes them.
const (
	ModeSection    Mode = "section"
	ModeDispatcher Mode = "dispatcher"
)

// A judge is the question a hook's script asks git before it starts the program.
type judge string

const (
	judgeIndex  judge = "index"  // does the index differ from HEAD below a root
	judgePush   judge = "push"   // the program decides; without it, does a pushed commit touch a root
	judgeReport judge = "report" // the program reports, git ignores the exit code
	judgeRefs   judge = "refs"   // does what a moved branch brings touch a root, does a plan's ref move
	judgeServe  judge = "serve"  // does what is pushed touch a root or name a plan's ref
)

// A spec describes one hook of the gate. A new hook is a new row in the specs and, if it asks git something new, a new
// judge in sh/gate.tmpl.
type spec struct {
	name  string
	judge judge
	stdin bool   // git passes it lines, which both the repository's own hook and the program must see
	what  string // what needs a judgement
}

// strictName is the hook of strict mode.
const strictName = "reference-transaction"

// clientSpecs returns the hooks of a repository in which people work.
func clientSpecs(strict bool) []spec {
	out := []spec{
		{"pre-commit", judgeIndex, false, "this commit touches a protected path"},
		{"pre-merge-commit", judgeIndex, false, "this commit touches a protected path"},
		{"post-merge", judgeReport, false, "this commit touches a protected path"},
		{"pre-push", judgePush, true, "this push touches a protected path"},
	}
	if strict {
		out = append(out, spec{strictName, judgeRefs, true, "what this moves touches a plan or a protected path"})
	}
	return out
}

// serverSpecs returns the hooks of a repository that others push to.
func serverSpecs() []spec {
	return []spec{{"pre-receive", judgeServe, true, "this push touches a plan or a protected path"}}
}

// everySpec returns all hooks that Install ever writes, for removal.
func everySpec() []spec { return append(clientSpecs(true), serverSpecs()...) }

// checkedRoots returns the roots in the form in which they become pathspecs.
func checkedRoots(roots []string) ([]string, error) {
	if len(roots) == 0 {
		return []string{DefaultRoot}, nil
	}
	var out []string
	for _, r := range roots {
		clean := path.Clean(r)
		if r == everywhere {
			return []string{everywhere}, nil
		}
		bad := r == "" || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) ||
			strings.ContainsFunc(r, unicode.IsControl)
		if bad {
			return nil, fmt.Errorf("install hooks: root %q: expected a relative path inside the "+
				"worktree, such as %s", r, DefaultRoot)
		}
		out = append(out, clean)
	}
	return out, nil
}
