package main

import (
	"context"
	"os"
	"testing"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/repotest"
	"gitwf/internal/terminal"
	"gitwf/internal/watch"
)

// watchThatPanics is a program that has the whole screen when what it does beside it goes wrong, as a defect would.
func watchThatPanics() {
	ctx := context.Background()
	screen, err := terminal.Open(os.Stdin, os.Stdout)
	if err != nil {
		panic(err)
	}
	defer screen.Close()
	w := &watcher{env: &env{now: time.Now}, screen: screen, model: &watch.Model{}, found: make(chan func())}
	w.aside(ctx, func() func() {
		time.Sleep(100 * time.Millisecond)
		var none []int
		return func() { w.model.Say(string(rune(none[0]))) }
	})
	w.aside(ctx, func() func() {
		var none []int
		_ = none[len(os.Args)+7]
		return nil
	})
	_ = w.loop(ctx, terminal.Keys(os.Stdin), nil)
}

func TestASCIIAlone(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    bool
	}{
		{"nothing is said", nil, true},
		{"UTF-8", []string{"LANG=zh_CN.UTF-8"}, false},
		{"utf8", []string{"LANG=C.utf8"}, false},
		{"LC_ALL counts first", []string{"LANG=en_US.UTF-8", "LC_ALL=C"}, true},
		{"LC_CTYPE before LANG", []string{"LANG=C", "LC_CTYPE=en_US.UTF-8"}, false},
		{"empty says nothing", []string{"LC_ALL=", "LANG=en_US.UTF-8"}, false},
		{"Latin 1", []string{"LANG=de_DE.ISO-8859-1"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (user{tt.environ}).asciiAlone(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A plan is read again soon after it has moved, and once more when the times of files have surely changed.
func TestChanges(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	repo := repotest.New(t)
	c := changes(ctx, func() gitstore.Pulse { return repo.Store.Pulse(repotest.ID) })
	select {
	case <-c:
		t.Fatal("a change before there was one")
	case <-time.After(3 * watchTime):
	}
	repo.Begin("title: Note\nroot_acceptance_criteria: [{id: R1, statement: It is there}]\ntasks: [{task_id: NOTE-1, title: Note, covers: [R1], estimated_person_days: 1, deliverable_spec: {filename: n.md}, acceptance_criteria: [{id: A1, statement: It has 1 line}]}]\n")
	for range 2 {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal("no change after there was one")
		}
	}
}
