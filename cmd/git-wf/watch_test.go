package main

import (
	"context"
	"os"
	"testing"
	"time"

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
	w := &watcher{env: &env{now: time.Now, origin: aPerson}, screen: screen, model: &watch.Model{}, found: make(chan func())}
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
