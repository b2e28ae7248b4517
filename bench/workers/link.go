//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// link is a slow network between this namespace and one in which the server runs. It carries packets between two tun
// devices, since not every kernel has netem: connections, windows and what is sent again are those of the kernel.
type link struct {
	name, host  string       // of the namespace, and of the server in it
	roundTrip   atomic.Int64 // half of it in each direction
	loss        float64
	connections atomic.Int64 // begun from this side
	bytes       atomic.Int64 // both ways
	processes   []*exec.Cmd
}

// newLink makes one of up to 256, which do not disturb each other.
func newLink(number int, loss float64) (*link, error) {
	l := &link{loss: loss, name: fmt.Sprintf("wf-workers%d", number), host: fmt.Sprintf("10.77.%d.2", number)}
	near, err := openTun(l.name + "a")
	if err != nil {
		return nil, err
	}
	far, err := openTun(l.name + "b")
	if err != nil {
		return nil, err
	}
	here, there := "ip link set "+l.name, "ip -n "+l.name+" "
	for _, line := range []string{
		"ip netns add " + l.name, here + "b netns " + l.name,
		"ip addr add " + l.host[:len(l.host)-1] + "1/30 dev " + l.name + "a", here + "a up", there + "link set lo up",
		there + "addr add " + l.host + "/30 dev " + l.name + "b", there + "link set " + l.name + "b up",
	} {
		args := strings.Fields(line)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	go l.carry(near, far, true)
	go l.carry(far, near, false)
	return l, nil
}

func openTun(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

type packet struct {
	data []byte
	due  time.Time
}

func (l *link) carry(from, to *os.File, ours bool) {
	queue := make(chan packet, 100_000)
	go func() {
		for p := range queue {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.data) // a device that is not up yet loses it, as a network does
		}
	}()
	for data := make([]byte, 2000); ; {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if ours && begins(data[:n]) {
			l.connections.Add(1)
		}
		l.bytes.Add(int64(n))
		if rand.Float64() >= l.loss {
			queue <- packet{append([]byte{}, data[:n]...), time.Now().Add(time.Duration(l.roundTrip.Load() / 2))}
		}
	}
}

// begins reports whether a packet begins a TCP connection: one with SYN and without ACK.
func begins(p []byte) bool {
	const tcp, syn, ack = 6, 2, 16
	if len(p) < 20 || p[0]>>4 != 4 || p[9] != tcp {
		return false
	}
	flags := int(p[0]&15)*4 + 13
	return len(p) > flags && p[flags]&(syn|ack) == syn
}

// start runs a server's process in the namespace until the end.
func (l *link) start(env []string, args ...string) error {
	cmd := exec.Command("ip", append([]string{"netns", "exec", l.name}, args...)...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	l.processes = append(l.processes, cmd)
	return cmd.Start()
}

func (l *link) close() {
	for _, cmd := range l.processes {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	_ = exec.Command("ip", "netns", "del", l.name).Run()
}
