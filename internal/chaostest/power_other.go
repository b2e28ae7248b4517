//go:build !linux

package chaostest

import (
	"context"
	"math/rand/v2"
)

// Power is a disk whose power can be cut.
type Power struct{}

// NewPower fails with ErrNoMount.
func NewPower(context.Context, *Crowd, Recorder) (*Power, error) { return nil, ErrNoMount }

// Cut is never called.
func (*Power) Cut(context.Context, *rand.Rand) error { return ErrNoMount }

// Close is never called.
func (*Power) Close() error { return nil }
