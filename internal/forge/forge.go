// Package forge asks the program of a forge, gh or glab, about pull requests and issues.
//
// It hides how each program is called and what its JSON looks like. What they answer is hostile: it is bounded, checked
// and made plain. None of it proves that anything landed; that is for git to say.
package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/process"
	"gitwf/internal/shell"
)

// Forge is a forge's program, in a repository.
type Forge struct {
	Program string // gh or glab
	Dir     string // where it runs: it finds the repository by the remotes there
	Environ []string
}

// calls are what gh and glab are asked, with words that stand for what is meant; gh takes BODY as standard input.
var calls = map[string][2]string{
	"find": {"pr list --head QUERY --state all --limit 30 --json number,url,state,baseRefName,body,mergeCommit," +
		"author,isCrossRepository,headRepositoryOwner,headRefOid,reviews,statusCheckRollup",
		"api projects/:id/merge_requests?state=all&per_page=30&source_branch=QUERY"},
	"create": {"pr create --head BRANCH --base BASE --title TITLE --body-file -",
		"mr create --source-branch BRANCH --target-branch BASE --title TITLE --description BODY --yes"},
	"update": {"pr edit N --base BASE --body-file -", "mr update N --target-branch BASE --description BODY"},
	"queue":  {"pr merge N --auto --WAY --match-head-commit HEAD", "mr merge N --auto-merge --sha HEAD --yes"},
	"lines": {"api repos/{owner}/{repo}/pulls/N/comments?per_page=100",
		"api projects/:id/merge_requests/N/notes?per_page=100"},
	"one":     {"", "api projects/:id/merge_requests/N"},
	"members": {"", "api projects/:id/members/all?per_page=100"},
	"issue":   {"issue view N --json number,title,body,labels,url", "api projects/:id/issues/N"},
}

// states are those of pull requests, by the words of both programs.
var states = map[string]string{"OPEN": "open", "opened": "open", "locked": "open", "MERGED": "merged",
	"merged": "merged", "CLOSED": "closed", "closed": "closed"}

// PullRequest is what a forge says of one.
type PullRequest struct {
	Number   string
	URL      string   // "" if it is none
	State    string   // open, merged or closed
	Base     string   // the branch that it is to be merged into
	Merged   string   // the commit with which it was, if it says so
	Body     string   // its text
	Findings []string // what its reviewers and failed checks ask for
}

const (
	mostBytes = 4 << 20 // of an answer
	mostFound = 50
	mostText  = 2000 // bytes of a finding
)

// Ask makes one of the calls, with pairs of words and what they stand for, and returns what was printed.
func (f Forge) Ask(ctx context.Context, call string, words ...string) ([]byte, error) {
	form, stdin := strings.Fields(calls[call][0]), ""
	if f.Program == "glab" {
		form = strings.Fields(calls[call][1])
	}
	if i := slices.Index(words, "BODY"); i >= 0 {
		stdin = words[i+1]
	}
	line := f.Program
	for _, arg := range form { // replaced at once, so that no text stands for another
		line += " " + shell.Quote(strings.NewReplacer(words...).Replace(arg))
	}
	var out bytes.Buffer
	res, err := process.Run(ctx, process.Command{Dir: f.Dir, Stdin: stdin, Timeout: time.Minute, Output: &out,
		Line:      "{ why=$(" + line + " 2>&1 >&3) || { code=$?; echo \"$why\"; exit $code; }; } 3>&1",
		Env:       process.Environ(f.Environ, "GH_PROMPT_DISABLED=1", "NO_PROMPT=1", "NO_COLOR=1", "PWD="+f.Dir),
		MaxOutput: 2 * mostBytes, MaxTotal: mostBytes})
	what, why := strings.Join(append([]string{f.Program}, form[:2]...), " "), strings.TrimSpace(out.String())
	why, _, _ = strings.Cut(why[:min(len(why), mostText)], "\n")
	const absent, login = 127, 4 // of a shell; of gh (gh help exit-codes)
	switch {
	case err != nil || ctx.Err() != nil:
		err = cmp.Or(err, ctx.Err())
	case res.Reason != process.Exited:
		err = fault.Refused("the same again, later", "%s %s", what, res.Reason)
	case res.ExitCode == absent:
		err = fault.Refused("install it, or git config wf.forge none", "%s is not installed", f.Program)
	case res.ExitCode == login:
		err = fault.Refused(f.Program+" auth login", "%s: you are not logged in", what)
	case res.ExitCode != 0:
		err = fault.Refused(f.Program+" auth status; a newer "+f.Program+", if it does not know what is asked",
			"%s: %s", what, plain.Line(cmp.Or(why, fmt.Sprintf("exit %d", res.ExitCode))))
	}
	return out.Bytes(), err
}

