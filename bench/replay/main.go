package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"

	"gitwf/internal/chaostest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("replay: ")
	only := flag.Bool("count", false, "count the moves and try none")
	program := flag.String("git-wf", "", "try them on this program instead of building one")
	dir := flag.String("dir", "", "make the repositories below this directory (default: the system's for temporary files)")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run -C bench ./replay [flags] DIR | REPOSITORY PATHSPEC")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	plans, err := read(ctx, flag.Args())
	if err == nil {
		c := count(plans)
		c.show(os.Stdout)
		if !*only {
			err = replay(ctx, os.Stdout, c, *dir, *program)
		}
	}
	if err != nil {
		stop()
		log.Fatal(err)
	}
}

func read(ctx context.Context, args []string) (plans []devPlan, err error) {
	switch len(args) {
	case 1:
		plans, err = readDir(args[0])
	case 2:
		plans, err = readHistory(ctx, args[0], args[1])
	default:
		return nil, errors.New("expected a directory, or a repository and a pathspec")
	}
	if err == nil && len(plans) == 0 {
		err = fmt.Errorf("%v: there is no plan", args)
	}
	return plans, err
}

// show prints what was counted.
func (c counts) show(w io.Writer) {
	fmt.Fprintf(w, "%d plans of %d runs: %d times one replaced another\n", c.plans, c.runs, c.pairs)
	for _, s := range slices.SortedFunc(maps.Keys(c.status), func(a, b string) int {
		return cmp.Or(c.status[b]-c.status[a], cmp.Compare(a, b))
	}) {
		fmt.Fprintf(w, "%6d  %s\n", c.status[s], s)
	}
	byKind := map[kind]int{}
	for _, m := range c.moves {
		byKind[m.kind]++
	}
	fmt.Fprintln(w, "moves that nobody should make:")
	for _, k := range wrong {
		fmt.Fprintf(w, "%6d  %s", byKind[k], k)
		switch k {
		case skipped:
			fmt.Fprintf(w, ", of %d to VERIFIED", c.toVerified)
		case changed:
			fmt.Fprintf(w, ", of which %d in its commands, %d after work began", c.commands, c.begun)
		}
		fmt.Fprintln(w)
	}
}

// replay stages every plan that a wrong move changed, tries the move by every way, and prints how that ended. It fails
// if one was taken.
func replay(ctx context.Context, w io.Writer, c counts, dir, program string) error {
	lab, err := chaostest.NewLab(ctx, dir, program)
	if err != nil {
		return err
	}
	defer lab.Close()
	t, err := build(ctx, lab)
	if err != nil {
		return err
	}
	type cell struct {
		kind        kind
		way, result string
	}
	ended := map[cell]int{}
	words := map[cell]string{}
	bad, stages := 0, 0
	var s *stage
	for i, m := range c.moves {
		if i == 0 || c.moves[i-1].from.name != m.from.name {
			stages++
			if s, err = t.play(ctx, fmt.Sprintf("replay-%d", stages), m.from); err != nil {
				return err
			}
		}
		all, err := s.attempt(ctx, m)
		if err != nil {
			return err
		}
		for _, o := range all {
			at := cell{m.kind, o.way, o.result}
			ended[at]++
			words[at] = cmp.Or(words[at], o.said)
			if o.result == taken {
				bad++
				fmt.Fprintf(w, "%s: %s: %s by %s: %s\n", m.from.name, m.before.id, m.kind, o.way, o.said)
			}
		}
	}
	fmt.Fprintf(w, "%d plans staged\n", stages)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, k := range wrong {
		for _, y := range ways {
			for _, result := range []string{refused, waits, taken} {
				if at := (cell{k, y.name, result}); ended[at] > 0 {
					fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", k, y.name, ended[at], result, words[at])
				}
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d moves were taken", bad)
	}
	return nil
}
