package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/rule"
)

// ruleFlags are the options that say what a field of a rule is.
var ruleFlags = map[string]string{"title": "title", "category": "category", "dimension": "dimension",
	"keywords": "keywords", "read-mode": "readMode", "priority": "priority"}

const ruleStages = "general, exploration, planning or execution"

func (e *env) rulesCommand() *cli.Command {
	const about = "list the rules of the project, and your own"
	list := e.onRules(func(_ *cli.Context, _ *engine.Engine, all engine.Rules) error { return e.print("rules", all) })
	rules := parent("rules", about, command("list", about, list, jsonFlag()),
		command("load", "print the rules for some work, as Markdown", e.onRules(e.loadRules),
			textFlag("stage", "for `STAGE`: "+ruleStages, "all"),
			textFlag("keywords", "of optional rules, those with one of `WORDS`, as in a,b", ""),
			textFlag("for", "and those with a word of `SENTENCE`", ""),
			&cli.IntFlag{Name: "budget", Usage: "at most `N` characters of rules", Value: rule.Budget}, jsonFlag()),
		command("add [FILE | TEXT...]", "add a rule; - is standard input",
			e.onEngine(e.addRule), textFlag("title", "of TEXT; a rule of that `TITLE` is replaced", ""),
			textFlag("category", "`STAGE`, as of load", "general"),
			textFlag("dimension", "`KIND`: specs or personal", "specs"),
			textFlag("keywords", "`WORDS` by which it is found", ""),
			textFlag("read-mode", "`MODE`: required or optional", "optional"),
			textFlag("priority", "`LEVEL`: critical, high, medium or low", "medium"),
			jsonFlag()),
		command("init", "begin with a profile of the project and four rules, or renew the profile",
			e.onRules(e.initRules), jsonFlag()),
		command("check", "say what is wrong with the rules", e.onEngine(e.checkRules), jsonFlag()),
		command("learn", "show which notes of a plan could be rules, or add them",
			e.onEnginePlan(wholePlan, e.learnRules), planFlag(), boolFlag("yes,y", "add them"),
			textFlag("into", "make one rule of them, `TITLE`", ""), jsonFlag()))
	rules.Action, rules.Flags = list, []cli.Flag{jsonFlag()}
	return rules
}

// onRules is onEngine for a command that works on the rules. It says which are not used.
func (e *env) onRules(do func(*cli.Context, *engine.Engine, engine.Rules) error) cli.ActionFunc {
	return e.onEngine(func(c *cli.Context, eng *engine.Engine) error {
		all, err := eng.Rules(c.Context)
		if err != nil {
			return err
		}
		for _, text := range eng.Unused(all) {
			fmt.Fprintln(e.stderr, "warning: "+text)
		}
		return do(c, eng, all)
	})
}

func (e *env) loadRules(c *cli.Context, _ *engine.Engine, all engine.Rules) error {
	stage := c.String("stage")
	if c.IsSet("stage") && !slices.Contains(rule.Stages, stage) {
		return usage("--stage: expected %s, found %s", ruleStages, plain.Quote(stage))
	}
	words := rule.Words(c.String("keywords"), c.String("for"))
	chosen, dropped := rule.Choose(all.Used, stage, words, c.Int("budget"))
	for _, x := range dropped {
		fmt.Fprintf(e.stderr, "left out: %s, %s, %s: %s\n", x.Rule.ID, x.Rule.ReadMode, plain.Line(x.Rule.Title), x.Why)
	}
	return e.print("rules-load", struct {
		Rules   []rule.Rule    `json:"rules"`
		Dropped []rule.Dropped `json:"dropped"`
	}{orEmpty(chosen), orEmpty(dropped)})
}

