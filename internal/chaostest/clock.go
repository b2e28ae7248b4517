package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// clockVariable shifts the clock of a program that BuildClock made, by a Go duration.
const clockVariable = "CHAOS_CLOCK"

// BuildClock compiles git-wf with a clock that an environment variable shifts. It changes nothing else and edits no
// source file: the compiler gets another file in place of the one that reads the clock. A statically linked program
// reads the time without a system call, so nothing outside can shift it.
func BuildClock(ctx context.Context, l *Lab) (program string, err error) {
	dir, err := module(ctx)
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "cmd", "git-wf", "main.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const reads = "now: time.Now"
	if bytes.Count(text, []byte(reads)) != 1 {
		return "", fmt.Errorf("%s: expected to find %q once: that is where the program gets its clock", source, reads)
	}
	moved := strings.Replace(string(text), reads, "now: movedClock", 1) + `
// movedClock is the clock as the environment moves it.
func movedClock() time.Time {
	by, _ := time.ParseDuration(os.Getenv("` + clockVariable + `"))
	return time.Now().Add(by)
}
`
	replacement, overlay := l.file("main.go.txt"), l.file("overlay.json")
	if err := os.WriteFile(replacement, []byte(moved), 0o666); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, data, 0o666); err != nil {
		return "", err
	}
	program = filepath.Join(l.Dir, "bin", "moved", "git-wf")
	return program, Build(ctx, program, "-overlay", overlay)
}

// ClockSetBack works on the plan while the clock is ahead, kills a worker that holds a claim, and continues after the
// clock is set right: records and the claim are then in the future. program is one that BuildClock made.
func (s *Stages) ClockSetBack(ctx context.Context, program string, ahead time.Duration) error {
	lab := *s.Lab
	lab.Program = program
	first, err := s.Before["plan"].Copy()
	if err != nil {
		return err
	}
	defer first.Remove()
	r := &Repo{Lab: &lab, Dir: first.Dir, Env: []string{clockVariable + "=" + ahead.String()}}
	before, err := r.Remember(ctx)
	if err != nil {
		return err
	}
	var said []*Outcome
	for _, name := range []string{"plan", "artifact"} {
		o, err := r.do(ctx, s.Step(name))
		if err != nil {
			return err
		}
		said = append(said, o)
	}
	o, err := r.killWithClaim(ctx)
	if err != nil {
		return err
	}
	said = append(said, o)
	r.Env = nil
	if err := r.Judge(ctx, before, said...); err != nil {
		return err
	}
	return s.CarryOn(ctx, r)
}

// killWithClaim starts a run and kills it as soon as it holds a claim.
func (r *Repo) killWithClaim(ctx context.Context) (*Outcome, error) {
	for after := 20 * time.Millisecond; after < 2*time.Second; after += 10 * time.Millisecond {
		o, err := r.killOne(ctx, after, true, "run", "--step")
		if err != nil {
			return nil, err
		}
		claims, err := r.Git(ctx, "for-each-ref", "refs/workflow-claims")
		if err != nil {
			return nil, err
		}
		if claims != "" || o.Exit != -1 {
			return o, nil
		}
	}
	return nil, fmt.Errorf("no run was killed while it held a claim")
}
