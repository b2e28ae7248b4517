package plan

import "testing"

// BenchmarkDerive derives a plan of 1,000 tasks whole, as a command does, and again after one event, as a run does. In
// each every task is approved, and names what it was made from.
func BenchmarkDerive(b *testing.B) {
	for _, name := range []string{"chain", "fan-in"} {
		p := shapes[name](1000)
		r := made(p, 1000)
		b.Run(name+"/whole", func(b *testing.B) {
			for b.Loop() {
				Derive(p, r, nil, noon)
			}
		})
		b.Run(name+"/an event", func(b *testing.B) {
			s, before := Derive(p, r, nil, noon), made(p, 999)
			for b.Loop() {
				s.Advance(before, []TaskID{leafID(999)}, nil, noon)
			}
		})
	}
}
