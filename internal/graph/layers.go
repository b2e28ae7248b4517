package graph

import (
	"context"
	_ "embed" // the scripts
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/dop251/goja"
)

//go:embed dagre/dagre.min.js
var dagreScript string

//go:embed layers.js
var layersScript string

// The library wants one function that the interpreter lacks, for lists of lists of texts.
const structuredClone = `var structuredClone = function (v) { return JSON.parse(JSON.stringify(v)) };`

// Point is a place in a picture, x to the right, y down.
type Point [2]float64

// layering is what dagre is asked: boxes by width and height, and edges between them that have no cycle.
type layering struct {
	Nodes  []Point  `json:"nodes"`
	Edges  [][2]int `json:"edges"`
	Ranker string   `json:"ranker"`
	Quick  bool     `json:"quick"` // one pass over the order instead of many
}

// layered is the answer, from (0, 0).
type layered struct {
	Nodes  []Point   `json:"nodes"` // their centres
	Edges  [][]Point `json:"edges"` // from the side of one box to that of the other
	Width  float64   `json:"width"`
	Height float64   `json:"height"`
}

// library runs dagre. It is made for one picture and used by one goroutine.
type library struct {
	vm    *goja.Runtime
	call  goja.Callable
	known map[string]layered // many parts of a plan have the same form
}

// compiled is the library in the form that any number of interpreters can share.
var compiled = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("dagre.min.js", structuredClone+dagreScript, false)
})

func newLibrary() (*library, error) {
	program, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("load the layout library: %w", err)
	}
	vm := goja.New()
	if _, err := vm.RunProgram(program); err != nil {
		return nil, fmt.Errorf("load the layout library: %w", err)
	}
	f, err := vm.RunScript("layers.js", layersScript)
	if err != nil {
		return nil, fmt.Errorf("load the layout library: %w", err)
	}
	call, _ := goja.AssertFunction(f)
	return &library{vm, call, map[string]layered{}}, nil
}

// layers places boxes. It fails when ctx ends.
func (l *library) layers(ctx context.Context, ask layering) (layered, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return layered{}, fmt.Errorf("lay out a graph: %w", err)
	}
	if known, ok := l.known[string(text)]; ok {
		return known, nil
	}
	stop := context.AfterFunc(ctx, func() { l.vm.Interrupt(ctx.Err()) })
	v, err := l.call(goja.Undefined(), l.vm.ToValue(string(text)))
	stop()
	if ctx.Err() != nil {
		return layered{}, fmt.Errorf("lay out a graph: %w", ctx.Err())
	}
	if err != nil {
		return layered{}, fmt.Errorf("lay out a graph of %d boxes: %w", len(ask.Nodes), err)
	}
	var answer layered
	if err := json.Unmarshal([]byte(v.String()), &answer); err != nil {
		return layered{}, fmt.Errorf("lay out a graph: read the answer: %w", err)
	}
	if len(answer.Nodes) != len(ask.Nodes) || len(answer.Edges) != len(ask.Edges) || !(answer.Width > 0 && answer.Height > 0) || math.IsInf(answer.Width+answer.Height, 0) {
		return layered{}, fmt.Errorf("lay out a graph: the answer has no place for %d boxes", len(ask.Nodes))
	}
	l.known[string(text)] = answer
	return answer, nil
}
