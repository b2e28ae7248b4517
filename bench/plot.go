package main

import (
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// curve is the time of one command by the number of tasks.
type curve struct {
	name   string
	points []point
}

type point struct {
	tasks int
	took  time.Duration
}

// draw writes the curves to an SVG file. Both axes are logarithmic: a curve that grows with the plan rises a step where
// the plan does, any other stays level.
func draw(curves []curve, file string) error {
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text, p.Y.Label.Text = "tasks in the plan", "milliseconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, c := range curves {
		var xy plotter.XYs
		for _, at := range c.points {
			xy = append(xy, plotter.XY{X: float64(at.tasks), Y: max(float64(at.took)/float64(time.Millisecond), 0.01)})
		}
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return fmt.Errorf("draw %s: %w", c.name, err)
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		dots.Color, dots.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, dots)
		p.Legend.Add(c.name, line, dots)
	}
	p.Y.Max *= 8 // room for the legend
	p.X.Max *= 1.3
	if err := p.Save(18*vg.Centimeter, 12*vg.Centimeter, file); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}
