package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gitwf/internal/attacktest"
	"gitwf/internal/chaostest"
)

// points injects every fault at every call of every step.
func (b *bench) points(ctx context.Context) {
	for _, step := range b.stages.Lab.Steps() {
		if b.step != "" && b.step != step.Name {
			continue
		}
		calls, err := b.stages.Count(step.Name)
		if errors.Is(err, chaostest.ErrNoTrace) {
			fmt.Fprintln(b.log, "points:", err)
			return
		}
		for i, fault := range chaostest.Faults() {
			if b.fault != 0 && b.fault != i+1 || !fault.Applies(step) {
				continue
			}
			kind := fmt.Sprintf("%s at each call of %s", fault, step.Name)
			for n := 1; n <= calls && ctx.Err() == nil; n += b.every {
				b.count(ctx, kind, func() (int, error) {
					hit, err := b.stages.Visit(ctx, chaostest.Point{Step: step.Name, N: n, Fault: fault})
					if hit == nil {
						return 0, err
					}
					return 1, err
				})
			}
			b.progress()
		}
	}
}

func (b *bench) progress() {
	if len(b.rows) > 0 {
		r := b.rows[len(b.rows)-1]
		fmt.Fprintf(b.log, "%s: %d, %d findings, %s\n", r.kind, r.tried, r.findings, r.took.Round(time.Second))
	}
}

func (b *bench) told(what string) func(chaostest.Tally) {
	return func(t chaostest.Tally) {
		if t.Kills > 0 && t.Kills%50 == 0 {
			fmt.Fprintf(b.log, "%s: %+v\n", what, t)
		}
	}
}

// random kills commands at random moments. After a finding it continues with the next seed.
func (b *bench) random(ctx context.Context) {
	const kind = "a command killed at a random moment"
	for done, seed := 0, b.seed; done < b.kills/2 && ctx.Err() == nil; seed++ {
		b.count(ctx, kind, func() (int, error) {
			t, err := b.stages.KillAtRandom(ctx, seed, b.kills/2-done, b.told(kind))
			done += max(t.Kills, 1)
			return t.Kills, err
		})
	}
}

// runs kills `git wf run` repeatedly on plans of 24 tasks.
func (b *bench) runs(ctx context.Context) {
	const kind = "run killed again and again until the plan was done"
	c, err := chaostest.NewCrowd(ctx, b.stages.Lab, 24)
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
		return
	}
	for done, seed := 0, b.seed; done < b.kills-b.kills/2 && ctx.Err() == nil; seed++ {
		b.count(ctx, kind, func() (int, error) {
			t, err := c.KillRuns(ctx, seed, b.kills-b.kills/2-done, b.told(kind))
			done += max(t.Kills, 1)
			return t.Kills, err
		})
	}
}

// again kills each command that writes at random moments, and gives it again.
func (b *bench) again(ctx context.Context) {
	const prefix = "killed, and given again: "
	acts, err := b.stages.NewActs(ctx)
	if err != nil {
		b.count(ctx, prefix+"all", func() (int, error) { return 0, err })
		return
	}
	rng := rand.New(rand.NewPCG(b.seed, 4))
	acts = slices.DeleteFunc(acts, func(a *chaostest.Act) bool { return !strings.Contains(a.Name, b.step) })
	longest, done := time.Duration(0), 0
	for tries := 0; done < b.kills && tries < 10*b.kills && ctx.Err() == nil; tries++ {
		a := acts[tries%len(acts)]
		b.count(ctx, prefix+a.Name, func() (int, error) {
			hit, took, err := a.Kill(ctx, rng)
			longest = max(longest, took)
			if !hit {
				return 0, err
			}
			done++
			return 1, err
		})
		if (tries+1)%(10*len(acts)) == 0 {
			fmt.Fprintf(b.log, "again: %d kills; the longest second command took %s\n", done, longest.Round(time.Millisecond))
		}
	}
	fmt.Fprintf(b.log, "again: %d kills; the longest second command took %s\n", done, longest.Round(time.Millisecond))
}

// faults prints what a user sees of each fault.
func (b *bench) faults(ctx context.Context) {
	const kind = "a fault in the way of a landing"
	err := b.stages.Sights(ctx, func(s chaostest.Sight) {
		fmt.Println(s)
		b.count(ctx, kind, func() (int, error) { return 1, s.Err })
	})
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
	}
}

// workflows kills the run of each workflow at every event.
func (b *bench) workflows(ctx context.Context) {
	for _, name := range chaostest.Workflows() {
		b.count(ctx, "a workflow killed at each event", func() (int, error) {
			w, err := b.stages.Lab.NewWorkflow(ctx, name)
			if err != nil {
				return 0, err
			}
			return w.KillAtEvents(ctx, true)
		})
	}
}

// crowd lets 16 processes work on one plan.
func (b *bench) crowd(ctx context.Context) {
	b.together(ctx, "16 processes on a plan of 24 tasks", 16)
}

// maintenance runs git's cleanup while others work.
func (b *bench) maintenance(ctx context.Context) {
	b.together(ctx, "gc, pack-refs, repack and fetch, and 2 processes on one plan", 2, chaostest.Maintenance()...)
	for range b.rounds {
		b.count(ctx, "gc, pack-refs, repack and fetch, and each kind of event", func() (int, error) {
			return 1, b.stages.UnderMaintenance(ctx)
		})
	}
}

