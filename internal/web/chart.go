package web

import (
	"fmt"
	"strings"
	"time"
)

// chart is the burn-up: the number of approved deliverables, and of all deliverables, over time.
type chart struct {
	Width, Height  int
	Done, All      string // the points of an SVG polyline
	Area           string
	Most           int
	Last           int // approved at the end
	Of             int
	From, To       time.Time
	Steps          []step
	Left, Top, Low int
}

// step is one row of the same figures as a table.
type step struct {
	Time     time.Time
	Approved int
	Of       int
}

const (
	chartWidth, chartHeight = 640, 220
	chartLeft, chartTop     = 36, 10
	chartLow                = chartHeight - 24
	mostSteps               = 60
)

func burnUp(at []moment, figures []*figure) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Left: chartLeft, Top: chartTop, Low: chartLow, Most: 1}
	if len(at) == 0 {
		return c
	}
	c.From, c.To = at[0].Time, at[len(at)-1].Time
	for _, f := range figures {
		c.Most = max(c.Most, f.leaves)
	}
	span := c.To.Sub(c.From).Seconds()
	var done, all strings.Builder
	x := func(i int) float64 {
		if span <= 0 {
			return chartLeft + float64(i)*(chartWidth-chartLeft-6)/float64(max(len(at)-1, 1))
		}
		return chartLeft + at[i].Time.Sub(c.From).Seconds()/span*(chartWidth-chartLeft-6)
	}
	y := func(n int) float64 { return chartLow - float64(n)/float64(c.Most)*(chartLow-chartTop) }
	for i, f := range figures {
		if i > 0 { // stairs: nothing happens between two events
			fmt.Fprintf(&done, "%.1f,%.1f ", x(i), y(figures[i-1].approved))
			fmt.Fprintf(&all, "%.1f,%.1f ", x(i), y(figures[i-1].leaves))
		}
		fmt.Fprintf(&done, "%.1f,%.1f ", x(i), y(f.approved))
		fmt.Fprintf(&all, "%.1f,%.1f ", x(i), y(f.leaves))
		if last := len(c.Steps) - 1; last < 0 || c.Steps[last].Approved != f.approved || c.Steps[last].Of != f.leaves {
			c.Steps = append(c.Steps, step{at[i].Time, f.approved, f.leaves})
		}
	}
	c.Done, c.All = done.String(), all.String()
	c.Area = fmt.Sprintf("%.1f,%d %s%.1f,%d", x(0), chartLow, c.Done, x(len(at)-1), chartLow)
	last := figures[len(figures)-1]
	c.Last, c.Of = last.approved, last.leaves
	if n := len(c.Steps); n > mostSteps {
		c.Steps = c.Steps[n-mostSteps:]
	}
	return c
}
