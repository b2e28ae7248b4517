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
// refused the content or failed at it: that would be shopping for another opinion. A fallback whose settings can't be
// used is one that is unavailable; a fallback that nobody has set up, or wrong settings of the first, are an error.
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

// lost is the error of a fallback that nobody has set up, nil if there is none.
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
func (b broken) Usable(context.Context) error                { return b.err }
func (b broken) Missing() error                              { return b.err }

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
	return c.nobody(func(b Backend) error { return b.Usable(ctx) })
}

// Missing is nil if anybody in the chain is there.
func (c chain) Missing() error { return c.nobody(Backend.Missing) }

// nobody is what keeps each from being asked, nil if there is one whom nothing does.
func (c chain) nobody(why func(Backend) error) error {
	var reasons []string
	for _, b := range c {
		err := why(b)
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
