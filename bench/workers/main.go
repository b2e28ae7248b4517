//go:build linux

// Command workers measures what the workers of a plan ask of a git server, and what they get from it:
//
//	go run -C bench ./workers push       # hand-ins and claims a second, beside plain pushes and a contended ref
//	go run -C bench ./workers overhead   # git wf worker with tasks of ten seconds
//	go run -C bench ./workers cuts       # a server that drops connections, or is killed between two refs
//	go run -C bench ./workers thousand   # what grows with the number of workers
//
// It needs Linux, root, git daemon, nginx, fcgiwrap, sshd, and for cuts a C compiler. The server runs in a network
// namespace of its own. README.md says what came out.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/chaostest"
)

// bench is one run of this program.
type bench struct {
	*chaostest.Lab
	link       *link
	transports []string
	delays     []time.Duration
	workers    []int
	hook       bool
	ssh        string
	window     time.Duration
	rounds     int
	copies     int
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("workers: ")
	transports := flag.String("transports", "git,http,ssh", "how the server is reached")
	ms := flag.String("ms", "1,20,200", "round trips in milliseconds")
	workers := flag.String("workers", "1,4,16,32", "numbers of workers")
	loss := flag.Float64("loss", 0, "the part of all packets that is lost")
	network := flag.Int("net", 0, "the `NUMBER` of the network, for several at once")
	b := &bench{}
	flag.StringVar(&b.ssh, "ssh", "", "more options of ssh")
	flag.BoolVar(&b.hook, "hook", false, "the gate judges every push on the server")
	flag.DurationVar(&b.window, "window", 2*time.Second, "how long each side pushes in a round")
	flag.IntVar(&b.rounds, "rounds", 2, "rounds, in which all sides take turns")
	flag.Parse()
	b.transports = strings.Split(*transports, ",")
	for _, n := range numbers(*ms) {
		b.delays = append(b.delays, time.Duration(n)*time.Millisecond)
	}
	b.workers = numbers(*workers)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	modes := map[string]func(context.Context) error{
		"push": b.push, "overhead": b.overhead, "cuts": b.cuts, "thousand": b.thousand,
	}
	run := modes[flag.Arg(0)]
	if run == nil {
		log.Fatal("expected push, overhead, cuts or thousand")
	}
	err := b.furnish(ctx, *network, *loss)
	if err == nil {
		err = run(ctx)
	}
	b.close()
	if err != nil {
		log.Fatal(err)
	}
}

func numbers(list string) (all []int) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func (b *bench) furnish(ctx context.Context, network int, loss float64) (err error) {
	if b.Lab, err = chaostest.NewLab(ctx, "", ""); err != nil {
		return err
	}
	if b.link, err = newLink(network, loss); err != nil {
		return err
	}
	return b.serve(ctx)
}

func (b *bench) close() {
	if b.link != nil {
		b.link.close()
	}
	if b.Lab != nil {
		_ = b.Lab.Close()
	}
}

// load is what else runs on the machine.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

func (b *bench) file(name string) string { return filepath.Join(b.Dir, name) }

// write makes a file of the lab and returns its name.
func (b *bench) write(name, text string, mode os.FileMode) (string, error) {
	return b.file(name), os.WriteFile(b.file(name), []byte(text), mode)
}

// row prints a row of a table.
func row(cells ...any) {
	for _, c := range cells {
		switch c := c.(type) {
		case float64:
			fmt.Printf("| %.2f ", c)
		case time.Duration:
			fmt.Printf("| %d ms ", c.Milliseconds())
		default:
			fmt.Printf("| %v ", c)
		}
	}
	fmt.Println("|")
}
