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
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/each"
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
			words := each.Of(v, func(w any) string { return shell.Word(fmt.Sprint(w)) })
			return strings.Join(words, " ")
		}
	}
	return ""
}

// input is what a tool is called with: an object, or its JSON as a text.
func (ev event) input() (in event) {
	for _, name := range []string{"tool_input", "toolArgs", "args"} {
		if in, ok := ev[name].(map[string]any); ok {
			return in
		}
		if text, ok := ev[name].(string); ok && json.Unmarshal([]byte(text), &in) == nil {
			return in
		}
	}
	return ev
}

// forms are what programs take for an answer: TEXT stands for it, and JSON for it as a string of JSON.
var forms = map[string]string{
	"session-start":        `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":JSON}}`,
	"session-start cursor": `{"additional_context":JSON}`, "session-start opencode": "TEXT", "session-start ": "TEXT",
	"pre-compact": "", "pre-compact claude": "TEXT", "pre-compact opencode": "TEXT", // others begin a session then
	"pre-tool cursor": `{"permission":"deny","agent_message":JSON,"user_message":JSON}`,
	"pre-tool copilot": `{"permissionDecision":"deny","permissionDecisionReason":JSON,"hookSpecificOutput":` +
		`{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":JSON}}`,
	"stop cursor": `{"followup_message":JSON}`,
	"stop copilot": `{"decision":"block","reason":JSON,"hookSpecificOutput":` +
		`{"hookEventName":"Stop","decision":"block","reason":JSON}}`,
}

// answer says something to a vendor's program. Exit code 2 and the reason are what others take.
func (h hooked) answer(text string) error {
	form, known := forms[h.name+" "+h.vendor]
	if !known {
		form, known = forms[h.name]
	}
	quoted, err := json.Marshal(text)
	if err == nil {
		_, err = strings.NewReplacer("TEXT", text, "JSON", string(quoted)).WriteString(h.stdout, form)
	}
	if err == nil && (!known || h.name == "pre-tool" && h.vendor == "cursor") {
		fmt.Fprintln(h.stderr, plain.Text(text))
		return errUnusable
	}
	return err
}

