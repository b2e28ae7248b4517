//go:build !linux

package chaostest

import (
	"context"
	"errors"
)

// ErrNoMount says that this user or this system may not make a small file system.
var ErrNoMount = errors.New("a small file system can't be mounted here")

// FullDisk fails with ErrNoMount.
func (*Stages) FullDisk(context.Context, Step, int64) error { return ErrNoMount }

// FullDisk fails with ErrNoMount.
func (*Landing) FullDisk(context.Context, int64) (*Outcome, error) { return nil, ErrNoMount }

// ReadOnly fails with ErrNoMount.
func (*Landing) ReadOnly(context.Context) (*Outcome, error) { return nil, ErrNoMount }
