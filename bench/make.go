package main

import (
	"fmt"
	"strings"
)

// makeFile lets make run the same commands, each task in its own directory, and record nothing.
func makeFile(lines []taskLine) string {
	var all, rules strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&all, " %s", l.id)
		line := func(command string) string { return strings.ReplaceAll(command, "$", "$$") }
		fmt.Fprintf(&rules, "%s:\n\t@mkdir $@ && cd $@ && export WF_OUT=$$PWD && %s\n\t@cd $@ && %s\n", l.id, line(l.run),
			line(l.check))
	}
	return "all:" + all.String() + "\n.PHONY: all\n" + rules.String()
}
