package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NewChain returns the backend of the agent named, with its fallbacks behind it: those that its configuration names, and
// after each of them its own, nobody twice. Whoever answers is named in Reply.Agent, and why the others did not in
// Reply.Skipped.
//
// The next one is asked when one is unavailable, busy to the end of its tries, or timed out. It is not asked when one
// refused the content or failed at it: that would be shopping for another opinion.
func NewChain(name string, configs map[string]Config, environ []string) (Backend, error) {
	var c chain
	var seen []string
	var add func(name, by string) error
	add = func(name, by string) error {
		if slices.Contains(seen, name) {
			return nil
		}
		cfg, ok := configs[name]
		if !ok {
			return fmt.Errorf("agent %s: fallback: no agent is called %s", shown(by), shown(name))
		}
		seen = append(seen, name)
		b, err := New(cfg, environ)
		if err != nil {
			return err
		}
		c = append(c, b)
		for _, next := range cfg.Fallback {
			if err := add(next, name); err != nil {
				return err
			}
		}
		return nil
	}
	if _, ok := configs[name]; !ok {
		return nil, fmt.Errorf("no agent is called %s", shown(name))
	}
	if err := add(name, name); err != nil {
		return nil, err
	}
	if len(c) == 1 {
		return c[0], nil
	}
	return c, nil
}

// chain asks the first, and the next when one can't answer.
type chain []Backend

func (c chain) Ask(ctx context.Context, r Request) (Reply, error) {
	var skipped []string
	var failures []error
	for i, b := range c {
		ask := r
		if i > 0 && r.SessionOf == "" {
			ask.Session = "" // it is the first one's
		}
		reply, err := b.Ask(ctx, ask)
		if err == nil {
			reply.Skipped = append(skipped, reply.Skipped...)
			return reply, nil
		}
		failures = append([]error{err}, failures...) // ReasonOf finds the first: what ended it
		if !passesOn(err) {
			break
		}
		skipped = append(skipped, err.Error())
	}
	return Reply{}, errors.Join(failures...)
}

// Usable is nil if anybody in the chain is.
func (c chain) Usable(ctx context.Context) error {
	var reasons []string
	for _, b := range c {
		err := b.Usable(ctx)
		if err == nil {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	return errors.New(strings.Join(reasons, "\n"))
}

func passesOn(err error) bool {
	switch ReasonOf(err) {
	case Unavailable, Transient, TimedOut:
		return true
	}
	return false
}
