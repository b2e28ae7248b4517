package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A forge is what the fake gh knows: the pull requests of the bare repository that origin is, in a file beside it.
type fakePull struct {
	Number      int              `json:"number"`
	URL         string           `json:"url"`
	State       string           `json:"state"`
	Title       string           `json:"title"`
	Body        string           `json:"body"`
	Base        string           `json:"baseRefName"`
	Head        string           `json:"headRefName"`
	HeadOID     string           `json:"headRefOid"`
	MergeCommit map[string]any   `json:"mergeCommit"`
	Author      map[string]any   `json:"author"`
	Cross       bool             `json:"isCrossRepository"`
	Owner       map[string]any   `json:"headRepositoryOwner"`
	Reviews     []map[string]any `json:"reviews"`
	Comments    []map[string]any `json:"comments"`
	Checks      []map[string]any `json:"statusCheckRollup"`
	Lines       []map[string]any `json:"-"`
	Auto        string           `json:"-"`
}

type fakeState struct {
	Pulls  []*fakePull
	Lines  map[string][]map[string]any // by number
	Issues map[string]map[string]any
}

// fakeForge stands in for gh, with what its help says of options and exit codes. Beside gh's own commands it has
//
//	as WHO COMMAND...   what people and the forge itself do: merge WAY, close, reopen, review STATE TEXT, line PATH LINE
//	                    TEXT, comment TEXT, check NAME CONCLUSION, base BRANCH, push (a foreign commit), update, sneak
//
// FAKE_GH=absent|logged-out|old|nonsense|forbidden|huge makes it unfit.
func fakeForge() {
	err := fakeMain(os.Args[1:])
	var failed *fakeError
	if errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, failed.text)
		os.Exit(failed.code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type fakeError struct {
	code int
	text string
}

func (e *fakeError) Error() string { return e.text }

func fakeGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Forge", "GIT_AUTHOR_EMAIL=forge@example.com",
		"GIT_COMMITTER_NAME=Forge", "GIT_COMMITTER_EMAIL=forge@example.com", "GIT_EDITOR=:")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", strings.Join(args, " "), exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func fakeMain(args []string) error {
	switch os.Getenv("FAKE_GH") {
	case "absent":
		return &fakeError{127, "sh: gh: not found"}
	case "logged-out":
		return &fakeError{4, "To get started with GitHub CLI, please run:  gh auth login"}
	case "old":
		return &fakeError{1, `Unknown JSON field: "statusCheckRollup"`}
	case "forbidden":
		return &fakeError{1, "GraphQL: Resource not accessible by personal access token (\x1b[31mcreatePullRequest\x1b[0m)"}
	case "nonsense":
		fmt.Println(`[{"number": "one", "url": "javascript:alert(1)"`)
		return nil
	case "odd":
		fmt.Println(`[{"number": 1, "url": "javascript:alert(1)", "state": "LANDED", "baseRefName": "main"}]`)
		return nil
	case "huge":
		for range 100_000 {
			fmt.Println(strings.Repeat("x", 100))
		}
		return nil
	}
	top, err := fakeGit(".", "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	bare, err := fakeGit(".", "config", "remote.origin.url")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(bare) {
		bare = filepath.Join(filepath.Dir(top), bare)
	}
	file := filepath.Join(bare, "forge.json")
	st := &fakeState{Lines: map[string][]map[string]any{}, Issues: map[string]map[string]any{}}
	if data, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(data, st); err != nil {
			return err
		}
	}
	if err := st.do(bare, args); err != nil {
		return err
	}
	data, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// find is the pull request with a number, an address or a branch.
func (st *fakeState) find(name string) (*fakePull, error) {
	for _, p := range slices.Backward(st.Pulls) {
		if name == strconv.Itoa(p.Number) || name == p.URL || name == p.Head {
			return p, nil
		}
	}
	return nil, &fakeError{1, "no pull requests found for branch \"" + name + "\""}
}

