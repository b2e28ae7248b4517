package pattern

import "testing"

var digits = Compile(`^[0-9]+$`)

// A package-level pattern is compiled once, on its first use.
func TestGet(t *testing.T) {
	if digits.re != nil {
		t.Error("it was compiled before it was used")
	}
	first := digits.Get()
	if !first.MatchString("42") || first.MatchString("x") || digits.Get() != first {
		t.Errorf("got %v", first)
	}
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none did not panic")
		}
	}()
	Compile(`(`).Get()
}
