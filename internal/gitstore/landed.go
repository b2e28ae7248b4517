package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// NewCommit is a commit to be made on a branch of the user's. The committer is the user.
type NewCommit struct {
	Tree, Parent plan.OID
	Author       plan.Actor
	Time         time.Time // of the author
	Message      string
}

// AddUserCommit adds a commit of the user's, signed if commit.gpgSign says so. No ref names it yet.
func (b *Batch) AddUserCommit(ctx context.Context, c NewCommit, now time.Time) (plan.OID, error) {
	committer, err := b.s.Person(ctx)
	if err != nil {
		return "", err
	}
	if err := b.s.prepareWriting(ctx); err != nil {
		return "", err
	}
	draft := commitDraft{c.Tree, []plan.OID{c.Parent}, c.Author, committer, fmt.Sprintf("%d +0000", c.Time.Unix()),
		timeOf(now), c.Message}
	if !b.s.writing.signs {
		return b.add(plumbing.CommitObject, []byte(draft.text())), nil
	}
	if err := b.Flush(ctx); err != nil { // git signs only a commit whose tree and parent exist
		return "", err
	}
	oid, err := b.s.commitSigned(ctx, draft)
	var g *GitError
	if ctx.Err() == nil && errors.As(err, &g) {
		err = fault.Waiting("git wf land on a terminal, if the key has a passphrase; "+setSigning+" sets a key",
			"commit.gpgSign wants the commit signed, and git can't sign it: %s", lastLines(g.Stderr))
	}
	return oid, err
}

// Makers returns who recorded each version of a plan, by the path of its artifact.json.
func (s *Store) Makers(ctx context.Context, snap *Snapshot) (map[string]plan.Actor, error) {
	out, err := s.Git(ctx, "-c", "log.showSignature=false", "-c", "core.quotePath=false", "log", "--no-color",
		"--no-renames",
		"--diff-filter=A", "--name-only", "--format=%x01%an%x02%ae", "--end-of-options", string(snap.Commit), "--",
		":(top,glob)tasks/*/*/artifacts/*/artifact.json")
	makers := map[string]plan.Actor{}
	var by plan.Actor
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if who, ok := strings.CutPrefix(line, "\x01"); ok {
			by.Name, by.Email, _ = strings.Cut(who, "\x02")
			continue
		}
		if _, known := makers[line]; line != "" && !known {
			makers[line] = by
		}
	}
	return makers, err
}

// LandedCommit is a commit that brought a version to a branch.
type LandedCommit struct {
	Version        string
	Commit, Parent plan.OID
}

// LandedOn returns the versions of a plan that commits between base and tip brought, by task. Messages say where to
// look, and are not believed: a version that would still change what its commit has did not land there.
func (s *Store) LandedOn(ctx context.Context, snap *Snapshot, base, tip plan.OID) (map[plan.TaskID]LandedCommit,
	error) {
	steps, err := s.Steps(ctx, base, tip, "--fixed-strings", "--grep=Wf-Plan: "+string(snap.ID))
	if err != nil {
		return nil, err
	}
	landed := map[plan.TaskID]LandedCommit{}
	batch := s.NewBatch()
	defer batch.Discard()
	for _, st := range steps {
		for _, b := range Brings(st.Message) {
			version, recorded := snap.Records.Of(b.Task).Version(plan.VersionNumber(b.Artifact))
			if b.Plan != snap.ID || !recorded {
				continue
			}
			again, conflicts, err := batch.ApplyChange(ctx, version.Files, st.Tree)
			if err != nil {
				return nil, err
			}
			if again == st.Tree || len(conflicts) > 0 { // a squash has changed it further
				landed[b.Task] = LandedCommit{b.Artifact, st.Commit, st.Parent}
			}
		}
	}
	return landed, nil
}

// BranchStep is a commit of a branch. Parent is the first one, "" if it has none.
type BranchStep struct {
	Commit, Parent, Tree plan.OID
	Message              string
}

// Steps lists the commits between two, the oldest first, as git log does with some options.
func (s *Store) Steps(ctx context.Context, from, to plan.OID, options ...string) (steps []BranchStep, err error) {
	args := append([]string{"-c", "log.showSignature=false", "log", "--reverse", "--no-color", "-z",
		"--format=%H %T %P%n%B"}, options...)
	out, err := s.Git(ctx, append(args, "--end-of-options", string(from)+".."+string(to))...)
	for entry := range strings.SplitSeq(out, "\x00") {
		names, message, _ := strings.Cut(entry, "\n")
		if ids := append(strings.Fields(names), ""); len(ids) > 2 {
			steps = append(steps, BranchStep{plan.OID(ids[0]), plan.OID(ids[2]), plan.OID(ids[1]), message})
		}
	}
	return steps, err
}

// Lands is a version that a commit is to bring, and the review that approved it.
type Lands struct {
	Brought
	Review string
}

// LandingMessage is the message of a commit that brings versions. No text in it can name others.
func LandingMessage(subject, body string, brought []Lands) string {
	message := plain.Line(subject) + "\n\n"
	if body = quoteTrailers(strings.TrimSpace(plain.Text(body))); body != "" {
		message += body + "\n\n"
	}
	for _, b := range brought {
		message += fmt.Sprintf("Wf-Plan: %s\nWf-Task: %s\nWf-Artifact: %s\nWf-Review: %s\n", b.Plan, b.Task, b.Artifact,
			b.Review)
	}
	return message
}

// quoteTrailers marks lines that begin as ours do, wherever a squash moves them, and those that end git am.
func quoteTrailers(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		if len(word) >= 3 && (strings.EqualFold(word[:3], "wf-") || word[:3] == "---") {
			b.WriteString("> ")
		}
		b.WriteString(line)
	}
	return b.String()
}
