package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/shell"
)

func (e *env) policyCommand() *cli.Command {
	message := messageFlag("why")
	branchFlag := listFlag("branch",
		"also name the branch `NAME`, or a pattern such as 'release/*'")
	return parent("policy", "show or change what this repository requires of every plan and bundle",
		command("show", "print the policy", e.onStore(e.policyShow)),
		command("set [FILE]", "replace the policy by a file as show prints it, or name its maintainers",
			e.onStore(e.policySet), message,
			listFlag("maintainer",
				"let `NAME`, instead of others, change the policy on a server: a name of its keys, or of a "+
					"committer, which nothing proves")),
		e.policyKeyCommand(message),
		command("baseline [COMMIT]", "judge only what comes after a commit: everything before is exempt",
			e.onStore(e.policyBaseline), message),
		command("protect DIR...", "protect another directory, or code",
			e.onStore(e.policyProtect), message,
			boolFlag("changes",
				"protect code; without --branch, where changes land and on the branch that is checked out"),
			countFlag("min-score", "the least score `N` of each item's review", ""),
			countFlag("quorum", "the least number `N` of people who approve each item", ""),
			listFlag("reviewer", "one of these `NAME`s must have approved each item"), branchFlag),
		command("since", "judge code from now on: exempt the history of the named branches so far",
			e.onStore(e.policySince), message, branchFlag),
		command("unprotect DIR...", "let anything land in a directory again, or in code",
			e.onStore(e.policyUnprotect), message,
			boolFlag("changes", "the patterns given to protect --changes")),
		command("land.revert WHAT",
			"say yes or no: may protected code go back to what it was before an approved change",
			e.onStore(e.policyRevert), message),
		command("retire PLAN", "let a plan's whole bundle be removed",
			e.onStore(e.policyRetire), message),
		command("prune", "set how much git wf prune keeps, and who may prune",
			e.onStore(e.policyPrune), message,
			countFlag("keep", "the newest `N` versions of each task keep their files", ""),
			listFlag("by", "let `NAME`, instead of others, prune; proven as a maintainer is")),
		command("log", "show the policy's history", e.onStore(e.policyLog)))
}

func (e *env) policyShow(c *cli.Context, store *gitstore.Store) error {
	current, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	e.warnUnguarded(&current.Policy)
	shown := current.Policy
	shown.Roots = shown.Protected()
	_, err = e.stdout.Write(policy.Encode(&shown))
	return err
}

// warnUnguarded warns that a policy's keys protect nothing.
func (p printer) warnUnguarded(current *policy.Policy) {
	if current.Unguarded() {
		fmt.Fprintln(p.stderr, "warning: the policy has keys and no maintainers: anybody may push one without the keys")
		fmt.Fprintln(p.stderr, "hint: git wf policy set --maintainer NAME")
	}
}

// changePolicy records a new policy.json and updates the repository's hooks.
func (e *env) changePolicy(
	c *cli.Context, store *gitstore.Store, subject string, edit func(*policy.Policy) error,
) error {
	return e.appendPolicy(c, store, subject, func(p *gitstore.Policy) (plan.Change, error) {
		next := p.Policy
		if err := edit(&next); err != nil {
			return plan.Change{}, err
		}
		if err := next.Check().Err(); err != nil {
			return plan.Change{}, err
		}
		if next.Unguarded() && !p.Unguarded() {
			return plan.Change{}, fault.Refused("name its maintainers, in the file or with --maintainer NAME",
				"the policy would have keys and no maintainers, so anybody could push one without the keys")
		}
		e.warnUnguarded(&next)
		return plan.Change{Policy: policy.Encode(&next)}, nil
	})
}