// answer is an object of JSON.
type answer map[string]any

// list asks for a list, or for one object.
func (f Forge) list(ctx context.Context, call string, words ...string) (all []answer, err error) {
	data, err := f.Ask(ctx, call, words...)
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("{")) {
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	if err == nil && json.Unmarshal(data, &all) != nil {
		err = f.nonsense()
	}
	return all, err
}

// nonsense is the error of an answer that can't be one.
func (f Forge) nonsense() error {
	return fault.Refused(f.Program+" --version; what is that program?", "%s: the answer makes no sense", f.Program)
}

// at is the first text or number at one of some paths, as gh and GitLab call it.
func (a answer) at(paths ...string) string {
	for _, path := range paths {
		v := any(map[string]any(a))
		for key := range strings.SplitSeq(path, ".") {
			in, _ := v.(map[string]any)
			v = in[key]
		}
		switch v := v.(type) {
		case string, bool:
			if text := fmt.Sprint(v); text != "" {
				return text
			}
		case float64:
			return fmt.Sprintf("%.0f", v)
		}
	}
	return ""
}

// each are the objects of a list, or the one object.
func (a answer) each(key string) (all []answer) {
	list, ok := a[key].([]any)
	if !ok {
		list = []any{a[key]}
	}
	for _, v := range list {
		if o, ok := v.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}

// by is who said something.
func (a answer) by() string { return a.at("author.login", "user.login", "author.username") }

var (
	address = pattern.Compile(`^https?://[!-~]{1,500}$`)
	number  = pattern.Compile(`^[1-9][0-9]*$`)
)

// Find finds the pull request of a branch: the open one, else the newest; nil if there is none. A fork's branch has the
// owner and a colon before it. heads are the commits, and since the time, that findings are about.
func (f Forge) Find(ctx context.Context, of string, since time.Time, heads ...string) (found *PullRequest, err error) {
	owner, name, isFork := strings.Cut(of, ":")
	if !isFork {
		owner, name = "", of
	}
	if f.Program == "glab" {
		name = url.QueryEscape(name)
	}
	list, err := f.list(ctx, "find", "QUERY", name)
	var at answer
	for _, p := range list { // the newest first
		next := PullRequest{Number: number.Get().FindString(p.at("number", "iid")), State: states[p.at("state")],
			URL: address.Get().FindString(p.at("url", "web_url")), Base: p.at("baseRefName", "target_branch"),
			Merged: p.at("mergeCommit.oid", "merge_commit_sha", "squash_commit_sha"),
			Body:   strings.ReplaceAll(p.at("body", "description"), "\r\n", "\n")}
		from := ""
		if p.at("isCrossRepository") == "true" || p.at("source_project_id") != p.at("target_project_id") {
			from = cmp.Or(p.at("headRepositoryOwner.login"), "another")
		}
		if next.Number == "" || next.Base == "" || next.State == "" {
			return nil, f.nonsense()
		} else if strings.EqualFold(from, owner) && (found == nil || next.State == "open" && found.State != "open") {
			found, at = &next, p
		}
	}
	if err == nil && found != nil && found.State == "open" && slices.Contains(heads, at.at("headRefOid", "sha")) {
		found.Findings, err = f.findings(ctx, found.Number, at, heads, since)
	}
	return found, err
}

// findings are what is asked for in a review or by a check of a commit. Of people only the project's own are heard: an
// agent is told what they say. Who makes the pull request asks themselves for nothing, and who approves asks no more.
func (f Forge) findings(ctx context.Context, n string, p answer, heads []string, since time.Time) (all []string,
	err error) {
	says := func(text string) {
		text = strings.ToValidUTF8(strings.TrimSpace(plain.Text(text[:min(len(text), mostText)])), "")
		all = append(all, text)[:min(len(all)+1, mostFound)]
	}
	reviews, asks := p.each("reviews"), map[string]string{}
	for _, r := range reviews { // the oldest first
		if state := r.at("state"); state != "COMMENTED" || asks[r.by()] == "" {
			asks[r.by()] = state
		}
	}
	var lines []answer
	if f.Program == "glab" || len(reviews) > 0 { // gh has them in reviews alone
		lines, err = f.list(ctx, "lines", "N", n)
	}
	var members []answer // gh says of each what they are
	if f.Program == "glab" && len(lines) > 0 && err == nil {
		members, err = f.list(ctx, "members")
	}
	isOurs := func(r answer) bool {
		const developer, maintainer, owner = "30", "40", "50"
		return !strings.Contains(" NONE FIRST_TIMER FIRST_TIME_CONTRIBUTOR MANNEQUIN ",
			" "+r.at("authorAssociation", "author_association")+" ") && (f.Program != "glab" ||
			slices.ContainsFunc(members, func(m answer) bool {
				return m.at("username") == r.by() &&
					slices.Contains([]string{developer, maintainer, owner}, m.at("access_level"))
			}))
	}
	for _, r := range append(reviews, lines...) {
		on := r.at("commit.oid", "original_commit_id", "position.head_sha")
		at, _ := time.Parse(time.RFC3339, r.at("submittedAt", "created_at"))
		isOpen := asks[r.by()] == "CHANGES_REQUESTED" || asks[r.by()] == "COMMENTED" ||
			r.at("resolvable") == "true" && r.at("resolved") == "false"
		text := strings.TrimSpace(r.at("body"))
		if text == "" && r.at("state") == "CHANGES_REQUESTED" {
			text = "asks for changes"
		}
		if path := r.at("path", "position.new_path"); path != "" {
			text = path + ":" + r.at("line", "original_line", "position.new_line") + ": " + text
		}
		isNow := on != "" && slices.Contains(heads, on) || on == "" && at.After(since)
		if isOpen && text != "" && r.by() != p.by() && isNow && isOurs(r) {
			says(r.by() + ": " + text)
		}
	}
	if f.Program == "glab" && err == nil {
		var one []answer
		one, err = f.list(ctx, "one", "N", n)
		p = append(one, p)[0]
	}
	for _, c := range append(p.each("statusCheckRollup"), p.each("head_pipeline")...) {
		switch c.at("conclusion", "state", "status") {
		case "FAILURE", "TIMED_OUT", "STARTUP_FAILURE", "ERROR", "failed":
			says(fmt.Sprintf("the check %s failed: %s", cmp.Or(c.at("name", "context"), "pipeline"),
				c.at("detailsUrl", "targetUrl", "web_url")))
		}
	}
	if len(all) > 0 { // what else there is follows
		err = nil
	}
	return all, err
}

// Queue has the forge merge a pull request once it may be, if it is still at a commit: by its merge queue or, without
// one, in the first way that it allows.
func (f Forge) Queue(ctx context.Context, number, head string) (err error) {
	for _, way := range []string{"squash", "merge", "rebase"} {
		if _, err = f.Ask(ctx, "queue", "N", number, "HEAD", head, "WAY", way); err == nil {
			break
		}
	}
	return err
}

// Issue is an issue, as JSON in GitHub's words.
func (f Forge) Issue(ctx context.Context, number string) ([]byte, error) {
	list, err := f.list(ctx, "issue", "N", number)
	if err == nil && (len(list) == 0 || list[0].at("number", "iid") == "") {
		err = f.nonsense()
	}
	if err != nil {
		return nil, err
	}
	i := list[0]
	return json.Marshal(map[string]any{"number": i.at("number", "iid"), "title": i["title"], "labels": i["labels"],
		"body": i.at("body", "description"), "url": i.at("url", "web_url")})
}
