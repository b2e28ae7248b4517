package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/guard"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// event is what a vendor's program says of a moment of a session: an object whose names differ a little.
type event map[string]any

// text is the first of some fields that is a text, or the words of a command.
func (ev event) text(names ...string) string {
	for _, name := range names {
		switch v := ev[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case []any:
			var words []string
			for _, w := range v {
				words = append(words, shell.Word(fmt.Sprint(w)))
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// input is what a tool is called with: an object, or its JSON as a text.
func (ev event) input() (in event) {
	for _, name := range []string{"tool_input", "toolArgs", "args"} {
		switch v := ev[name].(type) {
		case map[string]any:
			return v
		case string:
			if json.Unmarshal([]byte(v), &in) == nil {
				return in
			}
		}
	}
	return ev
}

// forms are what programs take for an answer: the text as JSON for %s, as it is for "", and nothing for "-".
var forms = map[string]string{
	"session-start":        `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":%s}}`,
	"session-start cursor": `{"additional_context":%s}`, "session-start opencode": "", "session-start ": "",
	"pre-compact": "-", "pre-compact claude": "", "pre-compact opencode": "", // the others begin a session after it
	"pre-tool cursor": `{"permission":"deny","agent_message":%[1]s,"user_message":%[1]s}`,
	"pre-tool copilot": `{"permissionDecision":"deny","permissionDecisionReason":%[1]s,"hookSpecificOutput":` +
		`{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":%[1]s}}`,
	"stop cursor": `{"followup_message":%s}`,
	"stop copilot": `{"decision":"block","reason":%[1]s,"hookSpecificOutput":` +
		`{"hookEventName":"Stop","decision":"block","reason":%[1]s}}`,
}

// answerHook says something to a vendor's program. Exit code 2 and the reason are what others take.
func (e *env) answerHook(hook, vendor, text string) error {
	form, ok := forms[hook+" "+vendor]
	if !ok {
		form, ok = forms[hook]
	}
	quoted, err := json.Marshal(text)
	switch {
	case form == "" && ok:
		_, err = io.WriteString(e.stdout, text)
	case form != "" && form != "-":
		_, err = fmt.Fprintf(e.stdout, form+"\n", quoted)
	}
	if err == nil && (!ok || hook == "pre-tool" && vendor == "cursor") {
		fmt.Fprintln(e.stderr, plain.Text(text))
		return errUnusable
	}
	return err
}

// agentHook answers a vendor's program. Its errors end with 1, which stops no session; 2 would refuse.
func (e *env) agentHook(c *cli.Context) error {
	const most = 64 << 20
	data, err := io.ReadAll(io.LimitReader(e.stdin, most))
	h := hooked{env: e, Context: c, vendor: c.String("vendor"), dir: e.dir}
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &h.event)
	}
	if err != nil {
		return fault.Refused("", "standard input is no event of %s: %w", cmp.Or(plain.Line(h.vendor), "an agent"), err)
	}
	dir := h.text("cwd")
	if roots, ok := h.event["workspace_roots"].([]any); ok && dir == "" && len(roots) > 0 {
		dir = fmt.Sprint(roots[0])
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
		h.dir = dir
	}
	if h.session = h.text("session_id", "sessionId", "conversation_id"); h.session == "" {
		h.session = e.caller().Session
	}
	switch name := c.Args().First(); name {
	case "session-start", "pre-compact":
		var text []byte
		if text, err = e.briefText(c, h.dir, h.session); err == nil && len(text) > 0 {
			err = e.answerHook(name, h.vendor, string(text))
		}
	case "pre-tool":
		return h.preTool()
	case "stop":
		err = h.stop()
	default:
		return fault.Refused("git wf agent-hook session-start", "expected session-start, pre-compact, pre-tool "+
			"or stop, found %s", plain.Quote(name))
	}
	if code, hint := explain(err); code == fault.ExitUsage && !errors.Is(err, errUnusable) {
		err = fault.Refused(hint, "%w", err)
	}
	return err
}

// hooked is an event, and where and of whom it is.
type hooked struct {
	*env
	*cli.Context
	event
	vendor, dir, session string
}

// writing are the words in the names of tools that write files; patched finds them in a patch.
var (
	writing = pattern.Compile(`(?i)write|edit|replace|patch|create|delete|insert|move|rename`)
	patched = pattern.Compile(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$`)
)

func (h hooked) preTool() error {
	_, gitDir := repositoryOf(h.dir)
	common := commonDir(gitDir)
	if gitDir == "" || !isSetUp(common) {
		return nil
	}
	in := h.input()
	line := in.text("command", "cmd", "script")
	var paths []string
	for _, m := range patched.Get().FindAllStringSubmatch(cmp.Or(line, in.text("patch", "patchText", "input")), -1) {
		paths, line = append(paths, strings.TrimSpace(m[1])), ""
	}
	if writing.Get().MatchString(h.text("tool_name", "toolName", "tool")) {
		paths = append(paths, in.text("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file"))
	}
	below := func(p string) string {
		for _, base := range []string{gitDir, common} {
			if rel, err := filepath.Rel(realPath(base), realPath(p)); err == nil && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel)
			}
		}
		return ""
	}
	refused := guard.Rules{Dir: absoluteIn(h.dir, in.text("workdir", "cwd", "directory", "dir_path")),
		Marks: caller.Marks(), GitDir: below, Decides: func(words []string) bool {
			return isDecision(words) && !slices.Contains(words, "--as") && !h.anybodyDecides(h.Context, h.dir)
		}}.Line(line)
	for _, p := range paths {
		if p == "" {
			continue
		}
		if p = absoluteIn(h.dir, p); refused == nil && guard.Guarded(below(p)) {
			refused = guard.Of("files")
		}
		if refused == nil && h.caller().Task == "" && h.protectedHere(h.Context, p, common) {
			refused = &guard.Refusal{What: guard.Of("protected").What + " " + p, Instead: guard.Of("protected").Instead}
		}
	}
	if refused == nil {
		return nil
	}
	const most = 1000
	said := fmt.Sprintf("%s: %s (session %q): %s %.*s", h.now().Local().Format(time.DateTime),
		cmp.Or(h.vendor, "an agent"), h.session, refused.What, most, cmp.Or(line, strings.Join(paths, " ")))
	err := engine.AppendLines(filepath.Join(common, "wf", "tries"), plain.Line(said))
	return cmp.Or(err, h.answerHook("pre-tool", h.vendor, "git wf: "+refused.Error()))
}

// anybodyDecides reports whether who calls passes for a person here, as in a throwaway repository.
func (e *env) anybodyDecides(c *cli.Context, dir string) bool {
	store, err := gitstore.Open(c.Context, dir)
	if err != nil {
		return false
	}
	defer store.Close()
	ok, err := store.Throwaway(c.Context)
	return ok && err == nil
}

func absoluteIn(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// realPath is a path without links, as far as it exists.
func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	dir := filepath.Dir(p)
	if dir == p {
		return p
	}
	return filepath.Join(realPath(dir), filepath.Base(p))
}

// repositoryOf finds the worktree of a path, and its git directory, without asking git: this runs before every call.
func repositoryOf(dir string) (top, gitDir string) {
	for {
		gitDir = filepath.Join(dir, ".git")
		info, err := os.Stat(gitDir)
		switch data, _ := os.ReadFile(gitDir); {
		case err == nil && info.IsDir():
			return dir, gitDir
		case err == nil:
			link, _ := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			return dir, absoluteIn(dir, link)
		case filepath.Dir(dir) == dir:
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

// commonDir is what all worktrees of a git directory share.
func commonDir(gitDir string) string {
	if data, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		return absoluteIn(gitDir, strings.TrimSpace(string(data)))
	}
	return gitDir
}

func isSetUp(common string) bool {
	return slices.ContainsFunc([]string{"wf", "wf-hooks-seen", "refs/workflow"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(common, name))
		return err == nil
	})
}

// protectedHere reports whether a path of the repository is one that only approved work changes, and not in a worktree
// of a task.
func (e *env) protectedHere(c *cli.Context, p, common string) bool {
	top, gitDir := repositoryOf(filepath.Dir(p))
	if gitDir == "" || realPath(commonDir(gitDir)) != realPath(common) {
		return false
	}
	head, _ := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	rel, err := filepath.Rel(realPath(top), realPath(p))
	if err != nil || strings.HasPrefix(string(head), "ref: refs/heads/"+gate.WorkBranches) {
		return false
	}
	store, err := gitstore.Open(c.Context, top)
	if err != nil {
		return false
	}
	defer store.Close()
	policy, err := store.Policy(c.Context)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	_, inRoot := policy.RootOf(rel)
	return inRoot || gate.New(store, policy).Protects(rel)
}

// mostStops is how often in a row the end of a session is refused for the same claim.
const mostStops = 3

// stop sends an agent back that has a task: with what its checks say, or to hand it in.
func (h hooked) stop() error {
	if h.caller().Task != "" || h.text("status") == "aborted" {
		return nil
	}
	return h.inActivePlan(h.Context, h.dir, func(eng *engine.Engine, snap *gitstore.Snapshot) error {
		claims, err := eng.ClaimStates(h.Context.Context, snap.ID)
		if err != nil {
			return err
		}
		held, err := h.heldHere(h.Context, eng, snap, claims, h.session)
		if err != nil || len(held) == 0 {
			return err
		}
		t := held[0]
		active, known := h.event["stop_hook_active"].(bool)
		if ok, err := countStop(filepath.Join(eng.Store.CommonDir(), "wf", "stops"),
			fmt.Sprintf("%s %s %d", snap.ID, t.TaskID, t.Claim.Number), known && !active); !ok {
			return err
		}
		why, where := fmt.Sprintf("git wf: %s is not handed in yet.\n", t.TaskID), ""
		if t.Dir != "" && t.Changes() {
			where = "cd " + shell.Word(t.Dir) + " && "
			failed, err := h.rehearse(t, snap.ID)
			if err != nil {
				why += plain.Line(err.Error()) + "\n"
			}
			const most = 1500
			for _, r := range failed {
				out := strings.ToValidUTF8(r.Evidence[max(0, len(r.Evidence)-most):], "")
				why += fmt.Sprintf("%s failed, mend it: %s\n%s\n", r.ID, plain.Line(r.Statement), out)
			}
		}
		return h.answerHook("stop", h.vendor, fmt.Sprintf("%sHand it in when it is done: %s%s\nIf it can't be done: "+
			"git wf next %s --release %d -m WHY. If you wait for the user, tell them so, and stop again.", why, where,
			t.HandIn, t.TaskID, t.Claim.Number))
	})
}

// rehearse runs the checks of a task in its worktree.
func (h hooked) rehearse(t heldTask, id plan.ID) ([]plan.CriterionResult, error) {
	store, err := gitstore.Open(h.Context.Context, t.Dir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	eng, err := h.engine(h.Context, store)
	if err != nil {
		return nil, err
	}
	return eng.Rehearse(h.Context.Context, id, t.TaskID)
}

// countStop counts in a file how often in a row the end of a session was refused for a claim, and whether it may be
// once more.
func countStop(file, key string, anew bool) (bool, error) {
	data, _ := os.ReadFile(file)
	was, number, _ := strings.Cut(strings.TrimSpace(string(data)), "\t")
	n, _ := strconv.Atoi(number)
	if was != key || anew {
		n = 0
	}
	if n >= mostStops {
		return false, nil
	}
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	if err == nil {
		err = os.WriteFile(file, fmt.Appendf(nil, "%s\t%d\n", key, n+1), 0o600)
	}
	return err == nil, err
}
