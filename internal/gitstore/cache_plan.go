package gitstore

import (
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"

	"gitwf/internal/plan"
)

// cachedPlan is plan.json in a form from which single tasks can be read.
type cachedPlan struct {
	OID  plan.OID
	Size int
	Head *plan.Plan // without its tasks

	Tasks segments // in plan order
	IDs   segments // the tasks' ids, sorted
	At    string   // of each of these, its task's place in the plan
	Links segments // plan.Links, in plan order; none if two tasks have one id
}

// segments are pieces of data, with the end of each as 32 bits.
type segments struct{ Data, Ends string }

const wordSize = 4

func appendWord(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

// word returns the number at a place in a list.
func word(list string, place int) (n int, ok bool) {
	if place < 0 || place >= len(list)/wordSize {
		return 0, false
	}
	b := list[wordSize*place:]
	return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24, true
}

func (s segments) len() int { return len(s.Ends) / wordSize }

// at returns one piece, or "" if there is none at that place.
func (s segments) at(place int) string {
	end, ok := word(s.Ends, place)
	begin, _ := word(s.Ends, place-1)
	if !ok || begin > end || end > len(s.Data) {
		return ""
	}
	return s.Data[begin:end]
}

// find returns the place of a piece among sorted ones.
func (s segments) find(piece string) (place int, ok bool) {
	place = sort.Search(s.len(), func(i int) bool { return s.at(i) >= piece })
	return place, place < s.len() && s.at(place) == piece
}

func joined(pieces []string) segments {
	var data strings.Builder
	var ends []byte
	for _, p := range pieces {
		data.WriteString(p)
		ends = appendWord(ends, data.Len())
	}
	return segments{data.String(), string(ends)}
}

// segmented encodes n values one by one.
func segmented(n int, value func(i int) reflect.Value) (s segments, err error) {
	var data, ends []byte
	for i := range n {
		if data, err = encode(data, value(i)); err != nil {
			return s, err
		}
		ends = appendWord(ends, len(data))
	}
	return segments{string(data), string(ends)}, nil
}

// decodeInto reports whether text is exactly one value, which it sets.
func decodeInto(text string, value any) bool {
	d := decoder{s: text}
	d.decode(reflect.ValueOf(value).Elem())
	return d.err == nil && d.s == ""
}

func cachePlan(oid plan.OID, size int, p *plan.Plan) (c cachedPlan, err error) {
	head := *p
	head.Tasks = nil
	c = cachedPlan{OID: oid, Size: size, Head: &head}
	c.Tasks, err = segmented(len(p.Tasks), func(i int) reflect.Value { return reflect.ValueOf(p.Tasks[i]).Elem() })
	if err != nil {
		return c, err
	}
	links, ok := p.Links()
	if !ok {
		return c, nil
	}
	type placed struct {
		id    plan.TaskID
		place int
	}
	sorted := make([]placed, len(p.Tasks))
	for i, t := range p.Tasks {
		sorted[i] = placed{t.TaskID, i}
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].id < sorted[j].id })
	ids, at := make([]string, len(sorted)), []byte{}
	for i, t := range sorted {
		ids[i], at = string(t.id), appendWord(at, t.place)
	}
	c.IDs, c.At = joined(ids), string(at)
	c.Links, err = segmented(len(links), func(i int) reflect.Value { return reflect.ValueOf(links[i]) })
	return c, err
}

// plan returns the whole plan, or nil if the file is inconsistent.
func (c *cachedPlan) plan() *plan.Plan {
	if c == nil || c.Head == nil {
		return nil
	}
	p := *c.Head
	tasks := make([]plan.Task, c.Tasks.len())
	p.Tasks = make([]*plan.Task, len(tasks))
	workers := min(runtime.GOMAXPROCS(0), len(tasks)/64+1)
	bad := make([]bool, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * len(tasks) / workers; i < (w+1)*len(tasks)/workers; i++ {
				p.Tasks[i] = &tasks[i]
				bad[w] = bad[w] || !decodeInto(c.Tasks.at(i), p.Tasks[i])
			}
		})
	}
	wg.Wait()
	if slices.Contains(bad, true) {
		return nil
	}
	return &p
}

// near returns the plan with the tasks near one alone, or nil if that takes the whole plan, as every plan of version 2
// does: there a status may follow from tasks far away.
func (c *cachedPlan) near(r plan.Records, id plan.TaskID) *plan.Plan {
	if c == nil || c.Head == nil || c.Links.len() == 0 || c.Head.SchemaVersion > 1 {
		return nil
	}
	l := &lookup{c: c, tasks: map[int]*plan.Task{}}
	tasks, ok := plan.Near(l, r, id)
	if !ok || l.bad {
		return nil
	}
	p := *c.Head
	p.Tasks = tasks
	return &p
}

// lookup is a what plan.Near reads. It sets bad, and returns something harmless, if the file is inconsistent.
type lookup struct {
	c     *cachedPlan
	tasks map[int]*plan.Task
	bad   bool
}

func (l *lookup) Find(id plan.TaskID) (place int, ok bool) {
	place, ok = l.c.IDs.find(string(id))
	if !ok {
		return 0, false
	}
	return word(l.c.At, place)
}

func (l *lookup) Task(place int) *plan.Task {
	t := l.tasks[place]
	if t == nil {
		t = &plan.Task{}
		l.bad = !decodeInto(l.c.Tasks.at(place), t) || l.bad
		l.tasks[place] = t
	}
	return t
}

func (l *lookup) Links(place int) (links plan.Links) {
	l.bad = !decodeInto(l.c.Links.at(place), &links) || l.bad
	return links
}
