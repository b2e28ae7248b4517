package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Chain lists an agent and its fallbacks: those in its configuration, which get finds, each followed by its own, nobody
// twice. Fallbacks that may refuses are left out with theirs; a nil function allows all.
func Chain(name string, get func(name string) (Config, bool), may func(fallback string) bool) []string {
	chain := []string{}
	var add func(next string)
	add = func(next string) {
		c, ok := get(next)
		if !ok || slices.Contains(chain, next) || next != name && may != nil && !may(next) {
			return
		}
		chain = append(chain, next)
		for _, fallback := range c.Fallback {
			add(fallback)
		}
	}
	add(name)
	return chain
}

// NewChain returns the backend of an agent's Chain. Reply.Agent names the agent that answered, and
// Reply.Skipped says why earlier ones did not.
//
// The chain asks the next agent if one is unavailable, busy to the end of its retries, or timed out. It does not if one
// refused the content or failed at it: that would be shopping for another opinion. A fallback with unusable settings
// counts as unavailable; a fallback that is not set up, or wrong settings of the first agent, are an error.
func NewChain(name string, get func(name string) (Config, bool), may func(fallback string) bool,
	environ []string) (Backend, error) {
	var c chain
	for i, name := range Chain(name, get, may) {
		cfg, _ := get(name)
		b, err := New(cfg, environ)
		for _, fallback := range cfg.Fallback {
			if _, ok := get(fallback); !ok && err == nil {
				err = &SettingError{Agent: name, Key: "fallback", Reason: "no agent is called " + shown(fallback)}
			}
		}
		if err != nil && i == 0 {
			return nil, err
		} else if err != nil {
			b = broken{&Error{Agent: name, Reason: Unavailable, Message: oneLine(err.Error())}}
		}
		c = append(c, b)
	}
	switch len(c) {
	case 0:
		return nil, fmt.Errorf("no agent is called %s", shown(name))
	case 1:
		return c[0], nil
	}
	return c, nil
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
