package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// visitCommands calls f with each command that help lists, and its words.
func visitCommands(above string, commands []*cli.Command, f func(words string, c *cli.Command)) {
	for _, c := range commands {
		if !c.Hidden {
			f(above+c.Name, c)
			visitCommands(above+c.Name+" ", c.Subcommands, f)
		}
	}
}

func TestHelpIsNarrow(t *testing.T) {
	app := (&env{}).app()
	app.Setup()
	var out bytes.Buffer
	printHelp(&out, "", app)
	visitCommands("", app.Commands, func(words string, c *cli.Command) {
		if c.HelpName = "git wf " + words; words != "help" {
			printHelp(&out, "", c)
		}
	})
	for line := range strings.Lines(out.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > helpWidth {
			t.Errorf("%d columns, expected at most %d: %s", width, helpWidth, line)
		}
		if strings.Contains(line, "`") {
			t.Errorf("a backquote is left: %s", line)
		}
	}
}

// TestHelpExamples carries each example out as far as the command line goes: words, flags and number of arguments.
func TestHelpExamples(t *testing.T) {
	explained := map[string]bool{"completion": true, "help": true} // hidden, and the parser's own
	visitCommands("", (&env{}).app().Commands, func(words string, c *cli.Command) {
		explained[words] = true
		examples := entryOf(words, c).examples
		if len(examples) < 2 {
			t.Errorf("git wf %s: %d examples, expected two", words, len(examples))
		}
		for _, line := range examples {
			ran, err := parseExample(line)
			if err != nil || !strings.HasPrefix(line, "git wf "+words) || ran == "" {
				t.Errorf("%s: leads to %q: %v", line, ran, err)
			}
		}
	})
	for _, section := range strings.Split("\n"+helpText, "\n## ")[1:] {
		if words, _, _ := strings.Cut(section, "\n"); !explained[words] {
			t.Errorf("help.txt explains %q, which is no command", words)
		}
	}
}

// parseExample returns the words of the command that a line of the shell leads to.
func parseExample(line string) (ran string, err error) {
	app := (&env{}).app()
	app.Writer, app.ErrWriter = io.Discard, io.Discard
	visitCommands("", app.Commands, func(words string, c *cli.Command) {
		if len(c.Subcommands) == 0 {
			c.Before = checkArgs
		}
		c.Action = func(*cli.Context) error { ran = words; return nil }
	})
	line = regexp.MustCompile(` (>|&&|\|) .*`).ReplaceAllString(line, "")
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|[^ ]+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	err = app.Run(append([]string{"git wf"}, flagsFirst(app.Commands, args[2:])...))
	return ran, err
}
