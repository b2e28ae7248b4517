package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gitwf/internal/chaostest"
)

// options say how much to do.
type options struct {
	seed   uint64
	kills  int
	rounds int
	cuts   int
	every  int
	n      int
	keep   string
	step   string
	fault  int
	world  int
	jobs   int
}

// row is the result of one kind of fault.
type row struct {
	kind     string
	tried    int // injected faults
	findings int
	took     time.Duration
}

// bench is one run of this program.
type bench struct {
	options
	stages *chaostest.Stages
	log    io.Writer
	rows   []row
}

// kinds are the kinds of faults by name.
var kinds = []struct {
	name string
	run  func(*bench, context.Context)
}{
	{"points", (*bench).points},
	{"random", (*bench).random},
	{"runs", (*bench).runs},
	{"again", (*bench).again},
	{"workflows", (*bench).workflows},
	{"faults", (*bench).faults},
	{"crowd", (*bench).crowd},
	{"maintenance", (*bench).maintenance},
	{"locks", (*bench).locks},
	{"disk", (*bench).disk},
	{"power", (*bench).power},
	{"clock", (*bench).clock},
	{"order", (*bench).order},
	{"gate", (*bench).gate},
	{"people", (*bench).people},
	{"code", (*bench).code},
	{"steps", (*bench).steps},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("chaos: ")
	var o options
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the random choices")
	flag.IntVar(&o.kills, "kills", 1000, "random, runs, again: kills altogether, of random and runs together half of them each")
	flag.IntVar(&o.rounds, "rounds", 10, "crowd, maintenance: rounds")
	flag.IntVar(&o.cuts, "cuts", 200, "power: cuts")
	flag.IntVar(&o.every, "every", 1, "points: only every so-manieth call")
	flag.IntVar(&o.n, "n", 1000, "gate, people, code, steps: pushes, operations, or steps")
	flag.StringVar(&o.keep, "keep", "", "gate, people, code, steps: copy the repositories of what is found there")
	flag.StringVar(&o.step, "step", "", "points: only this step; again: only commands with this in their name")
	flag.IntVar(&o.fault, "fault", 0, "points: only the fault of this number, from 1")
	flag.IntVar(&o.world, "world", -1, "code, steps: only the world of this number, from 0, as a finding names it")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "code, steps: worlds at a time")
	dir := flag.String("dir", "", "make the repositories below this directory (default: the system's for temporary files)")
	program := flag.String("git-wf", "", "break this program instead of building one")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run -C bench ./chaos [flags] [%s]\n", strings.Join(names(), "] ["))
		flag.PrintDefaults()
	}
	flag.Parse()
	findings, err := start(*dir, *program, o, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

func names() []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

func start(dir, program string, o options, wanted []string) (findings int, err error) {
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return 0, fmt.Errorf("%s: no such kind; expected %s", name, strings.Join(names(), ", "))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	lab, err := chaostest.NewLab(ctx, dir, program)
	if err != nil {
		return 0, err
	}
	defer lab.Close()
	stages, err := chaostest.NewStages(ctx, lab)
	if err != nil {
		return 0, err
	}
	fmt.Printf("seed %d\n", o.seed)
	b := &bench{options: o, stages: stages, log: os.Stderr}
	for _, k := range kinds {
		if (len(wanted) == 0 || slices.Contains(wanted, k.name)) && ctx.Err() == nil {
			k.run(b, ctx)
		}
	}
	fmt.Print(b.table())
	for _, r := range b.rows {
		findings += r.findings
	}
	return findings, nil
}

// table formats what was done and found, for people.
func (b *bench) table() string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "faults\tfindings\ttime\t  kind")
	total := row{kind: "altogether"}
	for _, r := range b.rows {
		fmt.Fprintf(w, "%d\t%d\t%s\t  %s\n", r.tried, r.findings, r.took.Round(time.Second), r.kind)
		total.tried, total.findings, total.took = total.tried+r.tried, total.findings+r.findings, total.took+r.took
	}
	fmt.Fprintf(w, "%d\t%d\t%s\t  %s\n", total.tried, total.findings, total.took.Round(time.Second), total.kind)
	w.Flush()
	return s.String()
}

// count calls do, which injects some faults, and adds the result to the row of its kind.
func (b *bench) count(ctx context.Context, kind string, do func() (tried int, err error)) {
	if ctx.Err() != nil {
		return
	}
	i := slices.IndexFunc(b.rows, func(r row) bool { return r.kind == kind })
	if i < 0 {
		i = len(b.rows)
		b.rows = append(b.rows, row{kind: kind})
	}
	began := time.Now()
	tried, err := do()
	b.rows[i].tried += tried
	b.rows[i].took += time.Since(began)
	if err != nil && ctx.Err() == nil {
		b.rows[i].findings++
		fmt.Fprintf(b.log, "FINDING: %s: %v\n", kind, err)
	}
}
