package setup

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"gitwf/internal/gitstore"
)

// serverSettings make git itself refuse, before the hook, what no git writes: trees that programs read differently.
var serverSettings = []string{"receive.fsckObjects", "transfer.fsckObjects"}

// addedSetting lists what init has added to this repository's settings, "<key> <value>", so that uninstalling removes
// only that. A key alone stands for whatever value it has by then.
const addedSetting = "wf.added"

const strictSetting = "wf.strict"

// Strict reports whether strict mode is on: it is unless the user has chosen otherwise.
func (s Setup) Strict(ctx context.Context) (bool, error) {
	if _, set, err := s.Store.Config(ctx, strictSetting); err != nil || !set {
		return true, err
	}
	value, err := s.Store.Git(ctx, "config", "--type=bool", "--get", strictSetting)
	return value != "false", err
}

// SetStrict records the user's choice of strict mode.
func (s Setup) SetStrict(ctx context.Context, on bool) error {
	_, set, err := s.Store.Config(ctx, strictSetting)
	if err != nil {
		return err
	}
	if err := s.config(ctx, strictSetting, strconv.FormatBool(on)); err != nil || set {
		return err
	}
	return s.remember(ctx, strictSetting, "")
}

// Settle makes the settings that go with plans, and reports whether one was missing.
func (s Setup) Settle(ctx context.Context) (changed bool, err error) {
	all, err := s.settings(ctx)
	if err != nil {
		return false, err
	}
	for _, kv := range all {
		did, err := s.addValue(ctx, kv[0], kv[1])
		if err != nil {
			return changed, err
		}
		changed = changed || did
	}
	did, err := s.settlePolicy(ctx)
	return changed || did, err
}

// settlePolicy records that there is no policy, where neither this repository nor its remote has one: a clone that
// lacks the ref can't know. A remote that does not answer has one, for all that is known.
func (s Setup) settlePolicy(ctx context.Context) (changed bool, err error) {
	const key, none = "wf.policy", "none"
	here, err := s.Store.Ref(ctx, gitstore.PolicyRef)
	remote, err2 := s.Store.MainRemote(ctx)
	if err := errors.Join(err, err2); err != nil || here != "" {
		return false, err
	}
	if remote == "" {
		return s.addValue(ctx, key, none)
	}
	lost := s.Store.FetchPlans(ctx, remote)
	there, err := s.Store.Ref(ctx, "refs/workflow-remotes/"+remote+"/policy")
	switch {
	case there != "" && s.hasValue(ctx, key, none):
		return true, s.config(ctx, "--unset-all", key)
	case err != nil || there != "" || lost != nil:
		return false, ctx.Err()
	}
	return s.addValue(ctx, key, none)
}

// settings are keys and values: they keep the plans' refs out of git log's decorations, and have a fetch bring a
// remote's plans into a place of their own, where they can't overwrite a plan of this repository.
func (s Setup) settings(ctx context.Context) ([][2]string, error) {
	all := [][2]string{{"log.excludeDecoration", "refs/workflow/*"}}
	remotes, err := s.Store.Git(ctx, "remote")
	for _, r := range strings.Fields(remotes) {
		all = append(all, [2]string{"remote." + r + ".fetch", "+refs/workflow/*:refs/workflow-remotes/" + r + "/*"})
	}
	return all, err
}

func (s Setup) config(ctx context.Context, args ...string) error {
	_, err := s.Store.Git(ctx, append([]string{"config", "--local"}, args...)...)
	return err
}

// hasValue reports whether a setting that may have several values has this one.
func (s Setup) hasValue(ctx context.Context, key, value string) bool {
	return s.config(ctx, "--get", "--fixed-value", key, value) == nil
}

// addValue adds a value to a setting that may have several.
func (s Setup) addValue(ctx context.Context, key, value string) (bool, error) {
	if s.hasValue(ctx, key, value) {
		return false, nil
	}
	if err := s.config(ctx, "--add", key, value); err != nil {
		return false, err
	}
	return true, s.remember(ctx, key, value)
}

// isOn reports whether a setting is true.
func (s Setup) isOn(ctx context.Context, key string) bool {
	value, err := s.Store.Git(ctx, "config", "--type=bool", "--get", key)
	return err == nil && value == "true"
}

// setTrue sets a setting of this repository to true, unless it is.
func (s Setup) setTrue(ctx context.Context, key string) (bool, error) {
	if s.isOn(ctx, key) {
		return false, ctx.Err()
	}
	if err := s.config(ctx, "--replace-all", key, "true"); err != nil {
		return false, err
	}
	return true, s.remember(ctx, key, "true")
}

func (s Setup) remember(ctx context.Context, key, value string) error {
	return s.config(ctx, "--add", addedSetting, strings.TrimSpace(key+" "+value))
}

// unsettle removes what init has added to the settings, and keeps what was changed since.
func (s Setup) unsettle(ctx context.Context) (gone []string, err error) {
	out, err := s.Store.Git(ctx, "config", "--local", "-z", "--get-all", addedSetting)
	if err != nil {
		return nil, ctx.Err() // there is none
	}
	for _, added := range strings.Split(strings.Trim(out, "\x00"), "\x00") {
		key, value, _ := strings.Cut(added, " ")
		args := []string{"--unset-all", key}
		if value != "" {
			args = []string{"--fixed-value", "--unset-all", key, value}
		}
		if err := s.config(ctx, args...); err == nil {
			gone = append(gone, key)
		} else if ctx.Err() != nil {
			return gone, ctx.Err()
		}
	}
	return gone, s.config(ctx, "--unset-all", addedSetting)
}
