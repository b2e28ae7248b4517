package progress

import (
	"strings"
	"sync"
	"testing"
	"time"

	"gitwf/internal/gitstore"
)

func TestStepText(t *testing.T) {
	for _, tt := range []struct {
		step gitstore.Step
		took time.Duration
		want string
	}{
		{gitstore.Step{What: "Writing files", All: 4}, 0, "Writing files:   0% (0/4)"},
		{gitstore.Step{What: "Writing files", All: 4, Done: 1, Bytes: 3 << 20, Part: 0.5}, 2 * time.Second,
			"Writing files:  37% (1/4), 3.0 MiB | 1.5 MiB/s"},
		{gitstore.Step{What: "Writing files", All: 1, Bytes: 1 << 30, Part: 0.5}, 500 * time.Millisecond,
			"Writing files:  50% (0/1), 1.0 GiB"},
		{gitstore.Step{What: "Writing\x1b[31m", All: 1, Done: 1}, 0, "Writing�[31m: 100% (1/1)"},
		{gitstore.Step{}, 0, ": 100% (0/0)"},
	} {
		if got := stepText(tt.step, tt.took); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// Work that is soon done is not shown; the line is not drawn more often than an eye can follow, has no rest of a longer
// one behind it, and is gone at the end.
func TestMeter(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	m := &Meter{out: &out, size: func() (int, int) {
		return 30, 0
	}, now: func() time.Time { return now }, delay: delayOf("")}
	at := func(after time.Duration, s gitstore.Step, want string) {
		t.Helper()
		now = now.Add(after)
		out.Reset()
		m.Step(s)
		if out.String() != want {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	}
	s := gitstore.Step{What: "Writing files", All: 1000}
	at(0, s, "")
	at(1900*time.Millisecond, s, "")
	s.Done, s.Bytes = 500, 1<<20
	at(100*time.Millisecond, s, "\rWriting files:  50% (500/1000")
	at(99*time.Millisecond, s, "")
	short := gitstore.Step{What: "Keeping", All: 1}
	at(time.Millisecond, short, "")
	at(2*time.Second, short, "\rKeeping:   0% (0/1)          ")
	out.Reset()
	m.End()
	if want := "\r" + strings.Repeat(" ", 19) + "\r"; out.String() != want {
		t.Errorf("the end wrote %q, want %q", out.String(), want)
	}
	out.Reset()
	m.End()
	if out.Len() > 0 {
		t.Errorf("nothing was to be taken away, but %q was written", out.String())
	}
}

// Work that says nothing is shown with the time that it has taken; the line is gone at the end.
func TestMeterWaits(t *testing.T) {
	var out lockedBuilder
	began := time.Now()
	m := &Meter{out: &out, size: func() (int, int) { return 30, 0 }, now: time.Now}
	end := m.Wait()
	for out.String() == "" && time.Since(began) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(began); took < silence {
		t.Errorf("it was shown after %v", took)
	}
	end()
	if got := out.String(); !strings.HasPrefix(got, "\rWorking: 0:0") || !strings.HasSuffix(got, "\r"+strings.Repeat(" ", 13)+"\r") {
		t.Errorf("got %q", got)
	}
}

type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestMeterDelay(t *testing.T) {
	for setting, want := range map[string]time.Duration{"": 2 * time.Second, "0": 0, "7": 7 * time.Second,
		"-1": 2 * time.Second, "soon": 2 * time.Second} {
		if got := delayOf(setting); got != want {
			t.Errorf("%q: %v, want %v", setting, got, want)
		}
	}
}

// A run's view has a line about the copying of a deliverable, if it takes long.
func TestLiveViewCopying(t *testing.T) {
	now := time.Unix(0, 0)
	v := &Live{now: func() time.Time { return now }}
	half := gitstore.Step{What: "Writing files", All: 2, Done: 1, Bytes: 1 << 20}
	v.Step(gitstore.Step{What: "Writing files", All: 2})
	now = now.Add(elapsedTime - 1)
	v.Step(half)
	if got := v.lines(80, 20); len(got) != 1 {
		t.Errorf("too early: %q", got)
	}
	now = now.Add(1)
	if got := v.lines(80, 20); len(got) != 2 || strings.TrimSpace(got[0]) != "Writing files:  50% (1/2), 1.0 MiB" {
		t.Errorf("got %q", got)
	}
	v.Step(gitstore.Step{What: "Writing files", All: 2, Done: 2})
	if got := v.lines(80, 20); len(got) != 1 {
		t.Errorf("after its end: %q", got)
	}
}
