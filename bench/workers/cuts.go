//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"gitwf/internal/chaostest"
)

// killText kills one in three receive-packs between the first and the second ref of a plan that it changes.
const killText = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void count(const char *path) {
	static int refs;
	struct timespec now;
	size_t n = strlen(path);
	if (strncmp(program_invocation_short_name, "git-receive-pack", 15) || !strstr(path, "refs/workflow")
			|| strstr(path, "/logs/") || (n > 5 && !strcmp(path + n - 5, ".lock")) || ++refs != 2) return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_nsec / 1000 % 3) return;
	if (write(open(getenv("KILLED"), O_WRONLY | O_CREAT | O_APPEND, 0666), "x", 1)) kill(getpid(), SIGKILL);
}
int rename(const char *from, const char *to) {
	count(to);
	return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}
int unlink(const char *path) {
	count(path);
	return ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
}
`

// cuts has four workers carry plans out at servers that fail, and shows what became of the plans.
func (b *bench) cuts(ctx context.Context) error {
	const tasks, workers = 20, 4
	row("server", "faults", "took", "done", "tasks with one version", "runs", "claims left", "doctor at the server")
	row("---", "---", "---", "---", "---", "---", "---", "---")
	for _, kind := range []string{"drops connections", "killed, locks stay", "killed, locks go"} {
		b.copies++
		ran := b.file(fmt.Sprintf("ran%d", b.copies))
		if err := os.Mkdir(ran, 0o777); err != nil {
			return err
		}
		s, err := b.newStage(ctx, tasks, "echo . >>"+ran+"/{}; sleep 1; echo {} >$WF_OUT/t.txt")
		if err != nil {
			return err
		}
		url, as, faults, stop, err := b.faulty(ctx, s, kind)
		if err != nil {
			return err
		}
		began := time.Now()
		s.work(ctx, workers, as, url)
		took := time.Since(began)
		n := faults()
		stop()
		if err := b.judge(ctx, s, kind, n, took, ran, tasks); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// faulty makes the stage's server one that fails.
func (b *bench) faulty(ctx context.Context, s *stage, kind string) (url string, as *chaostest.Repo, faults func() int,
	stop func(), err error) {
	if kind == "drops connections" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, nil, nil, err
		}
		var n atomic.Int64
		go b.dropSecond(l, &n)
		return fmt.Sprintf("git://%s/%s", l.Addr(), s.server), s.Repo, func() int { return int(n.Load()) },
			func() { l.Close() }, nil
	}
	source, err := b.write("kill.c", killText, 0o600)
	lib, killed := b.file("kill.so"), s.served+"/killed"
	if err == nil {
		err = exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-o", lib, source).Run()
	}
	wrap, err2 := b.write("receive-pack", fmt.Sprintf("#!/bin/sh\n"+
		"KILLED=%s LD_PRELOAD=%s exec git-receive-pack \"$@\"\n", killed, lib), 0o700)
	text, err3 := os.ReadFile(filepath.Join(b.Dir, "home", "gitconfig"))
	config, err4 := b.write("killing", string(text)+"[remote \"origin\"]\n"+
		"\treceivepack = PATH=$(git --exec-path):$PATH "+wrap+"\n", 0o600)
	as = &chaostest.Repo{Lab: s.Lab, Dir: s.Dir, Env: []string{"GIT_CONFIG_GLOBAL=" + config}}
	ended, stop := context.WithCancel(ctx)
	if kind == "killed, locks go" {
		go removeLocks(ended, s.served)
	}
	return s.served, as, func() int { data, _ := os.ReadFile(killed); return len(data) }, stop,
		errors.Join(err, err2, err3, err4)
}

// dropSecond carries connections to the server, and every second one only for a part of what is said.
func (b *bench) dropSecond(l net.Listener, dropped *atomic.Int64) {
	for i := 0; ; i++ {
		from, err := l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", net.JoinHostPort(b.link.host, "9418"))
		if err != nil {
			from.Close()
			continue
		}
		limit := int64(1) << 40
		if i%2 == 1 {
			limit = rand.Int64N(4000)
			dropped.Add(1)
		}
		copyPart := func(to, from net.Conn) {
			if n, _ := io.Copy(to, io.LimitReader(from, limit)); n == limit {
				to.Close()
				from.Close()
			} else {
				_ = to.(*net.TCPConn).CloseWrite()
			}
		}
		go copyPart(to, from)
		go copyPart(from, to)
	}
}

// removeLocks does what somebody who looks after a server does: locks that are some seconds old are nobody's.
func removeLocks(ctx context.Context, dir string) {
	for ctx.Err() == nil {
		time.Sleep(time.Second)
		_ = exec.CommandContext(ctx, "find", dir, "-name", "*.lock", "-mmin", "+0.1", "-delete").Run()
	}
}

// judge prints whether the plan is done and each task was done once.
func (b *bench) judge(ctx context.Context, s *stage, kind string, faults int, took time.Duration, ran string,
	tasks int) error {
	left, err := s.Git(ctx, "--git-dir="+s.served, "for-each-ref", "--format=%(refname) %(objecttype)", claimRef)
	if err != nil {
		return err
	}
	if locks, err := exec.Command("find", s.served, "-name", "*.lock").Output(); err == nil && len(locks) > 0 {
		fmt.Fprintf(os.Stderr, "%s: locks left:\n%s", kind, locks)
	}
	server := &chaostest.Repo{Lab: s.Lab, Dir: s.served}
	doctor, err := server.WF(ctx, "doctor")
	if err != nil {
		return err
	}
	sync, err := s.WF(ctx, "sync")
	if err != nil {
		return err
	}
	status, err := s.WF(ctx, "status")
	if err != nil {
		return err
	}
	done := regexp.MustCompile(`\d+ of \d+ done|: done`).FindString(status.Out)
	files, err := s.Git(ctx, "ls-tree", "-r", "--name-only", planRef, "--", "tasks")
	if err != nil {
		return err
	}
	once, runs := 0, 0
	for i := 1; i <= tasks; i++ {
		if n := strings.Count(files, fmt.Sprintf("/T-%d/artifacts/v", i)); n == 2 && // its record and its file
			strings.Count(files, fmt.Sprintf("/T-%d/artifacts/v1/", i)) == n {
			once++
		}
		data, _ := os.ReadFile(filepath.Join(ran, fmt.Sprint(i)))
		runs += len(data) / 2
	}
	if sync.Exit != 0 || doctor.Exit != 0 {
		fmt.Fprintf(os.Stderr, "%s: %s%s%s", kind, sync, doctor, status)
	}
	row(kind, faults, took, done, once, runs, len(strings.Fields(left))/2, doctor.Exit)
	return nil
}
