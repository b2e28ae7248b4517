package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// Tally counts what happened.
type Tally struct {
	Kills    int // that hit a running program
	Late     int // that came after it ended
	Finished int // plans carried out to the end
}

// killOne starts a command, kills it after a while, and returns its output so far. The output goes to a file: with a
// pipe, a surviving child would delay the end.
func (r *Repo) killOne(ctx context.Context, after time.Duration, group bool, args ...string) (*Outcome, error) {
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(r.file("tmp"), "said-")
		if err != nil {
			return nil, err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	cmd := r.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(after, func() { kill(cmd, group) })
	defer timer.Stop()
	_ = cmd.Wait() // its state says how it ended
	o := &Outcome{Args: args, Exit: cmd.ProcessState.ExitCode()}
	for i, to := range []*string{&o.Out, &o.Err} {
		data, err := os.ReadFile(files[i].Name())
		if err != nil {
			return nil, err
		}
		*to = string(data)
	}
	return o, nil
}

// KillAtRandom kills commands of the scenario at random moments until it has hit the given number at work: a person's
// steps and `run`, each from the repository before that step. It calls progress after each kill, if not nil. The same
// seed makes the same choices; the machine decides when exactly a signal arrives.
func (s *Stages) KillAtRandom(ctx context.Context, seed uint64, kills int, progress func(Tally)) (Tally, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var steps []Step
	for _, step := range s.Lab.Steps() {
		if step.Name != "init" {
			steps = append(steps, step)
		}
	}
	took := map[string]time.Duration{}
	var t Tally
	for t.Kills < kills {
		step := steps[rng.IntN(len(steps))]
		share, group := rng.Float64(), rng.IntN(2) == 0
		if took[step.Name] == 0 {
			d, err := s.duration(ctx, step)
			if err != nil {
				return t, err
			}
			took[step.Name] = d
		}
		o, err := s.killStep(ctx, step, time.Duration(share*float64(took[step.Name])), group)
		if err != nil {
			return t, fmt.Errorf("seed %d, after %d kills: %s killed at %.3f of its time, group %v: %w", seed, t.Kills,
				step.Name, share, group, err)
		}
		if o.Exit == -1 {
			t.Kills++
		} else {
			t.Late++
		}
		t.Finished++
		if progress != nil {
			progress(t)
		}
	}
	return t, nil
}

func (s *Stages) duration(ctx context.Context, step Step) (time.Duration, error) {
	r, err := s.Before[step.Name].Copy()
	if err != nil {
		return 0, err
	}
	defer r.Remove()
	began := time.Now()
	_, err = r.WF(ctx, step.Args...)
	return time.Since(began), err
}

func (s *Stages) killStep(ctx context.Context, step Step, after time.Duration, group bool) (*Outcome, error) {
	r, err := s.Before[step.Name].Copy()
	if err != nil {
		return nil, err
	}
	defer r.Remove()
	before, err := r.Remember(ctx)
	if err != nil {
		return nil, err
	}
	o, err := r.killOne(ctx, after, group, step.Args...)
	if err != nil {
		return nil, err
	}
	if err := r.Judge(ctx, before, o); err != nil {
		return o, fmt.Errorf("%w\nbefore that: %s", err, o)
	}
	if err := r.Later(); err != nil {
		return o, err
	}
	if err := s.CarryOn(ctx, r); err != nil {
		return o, fmt.Errorf("%w\nbefore that: %s", err, o)
	}
	return o, nil
}

// KillRuns kills `git wf run` again and again on one plan with several tasks running, until the plan is done. It
// repeats that with new plans until it has made the given number of kills.
func (c *Crowd) KillRuns(ctx context.Context, seed uint64, kills int, progress func(Tally)) (Tally, error) {
	rng := rand.New(rand.NewPCG(seed, 2))
	var t Tally
	for t.Kills < kills {
		if err := c.killUntilDone(ctx, rng, kills, &t, progress); err != nil {
			return t, fmt.Errorf("seed %d, after %d kills: %w", seed, t.Kills, err)
		}
		t.Finished++
	}
	return t, nil
}

func (c *Crowd) killUntilDone(ctx context.Context, rng *rand.Rand, kills int, t *Tally, progress func(Tally)) error {
	r, err := c.start.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	var said []*Outcome
	for t.Kills < kills {
		before, err := r.Remember(ctx)
		if err != nil {
			return err
		}
		after := time.Duration(rng.IntN(400)) * time.Millisecond
		o, err := r.killOne(ctx, after, rng.IntN(2) == 0, "run", "--jobs", fmt.Sprint(1+rng.IntN(3)))
		if err != nil {
			return err
		}
		said = append(said, o)
		if err := r.Judge(ctx, before, said...); err != nil {
			return fmt.Errorf("killed after %s: %w", after, err)
		}
		if o.Exit != -1 {
			t.Late++
			if o.Exit != 0 {
				return fmt.Errorf("expected exit 0 of %s", o)
			}
			break
		}
		t.Kills++
		if progress != nil {
			progress(*t)
		}
	}
	return c.finish(ctx, r)
}

// finish completes a plan with one run, lands it, and checks the result.
func (c *Crowd) finish(ctx context.Context, r *Repo) error {
	for _, args := range [][]string{{"run"}, {"export", "--commit"}} {
		if _, err := r.Must(ctx, args...); err != nil {
			return err
		}
	}
	got, err := r.Result(ctx)
	if err != nil {
		return err
	}
	if !got.Equal(c.want) {
		return fmt.Errorf("the result differs: %v, without a fault %v", got, c.want)
	}
	if err := r.sound(ctx); err != nil {
		return err
	}
	return r.tidy(ctx)
}

// versions counts the versions of each task in the history.
func (r *Repo) versions(ctx context.Context) (map[string]int, error) {
	subjects, err := r.subjects(ctx)
	if err != nil {
		return nil, err
	}
	n := map[string]int{}
	for _, s := range subjects {
		if m := madeLine.FindStringSubmatch(s); m != nil && !slices.Contains([]string{"PLAN-1"}, m[1]) {
			n[m[1]]++
		}
	}
	return n, nil
}
