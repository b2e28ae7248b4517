package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// BlamedLine is a line of a file, and the commit that brought it in.
type BlamedLine struct {
	Number int    // in the file
	Text   string // without its end
	Commit plan.OID
	Path   string // of the file in that commit
}

// Blame asks git blame for a line of a file, or for all of them if the number is zero. The path is as a person types it
// in the directory of the command. Without a revision the file is the worktree's, or HEAD's where a sparse checkout
// left it out; lines that are not committed have no commit.
func (s *Store) Blame(ctx context.Context, rev, path string, line int) ([]BlamedLine, error) {
	args := []string{"-c", "core.quotePath=false", "-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "--root",
		"--no-textconv"}
	if line > 0 {
		args = append(args, fmt.Sprintf("-L%d,%d", line, line))
	}
	if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path))); rev == "" &&
		(err != nil || s.workTree == "") {
		rev = "HEAD"
	}
	if rev != "" {
		commit, err := s.CommitOf(ctx, rev)
		if err == nil && commit == "" {
			err = fmt.Errorf("%s is no commit", plain.Quote(rev))
		}
		if err != nil {
			return nil, err
		}
		args = append(args, string(commit))
	}
	out, err := s.GitIn(ctx, Invocation{Args: append(args, "--", path)})
	if err != nil {
		return nil, err
	}
	return parseBlame(out)
}

// parseBlame reads what git blame --porcelain prints. It describes a commit once, before the first of its lines.
func parseBlame(out []byte) ([]BlamedLine, error) {
	var lines []BlamedLine
	var now BlamedLine
	paths := map[plan.OID]string{}
	for len(out) > 0 {
		text, rest, _ := bytes.Cut(out, []byte("\n"))
		out = rest
		line := string(text)
		if own, ok := strings.CutPrefix(line, "\t"); ok {
			now.Text, now.Path = own, paths[now.Commit]
			if strings.Trim(string(now.Commit), "0") == "" {
				now.Commit = ""
			}
			lines = append(lines, now)
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		switch {
		case isOID(plan.OID(key)):
			numbers := strings.Fields(value)
			n, err := strconv.Atoi(numbers[min(1, len(numbers)-1)])
			if err != nil {
				return nil, fmt.Errorf("git blame printed %q", line)
			}
			now = BlamedLine{Number: n, Commit: plan.OID(key)}
		case key == "filename":
			if unquoted, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
				value = unquoted
			}
			paths[now.Commit] = value
		}
	}
	return lines, nil
}

// SaidCommit is a commit of the user's, and what its message says it brings.
type SaidCommit struct {
	Commit  plan.OID
	Parent  plan.OID // the first, "" if it has none
	Ends    bool     // a shallow clone ends here: what came before is not here
	Author  string
	Time    time.Time
	Subject string
	Brings  []Brought
}

// Brought is a version that a commit's message names.
type Brought struct {
	Plan     plan.ID
	Task     plan.TaskID
	Artifact string
}

// Said reads commits and what they say they bring, by their ids.
func (s *Store) Said(ctx context.Context, commits []plan.OID) (map[plan.OID]SaidCommit, error) {
	ends, err := s.shallowEnds()
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	out, err := s.GitIn(ctx, Invocation{
		Args: []string{"-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8", "log",
			"--no-walk=unsorted",
			"--no-color",
			"--no-show-signature", "--format=format:%H%x00%P%x00%an%x00%at%x00%s%x00%B%x00", "--stdin"},
		Stdin: strings.NewReader(strings.Join(namesOf(commits), "\n") + "\n"),
	})
	if err != nil {
		return nil, err
	}
	said := map[plan.OID]SaidCommit{}
	fields := strings.Split(string(out), "\x00")
	for ; len(fields) > 6; fields = fields[6:] {
		c := SaidCommit{Commit: plan.OID(strings.TrimSpace(fields[0])), Author: fields[2], Subject: fields[4],
			Brings: Brings(fields[5])}
		parent, _, _ := strings.Cut(fields[1], " ")
		c.Parent, c.Ends = plan.OID(parent), ends[c.Commit]
		if seconds, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
			c.Time = time.Unix(seconds, 0).UTC()
		}
		said[c.Commit] = c
	}
	return said, nil
}

// Brings reads the versions that a message names, anywhere, since a squash indents them. It proves nothing.
func Brings(message string) []Brought {
	var list []Brought
	var now Brought
	for line := range strings.Lines(message) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch value = strings.TrimSpace(value); key {
		case "Wf-Plan":
			now = Brought{Plan: plan.ID(value)}
		case "Wf-Task":
			now.Task, now.Artifact = plan.TaskID(value), ""
		case "Wf-Artifact":
			now.Artifact = value
			if now.Plan.Valid() && now.Task.Valid() && plan.VersionNumber(value) > 0 {
				list = append(list, now)
			}
		}
	}
	return list
}

// EntryAt returns what a tree or commit has at a path; the zero Entry if nothing.
func (s *Store) EntryAt(ctx context.Context, treeish plan.OID, path string) (threeway.Entry, error) {
	batch := s.NewBatch()
	defer batch.Discard()
	tree, err := s.TreeOf(ctx, treeish)
	if err != nil || tree == "" {
		return threeway.Entry{}, err
	}
	return entryAt(ctx, &treeObjects{batch}, tree, path)
}

func entryAt(ctx context.Context, o threeway.Objects, tree plan.OID, path string) (threeway.Entry, error) {
	name, rest, deeper := strings.Cut(path, "/")
	entries, err := o.Tree(ctx, tree)
	if err != nil {
		return threeway.Entry{}, err
	}
	for _, e := range entries {
		switch {
		case e.Name != name:
		case deeper && e.Mode == modeTree:
			return entryAt(ctx, o, e.OID, rest)
		case !deeper && e.Mode != modeTree:
			return e, nil
		}
	}
	return threeway.Entry{}, nil
}

// Yields reports whether versions that change the repository, applied one after the other to what a commit's parent has
// at a path, yield what the commit has there. The parent is "" for a commit without one.
func (s *Store) Yields(ctx context.Context, versions []plan.OID, parent, commit plan.OID, path string) (bool, error) {
	batch := s.NewBatch()
	defer batch.Discard()
	var now threeway.Entry
	if parent != "" {
		var err error
		if now, err = s.EntryAt(ctx, parent, path); err != nil {
			return false, err
		}
	}
	for _, v := range versions {
		before, err := s.EntryAt(ctx, v, ChangeBefore+"/"+path)
		if err != nil {
			return false, err
		}
		after, err := s.EntryAt(ctx, v, ChangeAfter+"/"+path)
		if err != nil {
			return false, err
		}
		var conflict threeway.Why
		if now, conflict, err = batch.MergeFile(ctx, before, now, after); err != nil || conflict != "" {
			return false, err
		}
	}
	want, err := s.EntryAt(ctx, commit, path)
	return now.Mode == want.Mode && now.OID == want.OID, err
}
