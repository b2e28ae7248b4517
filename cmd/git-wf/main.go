// Command git-wf is the git subcommand "git wf": work planned, reviewed and landed in a git repository.
//
// commands.go lists the commands, flags.go and rules.go what holds for them. A command parses its flags, calls one
// function of the packages below internal/, and prints what that returns: as JSON, or by a template of text/.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"gitwf/internal/caller"
	"gitwf/internal/fault"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// gcPercent puts the first collection at a heap of 64 MB: most commands read a plan, print something and end before,
// and on a long plan the collector would take a third of the time. memoryLimit, in bytes, bounds what longer ones keep.
const (
	gcPercent   = 1600
	memoryLimit = 200 << 20
)

func main() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(mainExit(caller.Here))
}

// assumed makes a program that is built for tests take whoever runs it for a person, since tests run below whatever
// began them: -ldflags "-X main.assumed=person".
var assumed string

// mainExit runs the program; origin finds out where it was called from.
func mainExit(origin func(environ []string, terminal bool) caller.Origin) int {
	cli.HelpPrinter = printHelp
	root, end := context.WithCancel(context.Background())
	defer end()
	go endWithParent(root, end)
	ctx, stop := signal.NotifyContext(root, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		time.Sleep(2 * oneInterrupt)
		stop() // a second interrupt ends the program at once
	})
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal:", err)
		return fault.ExitNoRepository
	}
	u := user{os.Environ()}
	e := &env{
		printer: printer{style: style{wantColour(os.Stdout, u.getenv("NO_COLOR"), u.getenv("TERM"))},
			stdout: os.Stdout, stderr: os.Stderr},
		user: u, stdin: os.Stdin, dir: dir, now: time.Now, program: program(),
		interactive: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
	}
	e.origin = sync.OnceValue(func() caller.Origin {
		if assumed != "" {
			return caller.Origin{Environ: []string{"WF_TASK=" + u.getenv("WF_TASK")}, Terminal: true}
		}
		return origin(e.environ, e.interactive)
	})
	return e.run(ctx, os.Args[1:])
}

// endWithParent interrupts the program when git, which started it, was killed: nobody sees it, or can end it.
func endWithParent(ctx context.Context, end func()) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for parent := os.Getppid(); os.Getppid() == parent; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	end()
}

// program is the absolute path of this executable, which the hooks call; "" if the system does not say.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

func wantColour(out io.Writer, noColor, terminal string) bool {
	f, ok := out.(*os.File)
	return ok && noColor == "" && terminal != "dumb" && term.IsTerminal(int(f.Fd()))
}
