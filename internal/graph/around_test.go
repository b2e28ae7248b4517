package graph

import (
	"slices"
	"testing"
)

func TestAround(t *testing.T) {
	e := Edge{From: "POST-1", To: "NOTE-1", Kind: DependsOn}
	all := []obstacle{
		{"NOTE-1", Box{0, 0, 100, 40}}, {"STYLE-1", Box{140, 0, 100, 40}}, {"LIST-1", Box{280, 0, 100, 64}},
		{"POST-1", Box{420, 0, 100, 40}},
		{"LOGO-1", Box{140, 100, 100, 40}},
	}
	tests := []struct {
		name     string
		from, to Point
		want     []Point
	}{
		{"behind two others", Point{100, 20}, Point{420, 20}, []Point{{126, 73}, {394, 73}}},
		{"behind one", Point{100, 20}, Point{270, 20}, []Point{{126, 49}, {254, 49}}},
		{"free", Point{100, 20}, Point{140, 20}, nil},
		{"between the rows", Point{100, 80}, Point{420, 80}, nil},
		{"back to the left", Point{420, 20}, Point{100, 20}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := detour(tt.from, tt.to, e, all); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