func (e *env) appendPolicy(c *cli.Context, store *gitstore.Store, subject string, ev gitstore.PolicyEvent) error {
	_, err := store.AppendPolicy(c.Context, e.now(), func(p *gitstore.Policy) (plan.Change, error) {
		change, err := ev(p)
		change.Subject = "policy: " + subject
		if change.Body == "" {
			change.Body = c.String("message")
		}
		change.Trailers = []plan.Trailer{{Key: "Wf-Event", Value: plan.EventPolicy}}
		return change, err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, plain.Line("policy: "+subject))
	return e.setup(store).Follow(c.Context)
}

func (e *env) policySet(c *cli.Context, store *gitstore.Store) error {
	maintainers, file := c.StringSlice("maintainer"), c.Args().First()
	if file == "" && len(maintainers) == 0 {
		return usage("expected a file, - for standard input, or --maintainer NAME")
	}
	subject := "maintained by " + strings.Join(maintainers, ", ")
	var next *policy.Policy
	if file != "" {
		data, err := e.readInput(file, maxPlanFile)
		if err != nil {
			return unreadable(fileWord(file), err, "git wf policy set FILE")
		}
		if next, err = policy.Decode(data); err != nil {
			return fault.Usage("git wf policy show", "%w", err)
		}
		subject = "set"
	}
	return e.changePolicy(c, store, subject, func(p *policy.Policy) error {
		if next != nil {
			*p = *next
		}
		if len(maintainers) > 0 {
			p.Maintainers = maintainers
		}
		return nil
	})
}

func (e *env) policyBaseline(c *cli.Context, store *gitstore.Store) error {
	rev := c.Args().First()
	if rev == "" {
		rev = "HEAD"
	}
	oid, err := store.CommitOf(c.Context, rev)
	if err != nil {
		return err
	}
	if oid == "" {
		return usage("%q is no commit of this repository", rev)
	}
	return e.changePolicy(c, store, "count from "+string(oid[:12]), func(p *policy.Policy) error {
		p.Baseline = append(p.Baseline[:len(p.Baseline):len(p.Baseline)], oid)
		return nil
	})
}

func (e *env) policyProtect(c *cli.Context, store *gitstore.Store) error {
	if c.Bool("changes") {
		return e.policyProtectCode(c, store)
	}
	if c.NArg() > 1 {
		return usage("protect takes one directory; --changes takes patterns")
	}
	dir := strings.Trim(filepath.ToSlash(filepath.Clean(c.Args().First())), "/")
	root := policy.Root{Path: dir, MinScore: c.Int("min-score"), Quorum: c.Int("quorum"),
		Reviewers: c.StringSlice("reviewer")}
	return e.changePolicy(c, store, "protect "+dir, func(p *policy.Policy) error {
		isNew := !slices.Contains(p.RootPaths(), dir)
		p.Roots = append(withoutRoot(p.Protected(), dir), root)
		if err := p.Check().Err(); err != nil || !isNew {
			return err
		}
		return gate.MayProtect(c.Context, store, dir)
	})
}

// withoutRoot are the roots but one.
func withoutRoot(roots []policy.Root, dir string) []policy.Root {
	return slices.DeleteFunc(slices.Clone(roots), func(r policy.Root) bool { return r.Path == dir })
}

func (e *env) policyUnprotect(c *cli.Context, store *gitstore.Store) error {
	if c.Bool("changes") {
		return e.policyUnprotectCode(c, store)
	}
	names := c.Args().Slice()
	return e.changePolicy(c, store, "unprotect "+strings.Join(names, " "), func(p *policy.Policy) error {
		for _, name := range names {
			before := len(p.Protected())
			p.Roots = withoutRoot(p.Protected(), strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/"))
			switch len(p.Roots) {
			case 0:
				return fault.Refused("git wf policy protect DIR, first",
					"%s is the only protected directory: bundles have to land somewhere",
					plain.Line(name))
			case before:
				return notProtected(name)
			}
		}
		return nil
	})
}

func (e *env) policyPrune(c *cli.Context, store *gitstore.Store) error {
	keep, by := c.Int("keep"), c.StringSlice("by")
	if keep < 1 && len(by) == 0 {
		return usage("expected --keep N, of 1 or more, or --by NAME")
	}
	return e.changePolicy(c, store, "what a prune keeps, and who may", func(p *policy.Policy) error {
		if c.IsSet("keep") {
			p.Prune.Keep = keep
		}
		if len(by) > 0 {
			p.Prune.By = by
		}
		return nil
	})
}

func (e *env) policyRetire(c *cli.Context, store *gitstore.Store) error {
	id := plan.ID(strings.TrimPrefix(c.Args().First(), "workflow/"))
	if !id.Valid() {
		return fault.Usage("git wf plans", "%q is no plan id", id)
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	return e.appendPolicy(c, store, "retire "+string(id), func(p *gitstore.Policy) (plan.Change, error) {
		record := policy.Retirement{
			PlanID: id, By: person.Name, Reason: c.String("message"), CreatedAt: plan.Second(e.now()),
		}
		return plan.Change{Add: []plan.Entry{{Path: p.NextRecord("retired"), Data: plan.Document(record)}}}, nil
	})
}

func (e *env) policyLog(c *cli.Context, store *gitstore.Store) error {
	out, err := store.Git(c.Context, "log", "--format=%h %ad %an %s", "--date=format:%Y-%m-%d %H:%M",
		gitstore.PolicyRef)
	if err != nil {
		return fault.Refused("git wf init", "this repository has no policy yet")
	}
	fmt.Fprintln(e.stdout, plain.Text(out))
	return nil
}

func (e *env) policyKeyCommand(message cli.Flag) *cli.Command {
	return parent("key", "say whose signatures count",
		command("add NAME", "let a key speak for a person", e.onStore(e.policyKeyAdd),
			message,
			textFlag("ssh",
				"a public SSH key, or a line of an allowed-signers file, in `FILE`; - is standard input", ""),
			textFlag("gpg", "the `FINGERPRINT` of a GPG key", "")),
		command("remove NAME", "remove a person's keys from the policy: what they signed no longer counts",
			e.onStore(e.policyKeyRemove), message))
}

func (e *env) policyKeyAdd(c *cli.Context, store *gitstore.Store) error {
	name := c.Args().First()
	key := policy.Key{Name: name}
	switch ssh, gpg := c.String("ssh"), c.String("gpg"); {
	case (ssh == "") == (gpg == ""):
		return usage("say which key: --ssh FILE or --gpg FINGERPRINT")
	case gpg != "":
		key.GPG = strings.ToUpper(strings.ReplaceAll(gpg, " ", ""))
	default:
		line, err := e.readKey(ssh)
		if err != nil {
			return err
		}
		key.SSH = line
	}
	if _, err := key.Fingerprint(); err != nil {
		return usage("the key of %s %w", name, err)
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	first := false
	err = e.changePolicy(c, store, "add a key of "+name, func(p *policy.Policy) error {
		p.Keys = append(slices.Clip(p.Keys), key)
		if first = len(p.Maintainers) == 0; !first {
			return nil
		}
		if name != person.Name {
			return fault.Refused("git wf policy key add "+shell.Word(person.Name)+
				" --ssh FILE, with a key of yours, before those of others; or git wf policy set --maintainer NAME",
				"the policy has no maintainers, so anybody could push one without the key")
		}
		p.Maintainers = []string{name}
		return nil
	})
	if err == nil && first {
		fmt.Fprintln(e.stdout, plain.Line(name)+" maintains the policy from now on: a change of it is signed "+
			"with that key")
	}
	return err
}

// readKey reads the only key in a file.
func (e *env) readKey(name string) (string, error) {
	const most = 64 << 10
	data, err := e.readInput(name, most)
	if err != nil {
		return "", unreadable(fileWord(name), err, "git wf policy key add NAME --ssh FILE")
	}
	if strings.Contains(string(data), "PRIVATE KEY") {
		return "", fault.Usage("--ssh "+name+".pub", "%s is a private key, which nobody else may see", name)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		return "", usage("%s: expected one key, found %s", name, plain.Count(len(lines), "line"))
	}
	return lines[0], nil
}

func (e *env) policyKeyRemove(c *cli.Context, store *gitstore.Store) error {
	name := c.Args().First()
	return e.changePolicy(c, store, "remove the keys of "+name, func(p *policy.Policy) error {
		kept := slices.DeleteFunc(slices.Clone(p.Keys), func(k policy.Key) bool { return k.Name == name })
		if len(kept) == len(p.Keys) {
			return fault.Usage("git wf policy show", "the policy has no key of %s", name)
		}
		p.Keys = kept
		return nil
	})
}