// addRule reads a rule off the command line, and adds it.
func (e *env) addRule(c *cli.Context, eng *engine.Engine) (err error) {
	const again = "git wf rules add FILE.md, or git wf rules add --title TITLE TEXT"
	words, name := c.Args().Slice(), "the rule"
	data := []byte(strings.Join(words, " "))
	if len(words) == 1 && (words[0] == "-" || isMarkdown(words[0])) {
		name = fileWord(words[0])
		if data, err = e.readInput(words[0], rule.MaxBytes+1); err != nil {
			return unreadable("the rule "+name, err, "git wf rules add FILE.md")
		}
	} else if !c.IsSet("title") {
		return fault.Usage(again, "a rule of words needs a title")
	}
	set := map[string]any{}
	for flag, field := range ruleFlags {
		if c.IsSet(flag) {
			set[field] = c.String(flag)
		}
	}
	r, err := rule.Parse(name, data, set)
	if err != nil {
		return fault.Usage("mend it, then "+again, "%w", err)
	}
	if r.Scope == rule.Global {
		return fault.Usage("put it into "+filepath.Join(e.configDir(), "rules"), "a global rule is a file of your own")
	}
	return e.addRules(c, eng, []rule.Rule{r})
}

// addRules adds rules to the project's, and says what became of each.
func (e *env) addRules(c *cli.Context, eng *engine.Engine, rules []rule.Rule) error {
	trust, err := e.mayDecide(c.Context, eng.Store)
	if err != nil {
		return err
	}
	done, err := eng.AddRules(c.Context, rules, trust)
	if err != nil {
		return err
	}
	if !trust {
		fmt.Fprintf(e.stderr, "nobody is told them before a person runs git wf trust --plan %s\n", eng.RulesID())
	}
	return e.print("rules-add", done)
}

// initRules renews the profile, and adds of the rules to begin with those whose titles no rule has.
func (e *env) initRules(c *cli.Context, eng *engine.Engine, all engine.Rules) error {
	files, err := eng.Store.Git(c.Context, "ls-tree", "-r", "-z", "--name-only", "HEAD")
	if err != nil {
		return err
	}
	add := []rule.Rule{rule.Profile(strings.Split(files, "\x00"))}
	for _, seed := range rule.Seeds() {
		if !slices.ContainsFunc(append(all.Used, all.Untrusted...), seed.Replaces) {
			add = append(add, seed)
		}
	}
	return e.addRules(c, eng, add)
}

func (e *env) checkRules(c *cli.Context, eng *engine.Engine) error {
	all, err := eng.Rules(c.Context)
	if err != nil {
		return err
	}
	rules := append(all.Used, all.Untrusted...)
	found := orEmpty(rule.Check(rules))
	for _, text := range eng.Unused(all) {
		found = append(found, rule.Finding{Code: "unused", Text: text})
	}
	if err := e.print("rules-check", found); err != nil {
		return err
	}
	if len(found) > 0 {
		e.tell("next: git wf rules add with the same title replaces a rule; git wf abandon RULE --plan %s -m WHY "+
			"retires one", eng.RulesID())
		return errSaid
	}
	e.tell("nothing found in %s", plain.Count(len(rules), "rule"))
	return nil
}

// learnRules shows what of a plan's notes could be rules, and adds them.
func (e *env) learnRules(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	here, err := eng.Rules(c.Context)
	if err != nil {
		return err
	}
	notes, err := export.Notes(c.Context, eng.Store, snap, 0, "learnings", "decisions", "conventions", "issues")
	if err != nil {
		return err
	}
	all := []rule.Rule{}
	for _, n := range notes {
		r := rule.Learned(engine.TitleOf(n.Text), n.Text, fmt.Sprintf("%s note %d", snap.ID, n.Number))
		there := slices.Concat(here.Used, here.Untrusted, all)
		if n.By != "" && r.Text != "" && !slices.ContainsFunc(there, r.SaysAs) { // the program's own are figures
			all = append(all, r)
		}
	}
	if title := c.String("into"); title != "" && len(all) > 0 {
		all = []rule.Rule{rule.Consolidate(title, all)}
	}
	if c.Bool("yes") && len(all) > 0 {
		return e.addRules(c, eng, all)
	}
	return e.printAs("rules-learn", all, struct {
		Plan  any
		Rules []rule.Rule
	}{snap.ID, all})
}
