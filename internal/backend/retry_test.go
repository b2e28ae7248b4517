package backend

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gitwf/internal/secret"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"none", "X", "", 0},
		{"seconds", "Retry-After", "7", 7 * time.Second},
		{"part of a second", "Retry-After", "0.5", 500 * time.Millisecond},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond},
		{"date", "Retry-After", "Wed, 02 Jan 2030 03:04:35 GMT", 30 * time.Second},
		{"past date", "Retry-After", "Wed, 02 Jan 2030 03:04:00 GMT", 0},
		{"negative", "Retry-After", "-3", 0},
		{"words", "Retry-After", "soon", 0},
		{"no number", "Retry-After", "NaN", 0},
		{"without end", "Retry-After", "Inf", 24 * time.Hour},
		{"a century", "Retry-After", "1e10", 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			if got := retryAfter(h, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The pause is at least half of the doubled time, never more than the most, and the service's own wish goes first.
func TestDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		full := defaultRetry.first
		for range n - 1 {
			full = min(2*full, defaultRetry.most)
		}
		if d := defaultRetry.delay(n, 0); d < full/2 || d > full {
			t.Fatalf("after try %d: %s, want between %s and %s", n, d, full/2, full)
		}
	})
	if d := defaultRetry.delay(3, 42*time.Second); d != 42*time.Second {
		t.Errorf("got %s, want what was asked for", d)
	}
}

func TestValidSession(t *testing.T) {
	for s, want := range map[string]bool{
		"01a1fe23-1c1b-7291": true, "ses_e01dae609": true, "-rf": false, "a b": false, "../x": false, "a\n": false,
		"*":                      false,
		strings.Repeat("a", 201): false,
	} {
		if validSession.Get().MatchString(s) != want {
			t.Errorf("%q: got %t", s, !want)
		}
	}
}

// However the output is split, the log gets everything but secrets, control characters and very long lines.
func TestLog(t *testing.T) {
	const token = "sk-0123456789"
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"word ", token, "\n", "\x1b[31m",
			strings.Repeat("y", maxLine-5)})).Draw(t, "words")
		text := strings.Join(words, "")
		var out strings.Builder
		w := newLog(&out, secret.NewMask([]string{"X_KEY=" + token}))
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if n, err := w.Write([]byte(rest[:n])); err != nil || n == 0 {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
		w.Close()
		if strings.Contains(out.String(), token) || strings.Contains(out.String(), "\x1b") {
			t.Fatalf("the log holds what it must not: %.200q", &out)
		}
		want := 0
		for line := range strings.Lines(text) {
			if len(line) <= maxLine {
				want += strings.Count(line, token)
			}
		}
		if len(text) < maxLog && strings.Count(out.String(), secret.Masked) != want {
			t.Fatalf("got %d marks, want %d", strings.Count(out.String(), secret.Masked), want)
		}
		if len(out.String()) > maxLog+100 {
			t.Fatalf("the log has %d bytes", out.Len())
		}
	})
}
