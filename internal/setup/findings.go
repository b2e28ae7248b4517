package setup

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/shell"
)

// Findings are what git wf init would fix: hooks that do not run the gate, and missing settings. A bare repository has
// none unless it is a server.
func (s Setup) Findings(ctx context.Context) ([]audit.Finding, error) {
	if s.Store.WorkTree() == "" {
		return s.serverFindings(ctx)
	}
	findings, err := s.hookFindings(ctx)
	if err != nil {
		return nil, err
	}
	more, err := s.settingFindings(ctx)
	return append(findings, more...), err
}

// serverFindings reports the settings that are off in a repository whose pre-receive hook is the gate's.
func (s Setup) serverFindings(ctx context.Context) ([]audit.Finding, error) {
	o, err := s.Options(ctx, false)
	if err != nil {
		return nil, ctx.Err() // the policy can't be read, which its own audit finds
	}
	o.Server = true
	all, err := hooks.Status(ctx, o)
	if err != nil || !slices.ContainsFunc(all, func(h hooks.HookStatus) bool { return h.Mode != "" }) {
		return nil, err
	}
	var findings []audit.Finding
	for _, key := range serverSettings {
		if !s.isOn(ctx, key) {
			findings = append(findings, settingFinding(key, "is off: git takes malformed objects from whoever pushes",
				"git config --local "+key+" true", "set to true",
				func(ctx context.Context) (bool, error) { return s.setTrue(ctx, key) }))
		}
	}
	return findings, ctx.Err()
}

// settingFindings reports the missing settings that go with plans.
func (s Setup) settingFindings(ctx context.Context) ([]audit.Finding, error) {
	wanted, err := s.settings(ctx)
	if err != nil {
		return nil, err
	}
	var findings []audit.Finding
	for _, kv := range wanted {
		key, value := kv[0], kv[1]
		if !s.hasValue(ctx, key, value) && ctx.Err() == nil {
			findings = append(findings, settingFinding(key, "does not have "+value,
				"git config --local --add "+shell.Word(key)+" "+shell.Word(value), "added "+value,
				func(ctx context.Context) (bool, error) { return s.addValue(ctx, key, value) }))
		}
	}
	return findings, ctx.Err()
}

func settingFinding(key, message, mend, done string, fix func(context.Context) (bool, error)) audit.Finding {
	return audit.Finding{Code: "config", Place: key, Message: message, Mend: mend,
		Fix: func(ctx context.Context) (string, error) {
			_, err := fix(ctx)
			return done, err
		}}
}

// hookFindings reports the hooks that do not run the gate, or differ from what this program would write.
func (s Setup) hookFindings(ctx context.Context) ([]audit.Finding, error) {
	var findings []audit.Finding
	if _, err := s.Strict(ctx); err != nil {
		return []audit.Finding{{
			Code: "config", Place: "wf.strict",
			Message: "is neither true nor false, so nobody knows which hooks there should be",
			Mend:    "git config --local --unset-all wf.strict",
		}}, ctx.Err()
	}
	o, err := s.Options(ctx, false)
	if err != nil {
		return nil, ctx.Err() // the policy can't be read, which its own audit finds
	}
	all, err := hooks.Status(ctx, o)
	if err != nil {
		return nil, err
	}
	install := func(ctx context.Context) (string, error) {
		report, err := s.Install(ctx, false)
		did := each.Of(report.Actions, func(a hooks.Action) string { return a.Did })
		return cmp.Or(strings.Join(did, "; "), "installed with the others"), err
	}
	for _, h := range all {
		f := audit.Finding{Code: "hook", Place: h.Name, Message: h.Reason, Mend: "git wf hooks install", Fix: install}
		if st, err := os.Stat(h.Path); err == nil && h.Mode != "" && !h.Active && st.Mode().IsRegular() {
			// Switched off, maybe on purpose: its owner decides.
			f.Mend, f.Fix = "chmod +x "+shell.Word(h.Path), nil
			findings = slices.Insert(findings, 0, f) // before those whose fix refuses because of it
		} else if h.Reason != "" || !h.Active {
			findings = append(findings, f)
		}
	}
	if len(findings) == 0 {
		if err := hooks.Probe(ctx, o.Git, all); err != nil {
			findings = append(findings, audit.Finding{Code: "hook-probe", Place: "hooks", Message: err.Error(),
				Mend: "git wf hooks install", Fix: install})
		}
	}
	return findings, nil
}
