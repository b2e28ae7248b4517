package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NewChain returns the backend of the named agent, followed by its fallbacks: those in its configuration, each followed
// by its own, nobody twice. Reply.Agent names the agent that answered, and Reply.Skipped says why earlier ones did not.
//
// The chain asks the next agent if one is unavailable, busy to the end of its retries, or timed out. It does not if one
// refused the content or failed at it: that would be shopping for another opinion. A fallback with unusable settings
// counts as unavailable; a fallback that is not set up, or wrong settings of the first agent, are an error.
func NewChain(name string, configs map[string]Config, environ []string) (Backend, error) {
	if _, ok := configs[name]; !ok {
		return nil, fmt.Errorf("no agent is called %s", shown(name))
	}
	var c chain
	var seen []string
	var add func(name string) error
	add = func(name string) error {
		cfg, ok := configs[name]
		if !ok || slices.Contains(seen, name) {
			return nil
		}
		seen = append(seen, name)
		b, err := New(cfg, environ)
		if wrong := cfg.lost(configs); err == nil && wrong != nil {
			err = wrong
		}
		if err != nil {
			if len(c) == 0 {
				return err
			}
			b = broken{&Error{Agent: name, Reason: Unavailable, Message: oneLine(err.Error())}}
		}
		c = append(c, b)
		for _, next := range cfg.Fallback {
			if err := add(next); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(name); err != nil {
		return nil, err
	}
	if len(c) == 1 {
		return c[0], nil
	}
	return c, nil
}

// lost returns the error for a fallback that is not set up, nil if there is none.
func (c Config) lost(configs map[string]Config) *SettingError {
	for _, name := range c.Fallback {
		if _, ok := configs[name]; !ok {
			return &SettingError{Agent: c.Name, Key: "fallback", Reason: "no agent is called " + shown(name)}
		}
	}
	return nil
}

// broken is an agent whose settings can't be used.
type broken struct{ err error }

func (b broken) Ask(context.Context, Request) (Reply, error) { return Reply{}, b.err }
func (b broken) Missing() error                              { return b.err }

// chain asks the first agent, and the next if one can't answer.
type chain []Backend

func (c chain) Ask(ctx context.Context, r Request) (Reply, error) {
	var skipped []string
	var failures []error
	for i, b := range c {
		ask := r
		if i > 0 && r.SessionOf == "" {
			ask.Session = "" // it is the first agent's
		}
		reply, err := b.Ask(ctx, ask)
		if err == nil {
			reply.Skipped = append(skipped, reply.Skipped...)
			return reply, nil
		}
		failures = append([]error{err}, failures...) // newest first: ReasonOf returns the first, which ended the chain
		if !slices.Contains([]Reason{Unavailable, Transient, TimedOut}, ReasonOf(err)) {
			break
		}
		skipped = append(skipped, err.Error())
	}
	return Reply{}, errors.Join(failures...)
}

// Missing is nil if any agent of the chain is there.
func (c chain) Missing() error {
	var reasons []string
	for _, b := range c {
		err := b.Missing()
		if err == nil {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	return errors.New(strings.Join(reasons, "\n"))
}
