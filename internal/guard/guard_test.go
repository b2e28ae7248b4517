package guard

import (
	"cmp"
	"strings"
	"testing"
)

// here is a repository in /repo; a person decides review, land and policy set.
var here = Rules{
	Dir: "/repo",
	Decides: func(words []string) bool {
		return words[0] == "review" || words[0] == "land" || words[0] == "run" && strings.Contains(strings.Join(words, " "), "--land")
	},
	Writes: func(path string) *Refusal {
		below, isBelow := strings.CutPrefix(path+"/", "/repo/.git/")
		switch {
		case strings.HasPrefix(path, "/repo/src/"):
			return Of("protected")
		case isBelow && Guarded(cmp.Or(strings.TrimSuffix(below, "/"), ".")):
			return Of("files")
		}
		return nil
	},
}

var lines = []struct {
	why  *Refusal // nil: it may run; &decision: a person's
	line string
}{
	{Of("skips"), `git commit --no-verify -m x`},
	{Of("skips"), `git commit -m x --no-verify`},
	{Of("skips"), `git commit -n -m x`},
	{Of("skips"), `git commit -anm x`},
	{Of("skips"), `git commit -a -n`},
	{Of("skips"), `git commit --no-verif -m x`},
	{Of("skips"), `git -C sub commit --no-verify`},
	{Of("skips"), `git -c user.name=x commit --no-verify`},
	{Of("skips"), `cd sub && git add . && git commit --no-verify -m x`},
	{Of("skips"), `git add .; git commit -n`},
	{Of("skips"), `true | git commit -n`},
	{Of("skips"), `(git commit -n)`},
	{Of("skips"), `{ git commit -n; }`},
	{Of("skips"), `if git commit -n; then true; fi`},
	{Of("skips"), `for f in a b; do git commit -n -m $f; done`},
	{Of("skips"), `sh -c 'git commit --no-verify -m x'`},
	{Of("skips"), `bash -lc "git commit --no-verify -m 'x y'"`},
	{Of("skips"), `bash -l -c 'git commit -n'`},
	{Of("skips"), `sh -c "sh -c 'git commit -n'"`},
	{Of("skips"), `eval "git commit -n"`},
	{Of("skips"), `x=$(git commit -n)`},
	{Of("skips"), `echo "$(git commit -n)"`},
	{Of("skips"), "echo `git commit -n`"},
	{Of("skips"), "git status\ngit commit -n"},
	{Of("skips"), `FOO=1 git commit --no-verify`},
	{Of("skips"), `env FOO=1 git commit --no-verify`},
	{Of("skips"), `command git commit --no-verify`},
	{Of("skips"), `/usr/bin/git commit --no-verify`},
	{Of("skips"), `nice -n 5 git commit -n`},
	{Of("skips"), `timeout 60 git commit -n`},
	{Of("skips"), `sudo -u bob git commit -n`},
	{Of("skips"), `git push --no-verify`},
	{Of("skips"), `git push origin main --no-verify`},
	{Of("skips"), `git merge --no-verify topic`},
	{Of("skips"), `git rebase --no-verify main`},
	{Of("skips"), `git am -n x.patch`},
	{Of("skips"), `git "commit" '--no-verify'`},
	{Of("skips"), `git com""mit --no-ver""ify`},
	{Of("skips"), "git commit -m \"$(cat <<'EOF'\nmessage\nEOF\n)\" --no-verify"},
	{Of("skips"), "cat <<EOF\ntext\nEOF\ngit commit -n"},
	{Of("skips"), `git commit \
  --no-verify`},
	{Of("skips"), `git commit -m x --no-verify 2>&1 | tail -5`},
	{Of("skips"), `git commit -m x && git push --no-verify >/dev/null 2>&1 &`},

	{Of("sets"), `git -c core.hooksPath=/dev/null commit -m x`},
	{Of("sets"), `git -c core.hookspath= commit -m x`},
	{Of("sets"), `git --config-env=core.hooksPath=X commit`},
	{Of("sets"), `git config core.hooksPath /dev/null`},
	{Of("sets"), `git config --global core.hooksPath /tmp/x`},
	{Of("sets"), `git config set core.hooksPath /tmp/x`},
	{Of("sets"), `git config --unset core.hooksPath`},
	{Of("sets"), `git config --add CORE.HOOKSPATH x`},
	{Of("sets"), `git config --global wf.person ci`},
	{Of("sets"), `git -c wf.person=ci wf status`},
	{Of("sets"), `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit`},
	{Of("sets"), `export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath`},
	{Of("sets"), `GIT_CONFIG_PARAMETERS="'core.hooksPath=/x'" git commit -m x`},

	{Of("sets"), `GIT_CONFIG_GLOBAL=/dev/null git commit -m x`},
	{Of("sets"), `env GIT_CONFIG_SYSTEM=/tmp/c git -C sub push`},
	{Of("sets"), `export GIT_CONFIG_GLOBAL=/dev/null; git add . && git commit -m x`},
	{Of("sets"), `GIT_CONFIG_GLOBAL=/tmp/c git wf status`},
	{Of("sets"), `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=include.path GIT_CONFIG_VALUE_0=/tmp/c git commit`},
	{Of("sets"), `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=$key GIT_CONFIG_VALUE_0=/tmp git commit`},
	{Of("sets"), `git -c include.path=/tmp/c commit -m x`},

	{Of("plans"), `git update-ref refs/workflow/WFS-a HEAD`},
	{Of("plans"), `git update-ref -d refs/workflow/WFS-a`},
	{Of("plans"), `echo 'delete refs/workflow/WFS-a' | git update-ref --stdin`},
	{Of("plans"), `git symbolic-ref WORKFLOW_HEAD refs/workflow/WFS-b`},
	{Of("plans"), `git symbolic-ref -d WORKFLOW_HEAD`},
	{Of("plans"), `git push origin HEAD:refs/workflow/WFS-a`},
	{Of("plans"), `git push origin :refs/workflow/WFS-a`},
	{Of("plans"), `git push -f origin 'refs/workflow/*'`},
	{Of("plans"), `git push origin --delete refs/workflow/WFS-a`},
	{Of("plans"), `git push . x:refs/workflow/WFS-a`},
	{Of("plans"), `git fetch . main:refs/workflow/WFS-a`},
	{Of("plans"), `git fetch origin +refs/heads/x:refs/workflow/WFS-a`},

	{Of("files"), `rm -rf .git/hooks`},
	{Of("files"), `rm -f ./.git/hooks/pre-commit`},
	{Of("files"), `rm -rf .git`},
	{Of("files"), `rm .git/refs/workflow/WFS-a`},
	{Of("files"), `rm /repo/.git/hooks/pre-commit`},
	{Of("files"), `cd sub && rm -r ../.git/hooks`},
	{Of("files"), `mv .git/hooks /tmp/hooks`},
	{Of("files"), `chmod -x .git/hooks/pre-commit`},
	{Of("files"), `echo 'exit 0' > .git/hooks/pre-commit`},
	{Of("files"), `echo x >> .git/config`},
	{Of("files"), `printf x | tee .git/refs/workflow/WFS-a`},
	{Of("files"), `cp /bin/true .git/hooks/pre-commit`},
	{Of("files"), `sed -i s/a/b/ .git/config`},
	{Of("files"), `echo x >> .git/wf/trust`},

	{Of("protected"), `echo x > src/a.go`},
	{Of("protected"), `cd src && echo x >> a.go`},
	{Of("protected"), "cat > src/a.go <<'EOF'\npackage a\nEOF"},
	{Of("protected"), `printf x | tee -a src/a.go >/dev/null`},
	{Of("protected"), `sed -i s/a/b/ src/a.go`},
	{Of("protected"), `sed --in-place -e s/a/b/ src/a.go`},
	{Of("protected"), `bash -c 'echo x >src/a.go'`},
	{Of("protected"), `git show HEAD:a.go >src/a.go`},
	{Of("protected"), `cp /tmp/a.go src/a.go`},
	{Of("protected"), `rm -f "src/a b.go"`},
	{Of("protected"), `make 2> src/log`},

	{Of("hides"), `env -u CLAUDECODE git wf next`},
	{Of("hides"), `env -uCLAUDECODE git wf next`},
	{Of("hides"), `env --unset=AI_AGENT git wf next`},
	{Of("hides"), `env -i git wf next`},
	{Of("hides"), `env -i PATH=/bin git wf land`},
	{Of("hides"), `env - git wf land`},
	{Of("hides"), `setsid git wf land`},
	{Of("hides"), `setsid -f sh -c 'git wf land'`},
	{Of("hides"), `CLAUDECODE= git wf land`},
	{Of("hides"), `unset CLAUDECODE; git wf land`},
	{Of("hides"), `unset CLAUDECODE && cd x && git wf status`},
	{Of("hides"), `export CLAUDECODE=; git wf land`},
	{Of("hides"), `env -S "-u CLAUDECODE git wf land"`},
	{Of("hides"), `env -i bash -c 'git wf land'`},
	{Of("hides"), `setsid script -qc 'git wf land' /dev/null`},

	{&decision, `git wf land`},
	{&decision, `git wf land --push`},
	{&decision, `git-wf land`},
	{&decision, `git -C /repo wf review T-1 --approve`},
	{&decision, `git add . && git wf review T-1 --approve`},
	{&decision, `git wf run --land`},
	{&decision, `yes | git wf land`},
	{&decision, `bash -c 'git wf land'`},
	{&decision, `echo T-1 | xargs git wf review --approve`},
	{&decision, `script -qc 'git wf land' /dev/null`},

	{nil, ``},
	{nil, `git status`},
	{nil, `git commit -m x`},
	{nil, `git commit -am 'x'`},
	{nil, `git commit -m "about --no-verify"`},
	{nil, `git commit -m --no-verify`},
	{nil, `git commit -m -n`},
	{nil, `git commit -F notes -- -n`},
	{nil, `git commit --message --no-verify`},
	{nil, `git commit -mn`},
	{nil, `git commit -un`},
	{nil, `git commit --no-edit --amend`},
	{nil, `git commit --no-status`},
	{nil, "git commit -m \"$(cat <<'EOF'\nDon't use --no-verify; git commit -n is wrong\n\ngit wf land)\n`git wf land`\nEOF\n)\""},
	{nil, "cat > notes.md <<'EOF'\ngit commit --no-verify\ngit wf land\nrm -rf .git\nEOF"},
	{nil, "cat <<-EOF > x\n\tgit wf land\n\tEOF\ngit status"},
	{nil, `grep -- --no-verify file`},
	{nil, `grep -rn "git commit --no-verify" docs`},
	{nil, `rg 'core.hooksPath' .`},
	{nil, `echo 'git wf land'`},
	{nil, `echo "git commit -n; git wf land"`},
	{nil, `printf '%s\n' 'git wf review T-1 --approve' > todo.txt`},
	{nil, `# git wf land`},
	{nil, `git status # git wf land; git commit -n`},
	{nil, `git log --grep=no-verify`},
	{nil, `git log -n 5`},
	{nil, `git push -n origin main`},
	{nil, `git merge -n topic`},
	{nil, `git push origin main 'refs/workflow/*'`},
	{nil, `git fetch origin '+refs/workflow/*:refs/workflow/*'`},
	{nil, `git fetch origin refs/workflow/WFS-a:refs/workflow/WFS-a`},
	{nil, `git for-each-ref refs/workflow`},
	{nil, `git log refs/workflow/WFS-a`},
	{nil, `git symbolic-ref WORKFLOW_HEAD`},
	{nil, `git update-ref refs/heads/x HEAD`},
	{nil, `git config core.hooksPath`},
	{nil, `git config --get core.hooksPath`},
	{nil, `git config --get-all core.hooksPath x`},
	{nil, `git config get core.hooksPath`},
	{nil, `git config user.name x`},
	{nil, `GIT_CONFIG_GLOBAL=/dev/null git status`},
	{nil, `sed s/a/b/ src/a.go > /tmp/a.go`},
	{nil, `grep x src/a.go 2>&1 >/dev/null`},
	{nil, `cp src/a.go /tmp/a.go`},
	{nil, `echo x > "$OUT/src/a.go" && echo x > ~/src/a.go`},
	{nil, `go test ./src/... > test.log`},
	{nil, `git config --get include.path`},
	{nil, `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=x git commit -m x`},
	{nil, `cat .git/hooks/pre-commit`},
	{nil, `ls -la .git/hooks > hooks.txt`},
	{nil, `cp .git/config /tmp/config`},
	{nil, `sed -n 1,5p .git/config`},
	{nil, `rm -f .git/index.lock`},
	{nil, `echo '*.o' >> .git/info/exclude`},
	{nil, `echo x > .git/COMMIT_EDITMSG`},
	{nil, `rm -rf /tmp/scratch/.git`},
	{nil, `cd /tmp/scratch && rm -rf .git`},
	{nil, `rm -rf node_modules build .github`},
	{nil, `env -i PATH=/bin make test`},
	{nil, `env -u CLAUDECODE claude -p hello`},
	{nil, `setsid npm start &`},
	{nil, `unset CLAUDECODE; make`},
	{nil, `CLAUDECODE=1 git wf status`},
	{nil, `git wf next --claim --worktree`},
	{nil, `git wf submit T-1 --claim 1 --worktree -m "git wf land comes next"`},
	{nil, `git wf land --help`},
	{nil, `git wf status && git wf show T-1`},
	{nil, `git wf run`},
	{nil, `git wf`},
	{nil, `git help wf`},
	{nil, `go test ./... 2>&1 | tail -20`},
	{nil, `echo $((1 << 2)) && test 1 -lt 2`},
	{nil, `awk '{ print > "/dev/stderr" }' file`},
	{nil, `find . -name '*.go' -exec grep -l 'git wf land' {} +`},
	{nil, `python3 -c "print('git commit --no-verify')"`},
	{nil, `node -e 'x("git wf land")'`},
	{nil, `case $x in a) echo git;; esac`},
	{nil, `ssh host 'rm -rf .git'`},
	{nil, `echo "unclosed`},
	{nil, `echo 'unclosed`},
	{nil, `$( ` + "`"},
	{nil, `alias gc='git commit -n'`},
	{nil, `$GIT commit --no-verify`},
}

