package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/expand"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/readmodel"
	"gitwf/internal/web"
)

func (e *env) ui(c *cli.Context, store *gitstore.Store) (err error) {
	id := plan.ID("")
	if c.IsSet("plan") {
		if id, err = planID(c, store); err != nil {
			return err
		}
		if _, err := store.Tip(c.Context, id); err != nil {
			return fmt.Errorf("read plan %s: %w", id, err)
		}
	}
	l, err := listen(c.String("addr"))
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := web.New(web.Options{
		Store: store, Now: e.now, Plan: id, ReadOnly: c.Bool("read-only"), Commands: e.asCommand,
		State: func(ctx context.Context, snap *gitstore.Snapshot) (*plan.State, error) {
			s, err := e.state(ctx, store, snap)
			if err != nil {
				return nil, err
			}
			return s.Repeating(expand.Rounds(ctx, store, snap)), nil
		},
		Read: func(ctx context.Context, snap *gitstore.Snapshot) (*readmodel.Plan, error) {
			eng, err := e.engine(c, store)
			if err != nil {
				return nil, err
			}
			return readmodel.Reader{Engine: eng}.Read(ctx, snap)
		},
		Inbox: func(ctx context.Context) ([]engine.Item, error) {
			eng, err := e.engine(c, store)
			if err != nil {
				return nil, err
			}
			return e.inboxItems(ctx, eng, "")
		},
		Weights: func() (estimate.Weights, error) { return e.weights(store) },
		Tail:    func(id plan.ID, task plan.TaskID) []byte { return runningLog(store.CommonDir(), id, task) },
	})
	if err != nil {
		return err
	}
	address := s.Address(l)
	fmt.Fprintln(e.stdout, address)
	if !c.Bool("no-open") && e.interactive {
		openBrowser(c.Context, address)
	}
	fmt.Fprintln(e.stderr, "serving until interrupted (Ctrl+C)")
	if err := s.Serve(c.Context, l); c.Context.Err() == nil {
		return err
	}
	return nil // the normal end
}

// listen accepts only a loopback address: anyone with the page's token acts under the user's name.
func listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usage("--addr: expected HOST:PORT such as 127.0.0.1:0, found %q", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.Equal(net.IPv4(127, 0, 0, 1)) && !ip.Equal(net.IPv6loopback) {
		return nil, usage("--addr: %s is no address of this machine alone; 127.0.0.1:0, localhost:PORT or "+
			"[::1]:PORT are (from elsewhere: ssh -L PORT:127.0.0.1:PORT)", plain.Line(addr))
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fault.Usage("git wf ui --addr 127.0.0.1:0", "listen on %s: %w", plain.Line(addr), err)
	}
	return l, nil
}

// asCommand runs a command line as in a terminal, and returns what it prints.
func (e *env) asCommand(ctx context.Context, args []string) web.Outcome {
	var out bytes.Buffer
	own := *e
	own.stdin, own.stdout, own.stderr, own.interactive, own.colour = strings.NewReader(""), &out, &out, false, false
	code := own.run(ctx, args)
	return web.Outcome{Output: strings.TrimSpace(out.String()), OK: code == fault.ExitDone}
}

// runningLog is the end of a running task's output; nil if no run on this machine works on it.
func runningLog(commonDir string, id plan.ID, task plan.TaskID) []byte {
	if !id.Valid() || !task.Valid() {
		return nil
	}
	return process.ReadEnd(engine.RunningLog(commonDir, id, task), 8<<10)
}

// openBrowser asks the system to open an address. If it can't, the terminal shows the address.
func openBrowser(ctx context.Context, address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
