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
	"time"
)

// sizes say how large the repositories are and how often each command runs.
type sizes struct {
	files      int // of the repository to commit to
	bundle     int // files of the committed bundle
	commits    int // rounds
	history    int // commits of the verified history
	landings   int // commits that touch deliverables
	verifies   int // rounds
	moves      int // rounds of moving one ref
	tags       int // tags to fetch
	fetches    int // rounds
	tasks      int // tasks to carry out
	runs       int // rounds
	planTasks  int // of the plan for status
	statuses   int // rounds
	scales     int // rounds
	events     int // of the long history
	large      int // MB of the large file
	many       int // small files
	attempts   int // rounds
	changes    int // approved, to land
	landed     int // rounds
	flow       int // tasks of the workflow
	flows      int // rounds
	syncScript bool
	rest       time.Duration // before each contestant
}

// benchmarks are the benchmarks by name.
var benchmarks = []struct {
	name string
	run  func(context.Context, *lab, sizes) (report, error)
}{
	{"gate", benchGate},
	{"verify", benchVerify},
	{"strict", benchStrict},
	{"run", benchRun},
	{"status", benchStatus},
	{"scale", benchScale},
	{"history", benchHistory},
	{"large", benchLarge},
	{"growth", benchGrowth},
	{"attempt", benchAttempt},
	{"land", benchLand},
	{"workflow", benchWorkflow},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var z sizes
	flag.IntVar(&z.files, "files", 100_000, "gate: files in the repository")
	flag.IntVar(&z.bundle, "bundle", 1000, "gate: files of the bundle")
	flag.IntVar(&z.commits, "commits", 21, "gate: rounds")
	flag.IntVar(&z.history, "history", 10_000, "verify: commits of the history")
	flag.IntVar(&z.landings, "landings", 10, "verify: commits that touch deliverables")
	flag.IntVar(&z.verifies, "verifies", 21, "verify: rounds")
	flag.IntVar(&z.moves, "moves", 61, "strict: rounds of one ref")
	flag.IntVar(&z.tags, "tags", 1000, "strict: tags that are fetched")
	flag.IntVar(&z.fetches, "fetches", 11, "strict: rounds of fetches")
	flag.IntVar(&z.tasks, "n", 1000, "run: tasks to carry out")
	flag.IntVar(&z.runs, "runs", 1, "run: rounds")
	flag.DurationVar(&z.rest, "rest", 65*time.Second, "run: pause before each contestant")
	flag.BoolVar(&z.syncScript, "sync-script", false, "run: let the script's git flush every object, too")
	flag.IntVar(&z.planTasks, "plan", 10_000, "status, scale, history, growth: tasks of the plan")
	flag.IntVar(&z.statuses, "statuses", 11, "status: rounds")
	flag.IntVar(&z.scales, "scales", 3, "scale, history, growth: rounds")
	flag.IntVar(&z.events, "events", 100_000, "history: events of the plan")
	flag.IntVar(&z.large, "large", 2048, "large: MB of the large file")
	flag.IntVar(&z.many, "many", 50_000, "large: small files")
	flag.IntVar(&z.attempts, "attempts", 5, "attempt: rounds")
	flag.IntVar(&z.changes, "changes", 100, "land: approved changes")
	flag.IntVar(&z.landed, "landed", 5, "land: rounds")
	flag.IntVar(&z.flow, "flow", 50, "workflow: tasks")
	flag.IntVar(&z.flows, "flows", 5, "workflow: rounds")
	checkout := flag.String("checkout", "", "attempt: measure nothing, but make one checkout of this repository")
	dir := flag.String("dir", "", "make the repositories below this directory (default: the system's for temporary files)")
	program := flag.String("git-wf", "", "measure this program instead of building one")
	page := flag.String("page", "", "write each ratio that has a goal into the table of this file, docs/performance.md")
	picture := flag.String("plot", "", "growth: draw the curves into this SVG file")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run ./bench [flags] [%s]\n", strings.Join(benchmarkNames(), "] ["))
		flag.PrintDefaults()
	}
	flag.Parse()
	if *checkout != "" {
		if err := oneCheckout(context.Background(), *checkout); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := start(*dir, *program, *picture, *page, z, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func start(dir, program, picture, page string, z sizes, names []string) error {
	for _, name := range names {
		if !slices.Contains(benchmarkNames(), name) {
			return fmt.Errorf("%s: no such benchmark; expected %s", name, strings.Join(benchmarkNames(), ", "))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := newLab(ctx, dir, program)
	if err != nil {
		return err
	}
	defer l.remove()
	return measureAll(ctx, log.Writer(), l, z, names, func(r report) error {
		fmt.Print("\n", r)
		if page != "" {
			if err := writePage(page, r); err != nil {
				return err
			}
		}
		if picture == "" || len(r.curves) == 0 {
			return nil
		}
		return draw(r.curves, picture)
	})
}

func benchmarkNames() []string {
	var names []string
	for _, b := range benchmarks {
		names = append(names, b.name)
	}
	return names
}

// measureAll runs the named benchmarks, or all of them, and shows each when it is done.
func measureAll(ctx context.Context, progress io.Writer, l *lab, z sizes, names []string,
	show func(report) error) error {
	version, err := l.git(ctx, l.dir, nil, "version")
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s, %s/%s, %d CPUs\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, b := range benchmarks {
		if len(names) > 0 && !slices.Contains(names, b.name) {
			continue
		}
		fmt.Fprintf(progress, "bench: %s ...\n", b.name)
		r, err := b.run(ctx, l, z)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if err := show(r); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}
