package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/repotest/tool"
)

type object = map[string]any

// github is as much of GitHub's API as the real gh asks for: one repository, with its pull requests and an issue.
type github struct {
	mu      sync.Mutex
	pulls   []object
	lines   []object // what reviews of the first pull request say of lines
	queued  object   // what was asked of the merge queue
	unknown []string // what it does not know
}

var operation = regexp.MustCompile(`(?:query|mutation)\s+(\w+)`)

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ask struct {
		Query     string
		Variables object
	}
	data, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(data, &ask)
	name := r.URL.Path
	if found := operation.FindStringSubmatch(ask.Query); found != nil {
		name = found[1]
	}
	input, _ := ask.Variables["input"].(object)
	repository := object{"id": "R1", "name": "app", "owner": object{"login": "team"}, "isPrivate": false,
		"hasIssuesEnabled": true, "viewerPermission": "WRITE", "defaultBranchRef": object{"name": "main"},
		"mergeCommitAllowed": true, "squashMergeAllowed": true}
	var answer any
	switch name {
	case "PullRequestList", "PullRequestForBranch":
		nodes := []object{}
		for _, p := range slices.Backward(g.pulls) {
			if p["headRefName"] == ask.Variables["headBranch"] || p["headRefName"] == ask.Variables["headRefName"] {
				nodes = append(nodes, p)
			}
		}
		repository["pullRequests"] = object{"totalCount": len(nodes), "nodes": nodes, "pageInfo": object{}}
		answer = object{"repository": repository}
	case "RepositoryNetwork":
		answer = object{"viewer": object{"login": "ann"}, "repo_000": repository}
	case "RepositoryInfo":
		answer = object{"repository": repository}
	case "UserCurrent":
		answer = object{"viewer": object{"login": "ann"}}
	case "PullRequestCreate":
		n := len(g.pulls) + 1
		p := object{"id": fmt.Sprintf("P%d", n), "number": n, "state": "OPEN", "title": input["title"],
			"url": fmt.Sprintf("https://github.com/team/app/pull/%d", n), "body": input["body"],
			"baseRefName": input["baseRefName"], "headRefName": input["headRefName"], "headRefOid": head,
			"author": object{"login": "ann"}, "headRepositoryOwner": object{"login": "team"},
			"isCrossRepository": false, "mergeStateStatus": "BLOCKED",
			"commits": object{"nodes": []object{{"commit": object{"oid": head}}}}}
		g.pulls = append(g.pulls, p)
		answer = object{"createPullRequest": object{"pullRequest": p}}
	case "PullRequestByNumber":
		repository["pullRequest"] = g.pulls[int(ask.Variables["pr_number"].(float64))-1]
		answer = object{"repository": repository}
	case "PullRequestProjectItems":
		answer = object{"repository": object{"pullRequest": object{"projectItems": object{"nodes": []object{},
			"pageInfo": object{}}}}}
	case "PullRequestUpdate":
		for _, p := range g.pulls {
			if p["id"] == input["pullRequestId"] {
				p["body"], p["baseRefName"] = input["body"], input["baseRefName"]
			}
		}
		answer = object{"updatePullRequest": object{"__typename": "x"}}
	case "PullRequestAutoMerge":
		g.queued = input
		answer = object{"enablePullRequestAutoMerge": object{"clientMutationId": ""}}
	case "IssueByNumber":
		repository["issue"] = object{"__typename": "Issue", "number": 12, "title": "It", "body": "More",
			"url": "https://github.com/team/app/issues/12", "labels": object{"nodes": []object{}, "totalCount": 0}}
		answer = object{"repository": repository}
	case "/repos/team/app/pulls/1/comments":
		_ = json.NewEncoder(w).Encode(g.lines)
		return
	default:
		if strings.Contains(ask.Query, "__type") { // what the server's schema has
			answer = object{}
			break
		}
		g.unknown = append(g.unknown, name+" "+ask.Query)
		answer = object{}
	}
	_ = json.NewEncoder(w).Encode(object{"data": answer})
}

