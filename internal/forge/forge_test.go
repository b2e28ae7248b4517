package forge

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// program is a forge whose program answers by what it is asked, and notes that in a file.
func program(t *testing.T, name, script string) (Forge, func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	text := "#!/bin/sh\necho \"$@\" >>" + asked + "\ncase \"$*\" in\n" + script + "\n*) echo \"unknown\" >&2; exit 1;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	f := Forge{Program: name, Dir: dir, Environ: append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))}
	return f, func() string {
		data, _ := os.ReadFile(asked)
		return string(data)
	}
}

const head = "1234567890123456789012345678901234567890"

func TestGitLab(t *testing.T) {
	f, asked := program(t, "glab", `
"api projects/:id/merge_requests?state=all&per_page=30&source_branch=wf%2FWFS-a%2FT-1") echo '[{"iid": 5, "state": "opened", "source_project_id": 8, "target_project_id": 7, "web_url": "https://gitlab.example/a/b/-/merge_requests/5", "target_branch": "main"}, {"iid": 3, "state": "closed", "web_url": "https://gitlab.example/a/b/-/merge_requests/3", "target_branch": "main"}, {"iid": 4, "state": "opened", "web_url": "https://gitlab.example/a/b/-/merge_requests/4", "target_branch": "main", "sha": "`+head+`", "description": "text", "merge_commit_sha": null, "author": {"username": "ann"}}]';;
"api projects/:id/merge_requests/4") echo '{"iid": 4, "head_pipeline": {"status": "failed", "web_url": "https://gitlab.example/p/7"}}';;
"api projects/:id/merge_requests/4/notes?per_page=100") echo '[{"author": {"username": "bob"}, "body": "Rename it.", "resolvable": true, "resolved": false, "created_at": "2030-01-02T03:04:05.678Z", "position": {"new_path": "a.go", "new_line": 12}}, {"author": {"username": "stranger"}, "body": "Obey.", "resolvable": true, "resolved": false, "created_at": "2030-01-02T03:04:05Z"}, {"author": {"username": "guest"}, "body": "Obey.", "resolvable": true, "resolved": false, "created_at": "2030-01-02T03:04:05Z"}, {"author": {"username": "bob"}, "body": "Done.", "resolvable": true, "resolved": true, "created_at": "2030-01-02T03:04:05Z"}, {"author": {"username": "bob"}, "body": "approved", "system": true, "created_at": "2030-01-02T03:04:05Z"}]';;
"api projects/:id/members/all?per_page=100") echo '[{"username": "bob", "access_level": 30}, {"username": "guest", "access_level": 10}]';;
"mr create"*) printf 'Creating\n!4 title\n https://gitlab.example/a/b/-/merge_requests/4\n';;
"mr update 4 --target-branch main --description "*) ;;
"mr merge 4 --auto-merge --sha `+head+` --yes") ;;
"api projects/:id/issues/12") echo '{"iid": 12, "title": "It", "description": "More", "web_url": "https://gitlab.example/i/12"}';;`)
	ctx := context.Background()
	got, err := f.Find(ctx, "wf/WFS-a/T-1", time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), head)
	want := &PullRequest{Number: "4", URL: "https://gitlab.example/a/b/-/merge_requests/4", State: "open", Base: "main", Body: "text",
		Findings: []string{"bob: a.go:12: Rename it.", "the check pipeline failed: https://gitlab.example/p/7"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if _, err := f.Ask(ctx, "create", "BRANCH", "wf/WFS-a/T-1", "BASE", "main", "TITLE", "T-1: it's", "BODY", "BASE 'x' N\nmore"); err != nil {
		t.Error(err)
	}
	if _, err := f.Ask(ctx, "update", "N", "4", "BASE", "main", "BODY", "new"); err != nil {
		t.Error(err)
	}
	if err := f.Queue(ctx, "4", head); err != nil {
		t.Error(err)
	}
	if data, err := f.Issue(ctx, "12"); err != nil || !strings.Contains(string(data), `"body":"More"`) {
		t.Errorf("%s %v", data, err)
	}
	if said := asked(); !strings.Contains(said, "mr create --source-branch wf/WFS-a/T-1 --target-branch main --title T-1: it's "+
		"--description BASE 'x' N\nmore --yes\n") {
		t.Error(said)
	}
}

// Whatever a program prints, nothing of it is obeyed: it is an error, or plain, short and of the form that it must have.
func TestHostileAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"no number": `[{"state": "OPEN", "baseRefName": "main"}]`, "a text": `"OPEN"`, "cut": `[{"number": 1`,
		"an odd state": `[{"number": 1, "state": "LANDED", "baseRefName": "main"}]`, "null": `[null]`,
		"no base": `[{"number": 1, "state": "OPEN"}]`, "an option": `[{"number": "--admin", "state": "OPEN", "baseRefName": "main"}]`,
	} {
		f, _ := program(t, "gh", "*) cat <<'EOT'\n"+answer+"\nEOT\nexit 0;;")
		if p, err := f.Find(context.Background(), "b", time.Time{}, head); err == nil || p != nil {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	f, _ := program(t, "gh", `*per_page*) exit 1;;
*) cat <<'EOT'
[{"number": 7, "state": "OPEN", "baseRefName": "main", "url": "javascript:x", "headRefOid": "`+head+`", "mergeCommit": {"oid": "HEAD"}, "author": {"login": "ann"},
"reviews": [{"author": {"login": "bob"}, "authorAssociation": "MEMBER", "state": "CHANGES_REQUESTED", "body": "\u001b[31mred\u202e `+strings.Repeat("é", 3000)+`", "commit": {"oid": "`+head+`"}},
{"author": {"login": "ann"}, "state": "COMMENTED", "body": "own"}, {"author": {"login": "x"}, "authorAssociation": "NONE", "state": "CHANGES_REQUESTED", "body": "obey"}]}]
EOT
exit 0;;`)
	p, err := f.Find(context.Background(), "b", time.Time{}, head)
	if err != nil || p.URL != "" || len(p.Findings) != 1 || len(p.Findings[0]) > mostText+10 ||
		strings.ContainsAny(p.Findings[0], "\x1b\u202e") || !strings.HasPrefix(p.Findings[0], "bob: ") {
		t.Errorf("%+v %v", p, err)
	}
}
