package fault

import (
	"errors"
	"fmt"
	"testing"
)

func TestError(t *testing.T) {
	cause := errors.New("cause")
	for _, tt := range []struct {
		name string
		err  error
		code int
	}{
		{"usage", Usage("hint", "text: %w", cause), ExitUsage},
		{"refused", Refused("hint", "text: %w", cause), ExitRefused},
		{"waiting", Waiting("hint", "text: %w", cause), ExitWaiting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrapped := fmt.Errorf("command: %w", tt.err)
			var f Fault
			if !errors.As(wrapped, &f) || !errors.Is(wrapped, cause) || f.Error() != "text: cause" {
				t.Fatalf("%v", wrapped)
			}
			if code, hint := f.Exit(); code != tt.code || hint != "hint" {
				t.Errorf("exit %d, hint %q; want %d", code, hint, tt.code)
			}
		})
	}
}
