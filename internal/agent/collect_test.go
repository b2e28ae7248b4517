//go:build unix

package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// output is a WF_OUT that a shell script has written.
func output(t *testing.T, script string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = out
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if data, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, data)
	}
	return out
}

// listing writes files as "mode path size", links with their target.
func listing(files []File) string {
	var lines []string
	for _, f := range files {
		line := fmt.Sprintf("%s %s %d", f.Mode, f.Path, f.Size)
		if f.Target != "" {
			line += " -> " + f.Target
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// broken writes an error's rules as "path: rule".
func broken(t *testing.T, err error) string {
	t.Helper()
	var all []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	} else if err != nil {
		all = []error{err}
	}
	var lines []string
	for _, err := range all {
		var c *CollectError
		if errors.As(err, &c) {
			lines = append(lines, c.Path+": "+string(c.Rule))
		} else {
			lines = append(lines, err.Error())
		}
	}
	return strings.Join(lines, "\n")
}

func TestCollect(t *testing.T) {
	anything := plan.DeliverableSpec{BundleMode: "MANIFEST"}
	single := plan.DeliverableSpec{Filename: "a.html", SingleFile: true}
	tests := []struct {
		name   string
		script string
		spec   plan.DeliverableSpec
		want   string
	}{
		{"one file", "printf abc >a.html", single, "100644 a.html 3"},
		{"empty file", ": >a.html", single, "100644 a.html 0"},
		{"ordered by path", "mkdir a; : >a/b; : >a.b; : >a-b", anything, "100644 a-b 0\n100644 a.b 0\n100644 a/b 0"},
		{"executable", ": >a; chmod 755 a; : >b; chmod 654 b", anything, "100755 a 0\n100644 b 0"},
		{"empty directories", "mkdir -p x/y; : >a.html", single, "100644 a.html 0"},
		{"other scripts", ": >文档.md; : >Ärger", anything, "100644 Ärger 0\n100644 文档.md 0"},
		{"hidden", ": >.gitignore; mkdir .x; : >.x/y", anything, "100644 .gitignore 0\n100644 .x/y 0"},
		{"in the output directory", "mkdir -p site/x; : >site/x/i.html",
			plan.DeliverableSpec{OutputDir: "site/x", Filename: "i.html"}, "100644 site/x/i.html 0"},
		{"anything in the output directory", "mkdir -p site/x; : >site/x/i", plan.DeliverableSpec{OutputDir: "site"},
			"100644 site/x/i 0"},
		{"patterns", "mkdir -p d/e/f; : >d/a.md; : >d/e/f/b.md; : >x.png",
			plan.DeliverableSpec{Files: []string{"d/**/*.md", "?.png"}},
			"100644 d/a.md 0\n100644 d/e/f/b.md 0\n100644 x.png 0"},
		{"link to a file", "mkdir d; : >d/a; ln -s d/a l; ln -s ../d/a d/m", anything,
			"100644 d/a 0\n120000 d/m 6 -> ../d/a\n120000 l 3 -> d/a"},
		{"link with a dot", "mkdir d; : >a; ln -s ./a l; ln -s ../a d/m", anything,
			"100644 a 0\n120000 d/m 4 -> ../a\n120000 l 3 -> ./a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := Collect(output(t, tt.script), &tt.spec, plan.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if got := listing(files); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestCollectRefuses(t *testing.T) {
	anything := plan.DeliverableSpec{BundleMode: "MANIFEST"}
	single := plan.DeliverableSpec{Filename: "a", SingleFile: true}
	small := plan.Config{MaxArtifactFiles: 3, MaxArtifactBytes: 20}
	tests := []struct {
		name   string
		script string
		spec   plan.DeliverableSpec
		want   string // path and rule of each problem
	}{
		{"nothing", "", anything, ".: nothing was written"},
		{"nothing declared", "", single, ".: nothing was written"},
		{"directories only", "mkdir -p a/b", anything, ".: nothing was written"},
		{"WF_OUT removed", "rmdir ../out", anything, ".: nothing was written"},
		{"WF_OUT a link", "rmdir ../out; ln -s /etc ../out", anything, ".: not a regular file"},
		{"WF_OUT a file", "rmdir ../out; : >../out", anything, ".: not a regular file"},
		{"missing", ": >a", plan.DeliverableSpec{Files: []string{"a", "b", "c/**"}},
			"b: a declared file is missing\nc/**: no file fits a declared pattern"},
		{"undeclared", ": >a; : >b", plan.DeliverableSpec{Filename: "a"}, "b: the file is not declared"},
		{"outside of the output directory", ": >a", plan.DeliverableSpec{OutputDir: "site"}, "a: the file is not declared"},
		{"misplaced", ": >a", plan.DeliverableSpec{OutputDir: "site", Filename: "a"},
			"a: the file is not declared\nsite/a: a declared file is missing"},
		{"several", ": >a; : >b", plan.DeliverableSpec{Files: []string{"*"}, SingleFile: true},
			".: the deliverable is a single file"},
		{"link to /etc/passwd", "ln -s /etc/passwd a", single, "a: a symbolic link must lead to a file of the artifact"},
		{"link climbs out", ": >b; ln -s ../out/b a", anything, "a: a symbolic link must lead to a file of the artifact"},
		{"link climbs out on its way", "mkdir d; : >b; ln -s d/../../out/b a", anything,
			"a: a symbolic link must lead to a file of the artifact"},
		{"dangling link", "ln -s nowhere a", anything, "a: a symbolic link must lead to a file of the artifact"},
		{"link to a directory", "mkdir d; : >d/a; ln -s d l", anything,
			"l: a symbolic link must lead to a file of the artifact"},
		{"link to a link", ": >a; ln -s a l; ln -s l m", anything, "m: a symbolic link must lead to a file of the artifact"},
		{"link over a link", "mkdir d; : >d/a; ln -s d l; ln -s l/a m", anything,
			"l: a symbolic link must lead to a file of the artifact\nm: a symbolic link must lead to a file of the artifact"},
		{"link to an empty directory", "mkdir d; ln -s d a", anything,
			"a: a symbolic link must lead to a file of the artifact"},
		{"link through a file", ": >b; ln -s b/../b a", anything, "a: a symbolic link must lead to a file of the artifact"},
		{"link to itself", "ln -s a a", anything, "a: a symbolic link must lead to a file of the artifact"},
		{"links in a circle", "ln -s b a; ln -s a b", anything,
			"a: a symbolic link must lead to a file of the artifact\nb: a symbolic link must lead to a file of the artifact"},
		{"link to its directory", "mkdir d; : >d/f; ln -s . d/a", anything,
			"d/a: a symbolic link must lead to a file of the artifact"},
		{"link to the root", ": >f; ln -s . a", anything, "a: a symbolic link must lead to a file of the artifact"},
		{"links that make an endless tree", "mkdir a b; ln -s ../b a/x; ln -s ../a b/y", anything,
			"a/x: a symbolic link must lead to a file of the artifact\nb/y: a symbolic link must lead to a file of the artifact"},
		{"FIFO", "mkfifo a", single, "a: not a regular file"},
		{"name not UTF-8", `: >"$(printf 'a\377')"`, anything, "a\xff: the name is not allowed"},
		{"name with a newline", `: >"$(printf 'a\nb')"`, anything, "a\nb: the name is not allowed"},
		{"git's own name", "mkdir .GIT; : >.GIT/config; : >.gitmodules", anything,
			".GIT/config: the name is not allowed\n.gitmodules: the name is not allowed"},
		{"git's name as HFS sees it", `: >"$(printf '.g\342\200\214it')"`, anything, ".g\u200cit: the name is not allowed"},
		{"case", ": >readme; : >README", anything, "readme: two names are the same on some systems"},
		{"case of directories", "mkdir a A; : >a/x; : >A/y", anything, "a/x: two names are the same on some systems"},
		{"file and directory", "mkdir A; : >A/y; : >a", anything, "a: two names are the same on some systems"},
		{"sharp s", ": >straße; : >strasse", anything, "straße: two names are the same on some systems"},
		{"composition", `: >"$(printf '\303\251')"; : >"$(printf 'e\314\201')"`, anything,
			"e\u0301: the name is not allowed\n\u00e9: two names are the same on some systems"},
		{"too big", "printf 123456789012345678901 >a", single, "a: too many bytes"},
		{"too big together", "printf 123456789012 >a; printf 123456789012 >b", anything, "b: too many bytes"},
		{"sparse", "dd of=a bs=1048576 seek=1048576 count=0 </dev/null", single, "a: too many bytes"},
		{"too many", "i=0; while [ $i -lt 2000 ]; do : >$i; i=$((i+1)); done", anything, ".: too many files"},
		{"too deep", "d=x; i=0; while [ $i -lt 120 ]; do d=$d/x; i=$((i+1)); done; mkdir -p $d", anything,
			strings.Repeat("x/", 100) + "x: the name is not allowed"},
		{"bad pattern", ": >a", plan.DeliverableSpec{Files: []string{"[a"}}, "[a: the declared name is not a pattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := Collect(output(t, tt.script), &tt.spec, small)
			got := broken(t, err)
			if tt.name == "too big together" { // the file system decides which of the two comes first
				got = strings.Replace(got, "a:", "b:", 1)
			}
			if got != tt.want {
				t.Errorf("got %q\n(%v)\nand files:\n%s\nwant %q", got, err, listing(files), tt.want)
			}
		})
	}
}

func TestCollectUnreadable(t *testing.T) {
	out := output(t, ": >a; chmod 000 a")
	if _, err := Collect(out, nil, plan.Config{}); broken(t, err) != "a: can't be read" {
		t.Errorf("got %v", err)
	}
}

func TestCollectMessage(t *testing.T) {
	tests := []struct {
		name, script string
		spec         plan.DeliverableSpec
		want         string
	}{
		{"undeclared", ": >a; : >tmp.log", plan.DeliverableSpec{Filename: "a"},
			"tmp.log: the file is not declared: want what is declared: a " +
				"(temporary files belong elsewhere), got this file"},
		{"link", "ln -s /etc/passwd a", plan.DeliverableSpec{Filename: "a"},
			"a: a symbolic link must lead to a file of the artifact: want the relative path of a file of the artifact, no directory and no link, got /etc/passwd"},
		{"name of control characters", `: >"$(printf 'a\033[31m')"`, plan.DeliverableSpec{},
			`"a\x1b[31m": the name is not allowed: want a name `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Collect(output(t, tt.script), &tt.spec, plan.Config{})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestCollectManyProblems(t *testing.T) {
	out := output(t, "i=0; while [ $i -lt 500 ]; do : >$i; i=$((i+1)); done")
	_, err := Collect(out, &plan.DeliverableSpec{Filename: "a"}, plan.Config{})
	if n := strings.Count(err.Error(), "\n"); n != maxProblems || !strings.HasSuffix(err.Error(), "and 481 more") {
		t.Errorf("%d lines:\n%v", n, err)
	}
}

func TestCollectLongLink(t *testing.T) {
	out := output(t, ": >b; l=.; i=0; while [ $i -lt 1100 ]; do l=$l/.; i=$((i+1)); done; ln -s $l/b a")
	if _, err := Collect(out, nil, plan.Config{}); broken(t, err) != "a: "+string(RuleSymlink) {
		t.Errorf("got %v", err)
	}
}

// Swapping a directory for a link or a FIFO during Collect can make it fail, but can't lead it outside or block it.
func TestCollectRace(t *testing.T) {
	out := output(t, "mkdir d; : >d/inside; mkdir ../secret; : >../secret/outside")
	ctx, stop := context.WithCancel(t.Context())
	swapped := make(chan error)
	go func() {
		_, err := process.Run(ctx, process.Command{
			Line: "while :; do mv d e; ln -s ../secret d; rm d; mkfifo d; rm d; mv e d; done 2>/dev/null", Dir: out,
			Env: os.Environ(),
		})
		swapped <- err
	}()
	defer func() {
		stop()
		if err := <-swapped; err != nil {
			t.Error(err)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for begin := time.Now(); time.Since(begin) < 500*time.Millisecond; {
			files, _ := Collect(out, nil, plan.Config{})
			for _, f := range files {
				if strings.HasSuffix(f.Path, "outside") {
					t.Errorf("led to %s", f.Path)
				}
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("Collect hangs")
	}
}

// The walk neither enters nor waits for what replaced a directory between listing and opening.
func TestWalkReplaced(t *testing.T) {
	tests := []struct{ name, script string }{
		{"FIFO", "rmdir d; mkfifo d"},
		{"file", "rmdir d; : >d"},
		{"link to another directory", "mkdir e; : >e/f; rmdir d; ln -s e d"},
		{"link outside", "rmdir d; mkdir ../e; : >../e/f; ln -s ../e d"},
		{"another directory", "mv d e; mkdir d; : >d/f"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := output(t, "mkdir d")
			listed, err := os.Lstat(filepath.Join(out, "d"))
			if err != nil {
				t.Fatal(err)
			}
			if data, err := exec.Command("/bin/sh", "-c", "cd "+out+" && "+tt.script).CombinedOutput(); err != nil {
				t.Fatal(string(data), err)
			}
			root, err := os.OpenRoot(out)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			w := &walker{root: root, visit: func(_ *os.Root, name string, _ fs.FileInfo) error {
				t.Errorf("visited %s", name)
				return nil
			}}
			var problem *CollectError
			if err := w.dir("d", listed, 1); !errors.As(err, &problem) || problem.Rule != RuleChanged &&
				problem.Rule != RuleUnreadable {
				t.Errorf("got %v", err)
			}
		})
	}
}
