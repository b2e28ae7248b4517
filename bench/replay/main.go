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
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("replay: ")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run -C bench ./replay [flags] DIR | REPOSITORY PATHSPEC")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	plans, err := read(ctx, flag.Args())
	if err == nil {
		count(plans).show(os.Stdout)
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