// agentHook answers a vendor's program, for which exit code 2 is a refusal. What could not be looked at ends with 1
// and a line, by which the program goes on: an event that is not known, or a repository that can't be read. So does a
// tool call that could not be checked: the guard is a help, the gate is the proof, and judges whatever lands.
func (e *env) agentHook(c *cli.Context) error {
	const most = 64 << 20
	args := c.Args().Slice() // not parsed: what another version's setup wrote is no error
	h := hooked{env: e, c: c}
	if i := slices.Index(args, "--vendor"); i >= 0 {
		h.vendor = c.Args().Get(i + 1)
	}
	data, err := io.ReadAll(io.LimitReader(e.stdin, most))
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
	if filepath.IsAbs(dir) && isDirectory(dir) {
		e.dir = dir
	}
	h.session = cmp.Or(h.text("session_id", "sessionId", "conversation_id"), e.caller().Session)
	switch h.name = c.Args().First(); h.name {
	case "session-start", "pre-compact":
		var text []byte
		if text, err = e.briefText(c, h.session); err == nil && len(text) > 0 {
			err = h.answer(string(text))
		}
	case "pre-tool":
		err = h.preTool()
	case "stop":
		err = h.stop()
	default:
		err = fault.Refused("git wf agent-hook session-start", "expected session-start, pre-compact, pre-tool "+
			"or stop, found %s", plain.Quote(h.name))
	}
	if code, hint := explain(err); code == fault.ExitUsage && !errors.Is(err, errUnusable) {
		err = fault.Refused(hint, "%w", err)
	}
	return err
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// hooked is an event of a name, and of whom it is.
type hooked struct {
	*env
	c *cli.Context
	event
	name, vendor, session string
}

// writing are the words in the names of tools that write files; patched finds them in a patch.
var (
	writing = pattern.Compile(`(?i)write|edit|replace|patch|create|delete|insert|move|rename`)
	patched = pattern.Compile(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$`)
)

// preTool refuses what goes around the gate, and notes it. No git runs for a call that does not look like that.
func (h hooked) preTool() error {
	in := h.input()
	line := in.text("command", "cmd", "script")
	var paths []string
	for _, m := range patched.Get().FindAllStringSubmatch(cmp.Or(line, in.text("patch", "patchText", "input")), -1) {
		paths, line = append(paths, strings.TrimSpace(m[1])), ""
	}
	if name := in.text("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file"); name != "" &&
		writing.Get().MatchString(h.text("tool_name", "toolName", "tool")) {
		paths = append(paths, name)
	}
	decides := func(words []string) bool { return isDecision(words) && !slices.Contains(words, "--as") }
	refused := guard.Rules{Dir: h.absolute(in.text("workdir", "cwd", "directory", "dir_path")),
		Decides: decides, Writes: h.refuseWrite}.Line(line)
	for _, p := range paths {
		if refused == nil {
			refused = h.refuseWrite(h.absolute(p))
		}
	}
	if refused == nil {
		return nil
	}
	store, err := gitstore.Open(h.c.Context, h.dir)
	if err != nil {
		return nil
	}
	defer store.Close()
	if !h.guards(store) {
		return nil
	}
	err = h.noteTry(store, cmp.Or(h.vendor, "an agent")+": "+refused.What, h.session,
		cmp.Or(line, strings.Join(paths, " ")))
	return errors.Join(h.answer("git wf: "+refused.Error()), err)
}

// guards reports whether git wf is set up in a repository, and not just tried out.
func (h hooked) guards(store *gitstore.Store) bool {
	plans, _ := store.Plans(h.c.Context) // what can't be read refuses nothing
	throwaway, _ := store.Throwaway(h.c.Context)
	return !throwaway && (len(plans) > 0 || isDirectory(filepath.Dir(triesIn(store))))
}

// refuseWrite says what is wrong with writing a file: it is git's own or, outside of a task, protected.
func (h hooked) refuseWrite(name string) *guard.Refusal {
	name = hooks.Resolve(name)
	dir := name
	for !isDirectory(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	store, err := gitstore.Open(h.c.Context, dir)
	if err != nil {
		return nil
	}
	defer store.Close()
	below, err := filepath.Rel(store.CommonDir(), name)
	if err == nil && filepath.IsLocal(below) {
		if guard.Guarded(filepath.ToSlash(below)) && h.guards(store) {
			return guard.Of("files")
		}
		return nil
	}
	head, _ := os.ReadFile(filepath.Join(store.GitDir(), "HEAD"))
	below, err = filepath.Rel(store.WorkTree(), name)
	if err != nil || h.caller().Task != "" || strings.HasPrefix(string(head), "ref: refs/heads/"+gate.WorkBranches) {
		return nil
	}
	policy, err := store.Policy(h.c.Context)
	if err != nil {
		return nil
	}
	below = filepath.ToSlash(below)
	if _, inRoot := policy.RootOf(below); !inRoot && !gate.New(store, policy).Protects(below) {
		return nil
	}
	if _, err := store.Git(h.c.Context, "check-ignore", "-q", "--", name); err == nil {
		return nil // it does not land
	}
	return &guard.Refusal{What: guard.Of("protected").What + " " + name, Instead: guard.Of("protected").Instead}
}

// mostStops is how often the end of a session is refused for the same claim; a user's next message begins anew.
const mostStops = 3

// stop sends an agent back that has a task: with what its checks say, or to hand it in.
func (h hooked) stop() error {
	if h.caller().Task != "" || h.text("status") == "aborted" {
		return nil
	}
	return h.inActivePlan(h.c, func(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
		held, err := h.heldHere(c, eng, snap, h.session)
		if err != nil || len(held) == 0 {
			return err
		}
		t := held[0]
		file := filepath.Join(eng.Store.CommonDir(), "wf", "stops")
		key := fmt.Sprintf("%s %s %d\n", snap.ID, t.TaskID, t.Claim.Number)
		if active, known := h.event["stop_hook_active"].(bool); known && !active {
			_ = os.Remove(file)
		}
		if data, _ := os.ReadFile(file); strings.Count(string(data), key) >= mostStops {
			return nil
		}
		if err := engine.AppendLines(file, strings.TrimSpace(key)); err != nil {
			return err
		}
		return h.answer(fmt.Sprintf("git wf: %s is not handed in yet.\n%sHand it in when it is done: %s\n"+
			"If it can't be done: git wf next %[1]s --release %[4]d -m WHY. "+
			"If you wait for the user, tell them so, and stop again.",
			t.TaskID, h.missing(t, snap.ID), t.HandIn, t.Claim.Number))
	})
}

// missing says what a task's checks find in its worktree or, of one that makes files, which are expected.
func (h hooked) missing(t heldTask, id plan.ID) (text string) {
	if !t.Changes() {
		return fmt.Sprintf("Nothing was submitted for it: files (%s). The tool submit of git-wf takes them, too.\n",
			plain.Line(strings.Join(t.DeliverableSpec.Named(), ", ")))
	}
	if t.Dir == "" {
		return ""
	}
	there := *h.env
	there.dir = t.Dir
	err := there.onEngine(func(c *cli.Context, eng *engine.Engine) error {
		failed, err := eng.Rehearse(c.Context, id, t.TaskID)
		const most = 1500
		for _, r := range failed {
			out := strings.ToValidUTF8(r.Evidence[max(0, len(r.Evidence)-most):], "")
			text += fmt.Sprintf("%s failed, mend it: %s\n%s\n", r.ID, plain.Line(r.Statement), out)
		}
		return err
	})(h.c)
	if err != nil {
		text += plain.Line(err.Error()) + "\n"
	}
	return text
}