func (b *bench) together(ctx context.Context, kind string, processes int, disturb ...chaostest.Disturbance) {
	c, err := chaostest.NewCrowd(ctx, b.stages.Lab, 24)
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
		return
	}
	for range b.rounds {
		b.count(ctx, kind, func() (int, error) { return 1, c.Together(ctx, processes, disturb...) })
	}
}

// locks puts lock files in the way, old ones and new ones.
func (b *bench) locks(ctx context.Context) {
	for _, l := range chaostest.StaleLocks() {
		b.count(ctx, "a lock file left behind an hour ago", func() (int, error) {
			return 1, b.stages.MeetLock(ctx, l, false)
		})
		b.count(ctx, "a lock file left behind just now", func() (int, error) { return 1, b.stages.MeetLock(ctx, l, true) })
	}
}

// disk carries out each step with more and more room.
func (b *bench) disk(ctx context.Context) {
	for _, step := range b.stages.Lab.Steps() {
		for left := int64(0); left <= 128<<10; left += 8 << 10 {
			err := b.stages.FullDisk(ctx, step, left)
			if errors.Is(err, chaostest.ErrNoMount) {
				fmt.Fprintln(b.log, "disk:", err)
				return
			}
			if err != nil {
				err = fmt.Errorf("%s with %d bytes left: %w", step.Name, left, err)
			}
			b.count(ctx, "the disk full", func() (int, error) { return 1, err })
		}
	}
}

// power cuts the power of the disk.
func (b *bench) power(ctx context.Context) {
	const kind = "the power of the disk cut in a run"
	c, err := chaostest.NewCrowd(ctx, b.stages.Lab, 24)
	var p *chaostest.Power
	if err == nil {
		p, err = chaostest.NewPower(ctx, c, record)
	}
	if errors.Is(err, chaostest.ErrNoMount) {
		fmt.Fprintln(b.log, "power:", err)
		return
	}
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
		return
	}
	defer p.Close()
	rng := rand.New(rand.NewPCG(b.seed, 3))
	for range b.cuts {
		b.count(ctx, kind, func() (int, error) { return 1, p.Cut(ctx, rng) })
	}
}

// clock sets the clock back, by a minute up to a month.
func (b *bench) clock(ctx context.Context) {
	const kind = "the clock set back"
	program, err := chaostest.BuildClock(ctx, b.stages.Lab)
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
		return
	}
	for _, ahead := range []time.Duration{time.Minute, 10 * time.Minute, 26 * time.Hour, 30 * 24 * time.Hour} {
		b.count(ctx, kind, func() (int, error) { return 1, b.stages.ClockSetBack(ctx, program, ahead) })
	}
}

// order checks the traces of all steps.
func (b *bench) order(ctx context.Context) {
	for _, step := range b.stages.Lab.Steps() {
		if step.Name == "init" || step.Name == "export" || step.Name == "export-commit" {
			continue // they make no event
		}
		b.count(ctx, "events whose order of writes was checked in a trace", func() (int, error) {
			return b.stages.Order(ctx, step.Name)
		})
	}
}

// found records a finding of the kind being counted, even after the time ran out.
func (b *bench) found(kind string, d attacktest.Difference) {
	b.rows[len(b.rows)-1].findings++
	fmt.Fprintf(b.log, "FINDING: %s: %s\n", kind, d)
}

// gate attacks the gate with generated pushes.
func (b *bench) gate(ctx context.Context) {
	const kind = "a generated push"
	g, err := attacktest.NewGates(ctx, b.stages.Lab)
	if err != nil {
		b.count(ctx, kind, func() (int, error) { return 0, err })
		return
	}
	g.Keep = b.keep
	g.Log = func(t attacktest.Tally) {
		if t.Pushes%1000 == 0 {
			fmt.Fprintf(b.log, "%s: %s\n", kind, t)
		}
	}
	b.count(ctx, kind, func() (int, error) {
		t, err := g.Push(ctx, b.seed, b.n)
		for _, d := range t.Differences {
			b.found(kind, d)
		}
		fmt.Fprintf(b.log, "%s: %s\n", kind, t)
		return t.Pushes, err
	})
}

// people does what a team does, which nobody may refuse.
func (b *bench) people(ctx context.Context) {
	const kind = "an operation of one of three people"
	p := attacktest.NewPeople(b.stages.Lab)
	p.Keep = b.keep
	p.Log = func(r attacktest.Refusals) { fmt.Fprintf(b.log, "%s: %s\n", kind, r) }
	b.count(ctx, kind, func() (int, error) {
		r, err := p.Work(ctx, b.seed, b.n)
		for _, d := range r.Found {
			b.found(kind, d)
		}
		return r.Operations, err
	})
}

// code lets people land approved changes, and attacks what they made.
func (b *bench) code(ctx context.Context) {
	b.codes(ctx, "a generated push of protected code", attacktest.NewCodes(b.stages.Lab))
}

// steps does what people do with protected code, and carries out what a refusal says.
func (b *bench) steps(ctx context.Context) {
	b.codes(ctx, "a legal step with protected code", attacktest.NewSteps(b.stages.Lab))
}

func (b *bench) codes(ctx context.Context, kind string, c *attacktest.Codes) {
	c.Keep, c.Jobs = b.keep, b.jobs
	c.Log = func(t attacktest.CodeTally) { fmt.Fprintf(b.log, "%s: %s\n", kind, t) }
	b.count(ctx, kind, func() (int, error) {
		t, err := c.Work(ctx, b.seed, b.world, b.n)
		for _, d := range t.Differences {
			b.found(kind, d)
		}
		return t.Pushes, err
	})
}
