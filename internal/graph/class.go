package graph

import (
	"slices"

	"gitwf/internal/plan"
)

// Class groups the statuses that look alike. Each class has a mark, a shape and colours of its own, so that no picture
// relies on colour alone.
type Class string

// The classes, in the order of the legend.
const (
	Ready     Class = "ready"
	Running   Class = "running"
	Review    Class = "review"
	Done      Class = "done"
	Rejected  Class = "rejected"
	Pending   Class = "pending"
	Blocked   Class = "blocked"
	Abandoned Class = "abandoned"
)

// ClassOf is the class of a status.
func ClassOf(s plan.Status) Class {
	switch s {
	case plan.StatusReady:
		return Ready
	case plan.StatusInProgress:
		return Running
	case plan.StatusReadyToCheck:
		return Review
	case plan.StatusDone:
		return Done
	case plan.StatusToBeModified:
		return Rejected
	case plan.StatusAbandoned, plan.StatusDoneElsewhere:
		return Abandoned
	case plan.StatusWaitingInput, plan.StatusWaitingExternal:
		return Blocked
	}
	return Pending
}

// look is how a class is drawn.
type look struct {
	class  Class
	letter string // in text: [x]
	mark   string // in labels, and in a list on a terminal
	colour string // the parameter of the terminal sequence that selects it
	word   string // in the legend
	fill   string // on a light background
	line   string
	dark   string // fill on a dark background
	bright string // line on a dark background
	badge  string // SVG path in a square of 16 by 16
	solid  bool   // the badge is filled with the line's colour, else drawn with it
	dash   string // how the box is drawn, "" for a line
}

// looks has every class once, in the order of the legend. It is an array, because a slice would be allocated for every
// line of a long list.
func looks() [8]look {
	const circle = "M8 1.5a6.5 6.5 0 1 0 .001 0z"
	return [8]look{
		{Ready, " ", "○", "36", "ready", "#e8f4fb", "#1b6f9c", "#12303f", "#6cc4f0", circle, false, ""},
		{Running, ">", "▶", "34", "in progress", "#e6ebfd", "#2b4fc4", "#1a2450", "#92a8ff",
			"M3.5 1.5v13l11-6.5z", true, ""},
		{Review, "?", "?", "33", "awaiting review", "#fdf3d8", "#8a6100", "#3d2f0a", "#f0c04c",
			"M8 .8 15.2 8 8 15.2.8 8z", false, ""},
		{Done, "x", "✓", "32", "done", "#e3f5e9", "#1a7a43", "#12351f", "#5fd394",
			"M1.5 8.5 6 13 14.5 3.5", false, ""},
		{Rejected, "~", "✗", "31", "to be made again", "#fde7e5", "#b3261e", "#45161a", "#ff8f86",
			"M2 2l12 12M14 2 2 14", false, ""},
		{Pending, ".", "·", "90", "pending", "#f1f2f4", "#5c6470", "#262b33", "#a7b0bd",
			"M8 6a2 2 0 1 0 .001 0z", true, "dashed"},
		{Blocked, "!", "!", "35", "blocked", "#f6e8fb", "#8427a8", "#371545", "#dd9af5",
			"M6.8 1h2.4v9H6.8zM6.8 12h2.4v2.6H6.8z", true, ""},
		{Abandoned, "-", "-", "90", "abandoned", "#f6f6f6", "#7a7a7a", "#222222", "#8f8f8f", "M2 8h12",
			false, "dotted"},
	}
}

// usedLooks are the looks of the classes that a graph has.
func usedLooks(g Graph) []look {
	all := looks()
	return slices.DeleteFunc(all[:], func(l look) bool {
		return !slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Class == l.class })
	})
}

func lookOf(c Class) look {
	all := looks()
	for _, l := range all {
		if l.class == c {
			return l
		}
	}
	return all[5] // pending
}

// Classes are in the order of the legend.
func Classes() []Class {
	all := looks()
	classes := make([]Class, len(all))
	for i, l := range all {
		classes[i] = l.class
	}
	return classes
}

// Mark is the sign of the class in a list.
func (c Class) Mark() string { return lookOf(c).mark }

// Word says what the class stands for.
func (c Class) Word() string { return lookOf(c).word }

// Colour is the parameter of the terminal's sequence that selects the colour.
func (c Class) Colour() string { return lookOf(c).colour }
