package plandoc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// What becomes of a task when a step of its preparation fails.
const (
	SkipOptional       = "skip_optional"       // go on; the step's result is empty
	failTask           = "fail"                // the attempt has failed; also where nothing is said
	RetryOnce          = "retry_once"          // once more, then fail
	ManualIntervention = "manual_intervention" // ask a person
)

// stepForm says what a step's command is.
type stepForm string

// The forms.
const (
	StepShell  stepForm = "shell"  // a command line for the shell: bash(...), or the line itself
	StepRead   stepForm = "read"   // Read(path): a file of the repository
	StepSearch stepForm = "search" // Search(pattern) or Grep(pattern, path): lines of the repository's files
	stepFind   stepForm = "find"   // Glob(pattern): names of the repository's files
	StepAdvice stepForm = "advice" // nothing that the program can run: for the agent to read
)

// StepCommand is one command of a step.
type StepCommand struct {
	Written string // as it stands in the plan
	Path    string // where in the task it stands
	Form    stepForm
	Line    string // of StepShell the line that runs, which has to be trusted
	Bash    bool   // it was written as bash(...)
	Args    []string
}

// Step is one entry of flow_control.pre_analysis.
type Step struct {
	Name           string // unique in the task
	Action         string
	Commands       []StepCommand
	OutputTo       string // the name under which later steps refer to its output, "" for none
	OnError        string // as written, or failTask
	TimeoutSeconds int    // zero means the default
}

// Runs reports whether the program has something to do for the step.
func (s Step) Runs() bool {
	return slices.ContainsFunc(s.Commands, func(c StepCommand) bool { return c.Form != StepAdvice })
}

// PreparationLines are the command lines that run before an attempt at the task does, in order.
func PreparationLines(t *plan.Task) []string {
	return each.Of(stepLines(t), func(l CommandLine) string { return l.Line })
}

// Steps are the steps of the task's preparation, in order. What is no list of steps counts for nothing; a step that is
// a mere text is advice. Validate says what is wrong with them.
func Steps(t *plan.Task) []Step {
	list, _ := t.FlowControl["pre_analysis"].([]any)
	steps := make([]Step, 0, len(list))
	for i, v := range list {
		s := Step{Name: fmt.Sprintf("step %d", i+1), OnError: failTask}
		switch v := v.(type) {
		case string:
			s.Action = v
		case map[string]any:
			s.read(v, fmt.Sprintf("flow_control.pre_analysis[%d]", i))
		}
		steps = append(steps, s)
	}
	return steps
}

// read takes what an object says of the step; at is its path.
func (s *Step) read(m map[string]any, at string) {
	for key, into := range map[string]*string{"step": &s.Name, "action": &s.Action, "output_to": &s.OutputTo,
		"on_error": &s.OnError} {
		if text, ok := m[key].(string); ok && text != "" {
			*into = text
		}
	}
	if n, ok := m["timeout_seconds"].(int64); ok && n > 0 && n <= maxStepSeconds {
		s.TimeoutSeconds = int(n)
	}
	add := func(command, path string) {
		if strings.TrimSpace(command) != "" {
			c := readCommand(command)
			c.Path = path
			s.Commands = append(s.Commands, c)
		}
	}
	command, _ := m["command"].(string)
	add(command, at+".command")
	list, _ := texts(m["commands"])
	for j, command := range list {
		add(command, fmt.Sprintf("%s.commands[%d]", at, j))
	}
}

const maxStepSeconds = 604800

// callForm matches NAME(...) around a whole command.
var callForm = pattern.Compile(`(?s)^([A-Za-z][A-Za-z0-9_:-]*)\((.*)\)$`)

// readCommand tells what a command is: a call such as bash(...), a sentence, or a command line.
func readCommand(written string) StepCommand {
	text := strings.TrimSpace(written)
	c := StepCommand{Written: written, Form: StepAdvice}
	if m := callForm.Get().FindStringSubmatch(text); m != nil {
		known := true
		switch strings.ToLower(m[1]) {
		case "bash", "sh", "shell":
			if c.Line = strings.TrimSpace(m[2]); c.Line != "" {
				c.Form, c.Bash = StepShell, strings.EqualFold(m[1], "bash")
			}
		case "read":
			c.call(StepRead, []string{unquoted(m[2])})
		case "search", "grep":
			c.call(StepSearch, callArgs(m[2]))
		case "glob":
			c.call(stepFind, []string{unquoted(m[2])})
		default:
			known = false
		}
		if known || m[1] != strings.ToLower(m[1]) || strings.Contains(m[1], "__") {
			return c // Extract(...), mcp__index__find(...): tools of the agent's
		}
	}
	if !isSentence(text) {
		c.Form, c.Line = StepShell, text
	}
	return c
}

func (c *StepCommand) call(form stepForm, args []string) {
	if len(args) > 0 && args[0] != "" {
		c.Form, c.Args = form, args
	}
}

// isSentence reports whether a text is for the agent to read: it begins with a capital letter and a word, or with a
// letter of a script that no program's name has. What is meant as a command all the same is written as bash(...).
func isSentence(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	word, _, more := strings.Cut(text, " ")
	if first >= utf8.RuneSelf && unicode.IsLetter(first) {
		return true
	}
	return more && unicode.IsUpper(first) && !strings.ContainsAny(word, "=/")
}

