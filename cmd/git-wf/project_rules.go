package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/rule"
	"gitwf/templates"
)

// ruleFlags are the options that say what a field of a rule is.
var ruleFlags = map[string]string{"title": "title", "category": "category", "dimension": "dimension",
	"read-mode": "readMode", "priority": "priority"}

const ruleStages = "general, exploration, planning or execution"

func (e *env) rulesCommand() *cli.Command {
	const about = "list the rules of the project, and your own"
	list := e.onEngine(e.listRules)
	rules := parent("rules", about, command("list", about, list, jsonFlag()),
		command("load", "print the rules for some work, as Markdown", e.onEngine(e.loadRules),
			textFlag("stage", "for `STAGE`: "+ruleStages, "all"),
			textFlag("keywords", "of optional rules, those with one of `WORDS`, as in a,b", ""),
			textFlag("for", "and those with a word of `SENTENCE`", ""),
			budgetFlag(), jsonFlag()),
		command("add [FILE | TEXT...]", "add a rule; - is standard input",
			e.onEngine(e.addRule), textFlag("title", "of TEXT; a rule of that `TITLE` is replaced", ""),
			textFlag("category", "`STAGE`, as of load", "general"),
			textFlag("dimension", "`KIND`: specs or personal", "specs"),
			textFlag("keywords", "`WORDS` by which it is found", ""),
			textFlag("read-mode", "`MODE`: required or optional", "optional"),
			textFlag("priority", "`LEVEL`: critical, high, medium or low", "medium"),
			jsonFlag()),
		command("init", "begin with a profile of the project and four rules",
			e.onEngine(e.initRules), boolFlag("regenerate", "renew only the profile"),
			jsonFlag()),
		command("check", "say what is wrong with the rules", e.onEngine(e.checkRules), budgetFlag(), jsonFlag()),
		command("learn", "show which notes of a plan could be rules, or add them",
			e.onEnginePlan(wholePlan, e.learnRules), planFlag(), boolFlag("yes,y", "add them"),
			textFlag("only", "only `NUMBERS`, as in 1,3", "all"),
			textFlag("into", "make one rule of them, `TITLE`", ""), jsonFlag()))
	rules.Action, rules.Flags = list, []cli.Flag{jsonFlag()}
	return rules
}

func budgetFlag() cli.Flag {
	return &cli.IntFlag{Name: "budget", Usage: "at most `N` characters of rules", Value: rule.Budget}
}

// rulesHere reads the rules, and says which are not used.
func (e *env) rulesHere(c *cli.Context, eng *engine.Engine) (engine.Rules, error) {
	all, err := eng.Rules(c.Context)
	for _, wrong := range plain.Some(all.Wrong, 10, func(text string) string { return text }) {
		fmt.Fprintf(e.stderr, "warning: a rule can't be used: %s\n", wrong)
	}
	if waits := eng.UntrustedRules(all); waits != "" {
		fmt.Fprintln(e.stderr, "warning: "+waits)
	}
	return all, err
}

func (e *env) listRules(c *cli.Context, eng *engine.Engine) error {
	all, err := e.rulesHere(c, eng)
	if err != nil {
		return err
	}
	return e.print("rules", all)
}

func (e *env) loadRules(c *cli.Context, eng *engine.Engine) error {
	stage := c.String("stage")
	if c.IsSet("stage") && (stage == "" || !strings.Contains(ruleStages, stage)) {
		return usage("--stage: expected %s, found %s", ruleStages, plain.Quote(stage))
	}
	all, err := e.rulesHere(c, eng)
	if err != nil {
		return err
	}
	words := rule.Words(c.String("keywords"), c.String("for"))
	chosen, dropped := rule.Choose(all.Used, stage, words, c.Int("budget"))
	for _, x := range dropped {
		fmt.Fprintf(e.stderr, "left out: %s, %s, %s: %s\n", x.Rule.ID, x.Rule.ReadMode, plain.Line(x.Rule.Title), x.Why)
	}
	return e.out(struct {
		Rules   []rule.Rule    `json:"rules"`
		Dropped []rule.Dropped `json:"dropped"`
	}{orEmpty(chosen), orEmpty(dropped)}, func(w io.Writer) {
		for i, r := range chosen {
			if i > 0 {
				fmt.Fprint(w, "\n---\n\n")
			}
			fmt.Fprintf(w, "# %s: %s (%s)\n\n%s\n", r.ID, plain.Line(r.Title), r.ReadMode, plain.Text(r.Text))
		}
	})
}