// decision stands for a refusal that names the command.
var decision Refusal

func TestLine(t *testing.T) {
	for _, tt := range lines {
		got := here.Line(tt.line)
		if tt.why == &decision && got != nil && strings.Contains(got.What, "a person's decision") {
			continue
		}
		if got != tt.why {
			t.Errorf("%s\ngot  %v\nwant %v", tt.line, got, tt.why)
		}
	}
}

func TestGuarded(t *testing.T) {
	for below, want := range map[string]bool{".": true, "hooks/pre-commit": true, "worktrees/x/HEAD": true, "": false,
		"worktrees/x/index.lock": false, "worktrees/x/COMMIT_EDITMSG": false, "info/exclude": false, "config": true,
		"refs/heads/main": true, "refs/heads/main.lock": false, "wf/trust": true} {
		if Guarded(below) != want {
			t.Errorf("%q: %v", below, !want)
		}
	}
}

// Whatever a model writes is read to its end, and a refused line is still refused after a command that is done first.
func FuzzLine(f *testing.F) {
	for _, tt := range lines {
		f.Add(tt.line)
	}
	f.Add(strings.Repeat("$(", 1000) + strings.Repeat("`\"", 1000))
	f.Fuzz(func(t *testing.T, line string) {
		first := here.Line(line)
		if second := here.Line("true\n" + line); (first == nil) != (second == nil) {
			t.Errorf("alone %v, after a command %v", first, second)
		}
		if here.Line("git commit -n\n"+line) != Of("skips") {
			t.Error("what follows hides a command")
		}
	})
}
