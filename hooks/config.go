package hooks

import (
	"context"
	"fmt"
	"strings"
)

// configPrefix starts the friendly names of our hooks in the config. The scripts look for it, too.
const configPrefix = "git-wf-"

// A configSpec is a hook as git 2.54 and later run it from the config:
//
//	hook.git-wf-<event>.event   = <event>
//	hook.git-wf-<event>.command = <the script itself>
//
// Git does not tell the command its event, so each event has its own entry. Git runs the hooks of the config first, in
// the config's order, and the one in the hooks directory last: a formatter there may change the index after our
// pre-commit judged it. So commit-msg, which runs after all of them, judges again if ours was not last.
type configSpec struct {
	spec
	calls string // the name under which the program judges
	again bool
}

func (in *installer) configSpecs() []configSpec {
	var out []configSpec
	for _, s := range in.specs {
		out = append(out, configSpec{spec: s, calls: s.name})
	}
	if in.gates("pre-commit") {
		out = append(out, configSpec{spec: spec{name: "commit-msg", judge: judgeIndex}, calls: "pre-commit", again: true})
	}
	return out
}

func (s configSpec) section() string { return "hook." + configPrefix + s.name }

// config registers the hooks in the repository's config and removes what another mode left.
func (in *installer) config(ctx context.Context) error {
	have := in.configured(ctx)
	for _, s := range in.configSpecs() {
		changed := false
		// The command goes first: git refuses to run while an event has no command.
		for _, kv := range [][2]string{{s.section() + ".command", in.render.command(s)}, {s.section() + ".event", s.name}} {
			if have[kv[0]] == kv[1] {
				continue
			}
			if err := in.set(ctx, "--"+scopeLocal, kv[0], kv[1]); err != nil {
				return err
			}
			changed = true
		}
		if changed {
			in.report.add(s.section(), "set in the repository's config")
		}
	}
	for _, s := range in.unwanted() {
		if section := (configSpec{spec: s}).section(); have[section+".event"] != "" || have[section+".command"] != "" {
			if err := in.removeSetting(ctx, section); err != nil {
				return err
			}
		}
	}
	for _, dir := range in.ownDirs() {
		if err := in.removeSections(dir, everySpec()); err != nil {
			return err
		}
	}
	return in.removeDispatcher(ctx)
}

// configured returns our settings in the repository's config. git exits with 1 if there are none.
func (in *installer) configured(ctx context.Context) map[string]string {
	out, err := in.git(ctx, "config", "--"+scopeLocal, "-z", "--get-regexp", `^hook\.`+configPrefix)
	if err != nil {
		return nil
	}
	have := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			have[key] = value
		}
	}
	return have
}

// removeConfig removes all our hooks from the config, including those of another version.
func (in *installer) removeConfig(ctx context.Context) error {
	gone := map[string]bool{}
	for key := range in.configured(ctx) {
		section := key[:strings.LastIndexByte(key, '.')]
		if gone[section] {
			continue
		}
		gone[section] = true
		if err := in.removeSetting(ctx, section); err != nil {
			return err
		}
	}
	return nil
}

func (in *installer) removeSetting(ctx context.Context, section string) error {
	if _, err := in.git(ctx, "config", "--"+scopeLocal, "--remove-section", section); err != nil {
		return fmt.Errorf("remove %s from the config: %w", section, err)
	}
	in.report.add(section, "removed from the repository's config")
	return nil
}