// addRule reads a rule off the command line, and adds it.
func (e *env) addRule(c *cli.Context, eng *engine.Engine) error {
	const again = "git wf rules add FILE.md, or git wf rules add --title TITLE TEXT"
	words := c.Args().Slice()
	if len(words) == 0 {
		return fault.Usage(again, "nothing says what the rule is")
	}
	name, data := "", []byte(strings.Join(words, " "))
	if len(words) == 1 && (words[0] == "-" || isMarkdown(words[0])) {
		var err error
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
	if c.IsSet("keywords") {
		set["keywords"] = splitWords(c.String("keywords"))
	}
	r, err := rule.Parse(cmp.Or(name, "the rule"), data, set)
	if err != nil {
		return fault.Usage("mend it, then "+again, "%w", err)
	}
	if r.Scope == rule.Global {
		return fault.Usage("put it into "+filepath.Join(e.configDir(), "rules"), "a global rule is a file of your own")
	}
	return e.addRules(c, eng, []rule.Rule{r})
}

// splitWords are the words of an option, with commas between them.
func splitWords(text string) (all []any) {
	for _, word := range strings.Split(text, ",") {
		all = append(all, strings.TrimSpace(word))
	}
	return all
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
	return e.out(orEmpty(done), func(w io.Writer) {
		for _, r := range done {
			what := "added"
			switch r.Status {
			case "there":
				what = "says that already"
			case "replaced":
				what = "added in place of " + r.Replaces
			}
			fmt.Fprintf(w, "%s: %s: %s\n", r.ID, what, plain.Line(r.Title))
		}
	})
}

func (e *env) initRules(c *cli.Context, eng *engine.Engine) error {
	tables, err := ruleTables()
	if err != nil {
		return err
	}
	head, err := eng.Store.Head(c.Context)
	if err != nil {
		return err
	}
	tree, err := eng.Store.ListTree(c.Context, head, "")
	if err != nil {
		return err
	}
	paths := make([]string, len(tree))
	for i, entry := range tree {
		paths[i] = entry.Path
	}
	add := []rule.Rule{tables.Profile(paths)}
	if c.Bool("regenerate") {
		return e.addRules(c, eng, add)
	}
	for _, seed := range tables.Seeds {
		r, err := rule.Parse("rules.yaml", []byte(seed), nil)
		if err != nil {
			return err
		}
		add = append(add, r)
	}
	all, err := e.rulesHere(c, eng)
	if err != nil {
		return err
	}
	add = slices.DeleteFunc(add, func(r rule.Rule) bool {
		return slices.ContainsFunc(append(all.Used, all.Untrusted...), func(old rule.Rule) bool {
			return old.Scope != rule.Global && r.Replaces(old)
		})
	})
	if len(add) == 0 {
		return e.say([]engine.AddedRule{}, "all of them are there; git wf rules init --regenerate renews the profile")
	}
	return e.addRules(c, eng, add)
}

func (e *env) checkRules(c *cli.Context, eng *engine.Engine) error {
	all, err := eng.Rules(c.Context)
	if err != nil {
		return err
	}
	rules := append(all.Used, all.Untrusted...)
	found := orEmpty(rule.Check(rules, c.Int("budget")))
	for _, wrong := range all.Wrong {
		found = append(found, rule.Finding{Code: "unusable", Text: wrong})
	}
	if waits := eng.UntrustedRules(all); waits != "" {
		found = append(found, rule.Finding{Code: "untrusted", Text: waits})
	}
	err = e.out(found, func(w io.Writer) {
		for _, f := range found {
			fmt.Fprintln(w, strings.TrimSpace(plain.Line(f.Rule+" "+f.Text)+" ["+f.Code+"]"))
		}
	})
	if err != nil || len(found) > 0 {
		e.tell("next: git wf rules add with the same title replaces a rule; git wf abandon RULE --plan %s -m WHY "+
			"retires one", eng.RulesID())
		return cmp.Or(err, errSaid)
	}
	e.tell("nothing found in %s", plain.Count(len(rules), "rule"))
	return nil
}

// learnRules shows what of a plan's notes and retrospectives could be rules, and adds them.
func (e *env) learnRules(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	all, err := writtenDown(c.Context, eng, snap)
	if err != nil {
		return err
	}
	if c.IsSet("only") {
		var chosen []rule.Rule
		for _, word := range strings.Split(c.String("only"), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n < 1 || n > len(all) {
				return fault.Usage("git wf rules learn --plan "+string(snap.ID),
					"--only: expected numbers from 1 to %d, found %s", len(all), plain.Quote(word))
			}
			chosen = append(chosen, all[n-1])
		}
		all = chosen
	}
	title := c.String("into")
	if title != "" && len(all) > 0 {
		all = []rule.Rule{rule.Consolidate(all)}
	}
	tables, err := ruleTables()
	if err != nil {
		return err
	}
	for i, r := range all {
		all[i] = tables.Learned(cmp.Or(title, engine.TitleOf(r.Text)), r.Text, r.From...)
	}
	if c.Bool("yes") && len(all) > 0 {
		return e.addRules(c, eng, all)
	}
	return e.out(orEmpty(all), func(w io.Writer) {
		for i, r := range all {
			fmt.Fprintf(w, "%d  %s, %s (%s), from %s\n", i+1, r.Kind, r.ReadMode, strings.Join(r.Keywords, ", "),
				strings.Join(r.From, ", "))
			fmt.Fprintln(w, "     "+strings.ReplaceAll(plain.Text(r.Text), "\n", "\n     "))
		}
		if len(all) == 0 {
			fmt.Fprintf(w, "%s has nothing new to learn from\n", snap.ID)
			return
		}
		fmt.Fprintf(w, "next: git wf rules learn --plan %s --yes adds them; --only 1,2 some of them; --into TITLE "+
			"makes one rule\n", snap.ID)
	})
}

// writtenDown lists what people and agents wrote down in a plan, each with where, without what a rule says already.
func writtenDown(ctx context.Context, eng *engine.Engine, snap *gitstore.Snapshot) (all []rule.Rule, err error) {
	here, err := eng.Rules(ctx)
	if err != nil {
		return nil, err
	}
	add := func(text, from string) {
		r := rule.Rule{Text: strings.TrimSpace(text), From: []string{string(snap.ID) + " " + from}}
		if r.Text != "" && !slices.ContainsFunc(slices.Concat(here.Used, here.Untrusted, all), r.SaysAs) {
			all = append(all, r)
		}
	}
	notes, err := export.Notes(ctx, eng.Store, snap, 0, "learnings", "decisions", "conventions", "issues")
	for _, n := range notes {
		if n.By != "" { // the program's own are figures
			add(n.Text, fmt.Sprint("note ", n.Number))
		}
	}
	for _, t := range snap.Plan.Tasks {
		version := snap.State().Tasks[t.TaskID].Approved
		if err != nil || version == 0 || !strings.HasPrefix(string(t.TaskID), "RETRO-") {
			continue
		}
		var a plan.Artifact
		a, err = export.ReadArtifact(ctx, eng.Store, snap, t.TaskID, version)
		for _, f := range a.Files {
			if f.Size > rule.MaxBytes {
				continue
			}
			data, failed := eng.Store.ReadBlob(ctx, f.OID)
			for _, text := range rule.Items(f.Path, data) {
				add(text, fmt.Sprint(t.TaskID, " ", a.ArtifactID))
			}
			err = cmp.Or(err, failed)
		}
	}
	return all, err
}

// offerLearned says that what was written down in a plan could be rules.
func (e *env) offerLearned(ctx context.Context, eng *engine.Engine, snap *gitstore.Snapshot) {
	if all, err := writtenDown(ctx, eng, snap); err == nil && len(all) > 0 && !e.json {
		fmt.Fprintf(e.stderr, "%s could be rules: git wf rules learn --plan %s\n", plain.Count(len(all), "note"),
			snap.ID)
	}
}

// ruleTables are the program's tables of what files and texts are.
func ruleTables() (rule.Tables, error) {
	const name = "rules.yaml"
	text, err := fs.ReadFile(templates.FS, name)
	if err != nil {
		return rule.Tables{}, err
	}
	return rule.ReadTables(name, text)
}