// callArgs are the arguments of a call, split at commas outside of quotes; path=... and pattern=... may be said by
// name.
func callArgs(text string) []string {
	var args []string
	var quote rune
	from := 0
	for i, r := range text + "," {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '\'' || r == '"') && (strings.TrimSpace(text[from:i]) == "" || strings.HasSuffix(text[from:i], "=")):
			quote = r
		case r == ',' && (i == len(text) || i+1 < len(text) && text[i+1] == ' '):
			arg := strings.TrimPrefix(strings.TrimSpace(text[from:i]), "pattern=")
			args = append(args, unquoted(strings.TrimPrefix(arg, "path=")))
			from = i + 1
		}
	}
	if from <= len(text) && quote != 0 { // a quote that was never closed
		return []string{strings.TrimSpace(text)}
	}
	return args
}

func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// The results of a step.
const (
	StepDone     = "done"
	StepSkipped  = "skipped"  // it failed, and was optional
	StepAnswered = "answered" // it failed, and a person said what to go by instead
	StepFailed   = "failed"
	StepGiven    = "given" // to the agent: there was nothing to run
)

// stepLines are the command lines of the task's preparation, and where they stand in it. A CHECK and a GOAL prepare
// nothing.
func stepLines(t *plan.Task) []CommandLine {
	var lines []CommandLine
	if t.NodeType != plan.Action {
		return nil
	}
	for _, s := range Steps(t) {
		for _, c := range s.Commands {
			if c.Form == StepShell {
				lines = append(lines, CommandLine{Line: c.Line, TaskID: t.TaskID, Path: c.Path})
			}
		}
	}
	return lines
}

// CommandLine is a line of the plan that would run on somebody's machine.
type CommandLine struct {
	Line   string      `json:"line"`
	TaskID plan.TaskID `json:"task_id"`
	Path   string      `json:"path"` // where in plan.json it stands

	// of an agent that the plan chooses: Line says for what, and is no command line; nor is that of the job rule
	Agent string `json:"agent,omitempty"`
	Job   string `json:"job,omitempty"`

	Remarks []string `json:"remarks,omitempty"` // what a reader should look at twice; WithRemarks sets them
}

// CommandLines lists every line of the plan that would run, of tasks, of their preparation and of criteria, in plan
// order: what a person must trust.
func CommandLines(p *plan.Plan) []CommandLine {
	var lines []CommandLine
	for i, t := range p.Tasks {
		if t.Run != "" {
			lines = append(lines, CommandLine{Line: t.Run, TaskID: t.TaskID, Path: fmt.Sprintf("tasks[%d].run", i)})
		}
		for _, l := range stepLines(t) {
			l.Path = fmt.Sprintf("tasks[%d].%s", i, l.Path)
			lines = append(lines, l)
		}
		for j, c := range t.AcceptanceCriteria {
			if c.Run != "" {
				lines = append(lines, CommandLine{Line: c.Run, TaskID: t.TaskID,
					Path: fmt.Sprintf("tasks[%d].acceptance_criteria[%d].run", i, j)})
			}
		}
	}
	return lines
}

// remarks are what a person should look at twice in a command line. They are a help for reading, no guard: a line can
// hide anything.
var remarks = []struct {
	text  string
	found *pattern.Pattern
}{
	{"runs what it fetches", pattern.Compile(
		`(?s)\b(?:curl|wget|fetch)\b[^;&]*\|[^;&]*\b(?:sh|bash|zsh|dash|ksh|fish|python[0-9.]*|perl|ruby|node|php)\b` +
			`|(?:\b(?:sh|bash|zsh|eval|source|python[0-9.]*|perl|node)\b|^\.)[^;&]*(?:\$\(|<\(|` + "`" +
			`)\s*(?:curl|wget|fetch)\b` +
			`|\bnpx\b|\b(?:bunx|pipx run|uvx)\b|\bgo run \S+@`)},
	{"needs the network", pattern.Compile(
		`\b(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|npx|bunx|uvx)\b|(?:https?|ftp|ssh|git)://` +
			`|\bgit\s+(?:clone|fetch|pull|push|ls-remote|submodule)\b` +
			`|\b(?:npm|pnpm|yarn|bun)\s+(?:i|ci|install|add|update|publish)\b` +
			`|\b(?:pip[0-9.]*|pipx|gem|cargo|brew|apt|apt-get|dnf|yum|apk|uv pip)` +
			`\s+(?:install|add|update|upgrade|publish)\b` +
			`|\bgo\s+(?:get|install|run)\s+\S+@|\bdocker\s+(?:pull|push|login)\b`)},
	{"writes outside of its directory",
		pattern.Compile(`>\|?>?\s*"?(?:~|\$\{?HOME|\.\./|/(?:[0-9A-Za-ce-z_.$]|d[^e]|de[^v]))` +
			`|\b(?:rm|mv|cp|tee|mkdir|touch|install|ln|chmod|chown|truncate|dd|rsync)` +
			`\b[^;&|\n]*\s"?(?:of=)?(?:~|\$\{?HOME|\.\./|/(?:$|[^td]|d[^e]|t[^m]))` +
			`|\b(?:sudo|doas|crontab|systemctl)\b|\bgit\s+config\s+--(?:global|system)\b` +
			`|\bgit\s+(?:push|commit|reset|checkout|update-ref)\b`)},
}

// WithRemarks returns the line with the remarks that a reader should have.
func (l CommandLine) WithRemarks() CommandLine {
	l.Remarks = nil
	for _, r := range remarks {
		if r.found.Get().MatchString(l.Line) {
			l.Remarks = append(l.Remarks, r.text)
		}
	}
	return l
}