func (st *fakeState) do(bare string, args []string) error {
	tip := func(branch string) string {
		oid, _ := fakeGit(bare, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
		return oid
	}
	for _, p := range st.Pulls {
		if oid := tip(p.Head); oid != "" && p.State == "OPEN" {
			if p.HeadOID != oid { // checks are of a commit
				p.Checks = nil
			}
			p.HeadOID = oid
			_, _ = fakeGit(bare, "update-ref", fmt.Sprintf("refs/pull/%d/head", p.Number), oid)
		} else if p.State == "OPEN" && !p.Cross { // as GitHub does
			p.State = "CLOSED"
		}
	}
	f := flag.NewFlagSet("gh", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	text := map[string]*string{}
	for _, name := range []string{"head", "base", "title", "body-file", "repo", "json", "state", "limit", "match-head-commit"} {
		text[name] = f.String(name, "", "")
	}
	is := map[string]*bool{}
	for _, name := range []string{"auto", "squash", "merge", "rebase"} {
		is[name] = f.Bool(name, false, "")
	}
	rest := args[min(2, len(args)):]
	name := ""
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		name, rest = rest[0], rest[1:]
	}
	if len(args) < 2 || args[0] != "as" && f.Parse(rest) != nil {
		return &fakeError{1, "unknown flag or command"}
	}
	body := func() (string, error) {
		if *text["body-file"] != "-" {
			return "", &fakeError{1, "must provide --body-file"}
		}
		data, err := io.ReadAll(os.Stdin)
		return string(data), err
	}
	switch args[0] + " " + args[1] {
	case "pr list":
		list := []*fakePull{}
		for _, p := range slices.Backward(st.Pulls) {
			if p.Head == *text["head"] && (*text["state"] == "all" || p.State == "OPEN") {
				list = append(list, p)
			}
		}
		return json.NewEncoder(os.Stdout).Encode(list)
	case "pr create":
		head := *text["head"]
		owner, branch, cross := strings.Cut(head, ":")
		if cross {
			head = branch
		}
		if tip(*text["base"]) == "" || !cross && tip(head) == "" {
			return &fakeError{1, "pull request create failed: GraphQL: Head sha can't be blank, Base sha can't be blank"}
		}
		for _, p := range st.Pulls {
			if p.Head == head && p.State == "OPEN" {
				return &fakeError{1, "a pull request for branch \"" + head + "\" already exists:\n" + p.URL}
			}
		}
		said, err := body()
		if err != nil {
			return err
		}
		n := len(st.Pulls) + 1
		p := &fakePull{Number: n, URL: fmt.Sprintf("https://github.example/team/app/pull/%d", n), State: "OPEN", Cross: cross,
			Title: *text["title"], Body: said, Base: *text["base"], Head: head, HeadOID: tip(head),
			Author: map[string]any{"login": "ann"}, Owner: map[string]any{"login": owner}}
		if cross { // as the branches of other repositories can't be seen here
			p.HeadOID = os.Getenv("FAKE_HEAD")
		}
		st.Pulls = append(st.Pulls, p)
		fmt.Println(p.URL)
		return nil
	case "pr edit":
		p, err := st.find(name)
		if err != nil {
			return err
		}
		if p.Body, err = body(); err != nil {
			return err
		}
		p.Base = *text["base"]
		fmt.Println(p.URL)
		return nil
	case "pr merge":
		p, err := st.find(name)
		if err == nil && !*is["squash"] {
			err = &fakeError{1, "Merge method not allowed"}
		}
		if err == nil && (!*is["auto"] || p.HeadOID != *text["match-head-commit"]) {
			err = &fakeError{1, "Head branch was modified. Review and try the merge again."}
		}
		if err == nil {
			p.Auto = "squash"
			fmt.Println("will be merged automatically")
			p.Comments = append(p.Comments, map[string]any{"author": map[string]any{"login": "queue-bot"}, "body": "queued",
				"authorAssociation": "NONE"})
		}
		return err
	case "issue view":
		issue, ok := st.Issues[name]
		if !ok {
			return &fakeError{1, "GraphQL: Could not resolve to an issue or pull request with the number of " + name}
		}
		return json.NewEncoder(os.Stdout).Encode(issue)
	}
	if n, ok := strings.CutPrefix(args[1], "repos/{owner}/{repo}/pulls/"); ok && args[0] == "api" {
		n, _, _ = strings.Cut(n, "/")
		return json.NewEncoder(os.Stdout).Encode(append([]map[string]any{}, st.Lines[n]...))
	}
	if args[0] == "as" {
		return st.people(bare, args[1], args[2:])
	}
	return &fakeError{1, "unknown command " + strings.Join(args, " ")}
}

// people do what people do on the forge's page.
func (st *fakeState) people(bare, who string, args []string) error {
	now := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	by := map[string]any{"login": who}
	member := "MEMBER"
	if who == "stranger" {
		member = "NONE"
	}
	if args[0] == "issue" {
		n, _ := strconv.Atoi(args[1])
		st.Issues[args[1]] = map[string]any{"number": n, "title": args[2], "body": args[3],
			"url": "https://github.example/team/app/issues/" + args[1], "labels": []any{}}
		return nil
	}
	p, err := st.find(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "review":
		p.Reviews = append(p.Reviews, map[string]any{"author": by, "authorAssociation": member, "state": args[2], "body": args[3],
			"submittedAt": now, "commit": map[string]any{"oid": p.HeadOID}})
	case "comment":
		p.Comments = append(p.Comments, map[string]any{"author": by, "authorAssociation": member, "body": args[2], "createdAt": now})
	case "line":
		n, _ := strconv.Atoi(args[3])
		p.Lines = nil
		key := strconv.Itoa(p.Number)
		st.Lines[key] = append(st.Lines[key], map[string]any{"user": by, "author_association": member, "path": args[2], "line": n,
			"body": args[4], "original_commit_id": p.HeadOID, "commit_id": p.HeadOID})
	case "check":
		p.Checks = []map[string]any{{"__typename": "CheckRun", "name": args[2], "conclusion": args[3], "status": "COMPLETED",
			"detailsUrl": "https://ci.example/7"}}
	case "close":
		p.State = "CLOSED"
	case "reopen":
		p.State = "OPEN"
	case "base":
		p.Base = args[2]
	case "text":
		p.Body = args[2]
	case "push", "sneak", "update", "merge":
		return st.inClone(bare, who, p, args)
	default:
		return &fakeError{1, "nobody can " + args[0]}
	}
	return nil
}

// inClone does what the forge's merges, and others who push, do: in a clone of the bare repository.
func (st *fakeState) inClone(bare, who string, p *fakePull, args []string) error {
	dir, err := os.MkdirTemp("", "forge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	git := func(args ...string) string {
		if err != nil {
			return ""
		}
		var out string
		out, err = fakeGit(dir, args...)
		return out
	}
	git("clone", "-q", "--no-checkout", bare, ".")
	git("config", "core.hooksPath", os.DevNull)
	git("checkout", "-q", "-B", "base", "origin/"+p.Base)
	switch way := args[len(args)-1]; {
	case args[0] == "push": // PR FILE TEXT
		git("checkout", "-q", "-B", "head", "origin/"+p.Head)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, args[2]), []byte(args[3]+"\n"), 0o666)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "A change by "+who)
		git("push", "-q", "origin", "HEAD:refs/heads/"+p.Head)
		return err
	case args[0] == "sneak": // a merge of the base that brings something else
		git("checkout", "-q", "-B", "head", "origin/"+p.Head)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "sneaked.txt"), []byte("in\n"), 0o666)
		}
		git("add", "-A")
		merge := git("commit-tree", git("write-tree"), "-p", "HEAD", "-p", "origin/"+p.Base, "-m", "Update")
		git("push", "-q", "origin", merge+":refs/heads/"+p.Head)
		return err
	case args[0] == "update": // the button that merges the base into the branch
		git("checkout", "-q", "-B", "head", "origin/"+p.Head)
		git("merge", "-q", "--no-edit", "origin/"+p.Base)
		git("push", "-q", "origin", "HEAD:refs/heads/"+p.Head)
		return err
	case way == "squash":
		git("merge", "-q", "--squash", "origin/"+p.Head)
		git("commit", "-q", "-m", fmt.Sprintf("%s (#%d)", p.Title, p.Number))
	case way == "merge":
		git("merge", "-q", "--no-ff", "-m", fmt.Sprintf("Merge pull request #%d", p.Number), "origin/"+p.Head)
	case way == "rebase":
		git("checkout", "-q", "-B", "head", "origin/"+p.Head)
		git("rebase", "-q", "--force-rebase", "origin/"+p.Base)
	case way == "half": // one who takes a part of it, by hand
		git("merge", "-q", "--squash", "origin/"+p.Head)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, args[2]), []byte("half\n"), 0o666)
		}
		git("add", "-A")
		git("commit", "-q", "-m", fmt.Sprintf("%s, in part (#%d)", p.Title, p.Number))
	}
	git("push", "-q", "origin", "HEAD:refs/heads/"+p.Base)
	p.State, p.MergeCommit = "MERGED", map[string]any{"oid": git("rev-parse", "HEAD")}
	return err
}
