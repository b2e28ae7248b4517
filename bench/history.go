package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// benchHistory shows what a long history costs: it must not slow a status, and a log must begin at once. It also
// measures the size of an event in a packed repository.
func benchHistory(ctx context.Context, l *lab, z sizes) (report, error) {
	tasks := min(z.planTasks, 1000)
	var dirs [2]string
	for i, events := range []int{max(z.events/100, 1), z.events} {
		var err error
		if dirs[i], err = l.repo(ctx, fmt.Sprintf("history%d", i), ""); err != nil {
			return report{}, err
		}
		stream, err := longPlan(tasks, tasks, 0)
		if err != nil {
			return report{}, err
		}
		if _, err := l.git(ctx, dirs[i], strings.NewReader(stream+longHistory(tasks, events)), "fast-import",
			"--quiet"); err != nil {
			return report{}, err
		}
		if err := l.steps(ctx, dirs[i], []string{"git", "gc", "-q"}); err != nil {
			return report{}, err
		}
		if err := l.allDone(ctx, dirs[i], tasks); err != nil { // it leaves its cache
			return report{}, err
		}
	}
	status := func(dir string, events int) *contestant {
		return &contestant{name: fmt.Sprintf("git wf status, %d events", events), dir: dir,
			args: []string{l.gitWF, "status", "--plan", string(longID)}}
	}
	short, long := status(dirs[0], z.events/100), status(dirs[1], z.events)
	theirs := &contestant{name: "git log, its first line", dir: dirs[1],
		args: []string{"sh", "-c", "git log --oneline " + longRef + " | head -n 1"}}
	ours := &contestant{name: "git wf log, its first line", dir: dirs[1],
		args: []string{"sh", "-c", l.gitWF + " log --plan " + string(longID) + " | head -n 1"}}
	if err := l.measure(ctx, z.statuses, short, long, theirs, ours); err != nil {
		return report{}, err
	}
	size, err := l.eventSize(ctx, min(z.tasks, 1000))
	if err != nil {
		return report{}, err
	}
	return report{
		title: fmt.Sprintf("history: %d events in a plan of %d tasks; medians of %d. A packed event has %d bytes beyond its deliverable", z.events, tasks, z.statuses, size),
		rows:  []*contestant{short, long, theirs, ours},
		ratios: []ratio{
			compare("status of the long history / of a short one", 1.1, long, short),
			compare("log / git log", 0, ours, theirs),
			within("log / 50 ms", median(ours.wall), 50*time.Millisecond),
			within("bytes of a packed event / 900", size, 900),
		},
	}, nil
}

// longHistory continues the import of longPlan. Its events each add the record of an attempt without a result, and for
// each task one retry, after which the earlier attempts don't count. So all tasks stay done.
func longHistory(tasks, events int) string {
	lines := graphLines(tasks)
	var b strings.Builder
	event := func(i int, subject, path, document string) {
		fmt.Fprintf(&b, "commit %s\ncommitter Ada <ada@example.com> %d +0100\ndata %d\n%s\n", longRef, 1700000001+i,
			len(subject), subject)
		b.WriteString(importFile(path, document))
	}
	retries := min(tasks, events/2)
	attempts := events - retries
	for i := range attempts {
		id := lines[i%tasks].id
		event(i, string(id)+": attempt without a result", fmt.Sprintf("%s/attempts/a%d-noop.json", id.Dir(), i/tasks+1),
			"{\n  \"kind\": \"noop\"\n}\n")
	}
	for i := range retries {
		id := lines[i].id
		last := (attempts-i-1)/tasks + 1
		event(attempts+i, string(id)+": retry", fmt.Sprintf("%s/resets/s1-a%d-r1.json", id.Dir(), last), "{}\n")
	}
	return b.String()
}

// eventSize carries out a plan, packs the repository as git maintenance does, and returns how many bytes of the pack an
// event takes: everything reachable from the plan's ref except the deliverables.
func (l *lab) eventSize(ctx context.Context, tasks int) (int64, error) {
	dir, err := l.longRepo(ctx, "events", tasks, 0, tasks)
	if err != nil {
		return 0, err
	}
	begin, err := l.git(ctx, dir, nil, "rev-parse", longRef)
	if err != nil {
		return 0, err
	}
	if err := l.steps(ctx, dir, []string{l.gitWF, "run", "--quiet", "--plan", string(longID)},
		[]string{"git", "gc", "-q"}); err != nil {
		return 0, err
	}
	used, err := l.number(ctx, dir, "rev-list", "--objects", "--disk-usage", begin+".."+longRef)
	if err != nil {
		return 0, err
	}
	events, err := l.number(ctx, dir, "rev-list", "--count", begin+".."+longRef)
	if err != nil {
		return 0, err
	}
	files, err := l.git(ctx, dir, nil, "ls-tree", "-r", "--format=%(path) %(objectname)", longRef)
	if err != nil {
		return 0, err
	}
	var blobs strings.Builder
	for line := range strings.Lines(files) {
		if name, oid, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(name, "/files/") {
			fmt.Fprintln(&blobs, oid)
		}
	}
	sizes, err := l.git(ctx, dir, strings.NewReader(blobs.String()), "cat-file", "--batch-check=%(objectsize:disk)")
	if err != nil {
		return 0, err
	}
	for field := range strings.FieldsSeq(sizes) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used -= n
	}
	return used / events, nil
}

func (l *lab) number(ctx context.Context, dir string, args ...string) (int64, error) {
	out, err := l.git(ctx, dir, nil, args...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(out, 10, 64)
}
