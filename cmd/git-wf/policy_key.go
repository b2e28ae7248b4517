package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/policy"
	"gitwf/internal/shell"
)

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