// TestGitHub has the real gh ask a server for everything, over a socket that its configuration names.
func TestGitHub(t *testing.T) {
	tool.Need(t, "gh")
	dir, err := os.MkdirTemp("", "gh") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	g := &github{}
	server := &http.Server{Handler: g}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte("http_unix_socket: "+socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo},
		{"-C", repo, "remote", "add", "origin", "https://github.com/team/app"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	f := Forge{Program: "gh", Dir: repo, Environ: append(os.Environ(), "GH_CONFIG_DIR="+dir, "GH_TOKEN=x", "HOME="+dir)}
	ctx := context.Background()
	const branch = "wf/WFS-a/T-1"
	none, err := f.Find(ctx, branch, time.Time{}, head)
	if err != nil || none != nil {
		t.Fatalf("%+v %v", none, err)
	}
	ask := func(call string, words ...string) {
		t.Helper()
		if _, err := f.Ask(ctx, call, words...); err != nil {
			t.Fatalf("%s: %v; the server does not know %q", call, err, g.unknown)
		}
	}
	ask("create", "BRANCH", branch, "BASE", "main", "TITLE", "T-1: it's", "BODY", "what\nand why")
	ask("update", "N", "1", "BASE", "next", "BODY", "more")
	if err := f.Queue(ctx, "1", head); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	if diff := cmp.Diff(object{"pullRequestId": "P1", "mergeMethod": "SQUASH", "expectedHeadOid": head}, g.queued); diff != "" {
		t.Error(diff)
	}
	if title := g.pulls[0]["title"]; title != "T-1: it's" {
		t.Error(title)
	}
	g.pulls[0]["reviews"] = object{"nodes": []object{{"author": object{"login": "bob"}, "authorAssociation": "MEMBER",
		"state": "CHANGES_REQUESTED", "body": "Rename it.", "submittedAt": "2030-01-02T03:04:05Z", "commit": object{"oid": head}}},
		"pageInfo": object{}}
	g.pulls[0]["statusCheckRollup"] = object{"nodes": []object{{"commit": object{"statusCheckRollup": object{"contexts": object{
		"nodes": []object{{"__typename": "CheckRun", "name": "lint", "status": "COMPLETED", "conclusion": "FAILURE",
			"detailsUrl": "https://ci.example/7"}}, "pageInfo": object{}}}}}}}
	g.lines = []object{{"user": object{"login": "bob"}, "author_association": "MEMBER", "path": "a.go", "line": 12, "body": "Here.",
		"original_commit_id": head}}
	g.mu.Unlock()
	want := &PullRequest{Number: "1", URL: "https://github.com/team/app/pull/1", State: "open", Base: "next", Body: "more",
		Findings: []string{"bob: Rename it.", "bob: a.go:12: Here.", "the check lint failed: https://ci.example/7"}}
	got, err := f.Find(ctx, branch, time.Time{}, head)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	g.mu.Lock()
	g.pulls[0]["state"], g.pulls[0]["mergeCommit"] = "MERGED", object{"oid": head}
	g.mu.Unlock()
	if got, err = f.Find(ctx, branch, time.Time{}, head); err != nil || got.State != "merged" || got.Merged != head {
		t.Errorf("%+v %v", got, err)
	}
	if data, err := f.Issue(ctx, "12"); err != nil || !strings.Contains(string(data), `"body":"More"`) {
		t.Errorf("%s %v", data, err)
	}
	f.Environ = append(os.Environ(), "GH_CONFIG_DIR="+dir, "GH_TOKEN=", "GITHUB_TOKEN=", "HOME="+dir)
	if _, err := f.Find(ctx, branch, time.Time{}, head); err == nil || !strings.Contains(err.Error(), "you are not logged in") {
		t.Error(err)
	}
	if len(g.unknown) > 0 {
		t.Errorf("gh asks what the server does not know: %q", g.unknown)
	}
}
