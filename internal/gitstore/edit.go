package gitstore

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// addition is a tree of new or masked paths to add to an existing tree, and of paths to leave out of it.
type addition struct {
	entry *plan.Entry // a new path ends here
	gone  bool        // the tree has this path no more
	below map[string]*addition
}

// writeChange adds the tree with the change applied; it reads and writes only trees on the way there.
func (s *Store) writeChange(ctx context.Context, b *Batch, tree plan.OID, change plan.Change) (plan.OID, error) {
	top := &addition{}
	for i := range change.Add {
		if err := top.insert(&change.Add[i]); err != nil {
			return "", err
		}
	}
	for _, name := range []string{planFile, policyFile} {
		if top.below[name] != nil {
			return "", fmt.Errorf("%s is no record", name)
		}
	}
	replaced, err := b.document(change)
	switch {
	case err != nil:
		return "", err
	case tree == "" && replaced == nil:
		return "", fmt.Errorf("the first event brings no %s", planFile)
	case len(change.Add) == 0 && replaced == nil:
		return "", fmt.Errorf("the event adds nothing")
	}
	return s.graft(ctx, b, tree, "", top, replaced)
}

// document is the one file of a history that an event may replace.
func (b *Batch) document(change plan.Change) (*rawEntry, error) {
	switch {
	case change.Plan != nil:
		data, err := plandoc.Encode(change.Plan)
		return &rawEntry{modeFile, planFile, b.add(plumbing.BlobObject, data)}, err
	case change.Policy != nil:
		return &rawEntry{modeFile, policyFile, b.add(plumbing.BlobObject, change.Policy)}, nil
	}
	return nil, nil
}

func (a *addition) insert(e *plan.Entry) error {
	if err := checkTreePath(e.Path); err != nil {
		return err
	}
	at := a
	for name := range strings.SplitSeq(e.Path, "/") {
		if at.entry != nil {
			return fmt.Errorf("%s is below the new path %s", e.Path, at.entry.Path)
		}
		at = at.child(name)
	}
	if at.entry != nil || at.below != nil {
		return fmt.Errorf("%s is there already", e.Path)
	}
	at.entry = e
	return nil
}

// drop leaves a path out of the tree.
func (a *addition) drop(path string) {
	for name := range strings.SplitSeq(path, "/") {
		a = a.child(name)
	}
	a.gone = true
}

func (a *addition) child(name string) *addition {
	if a.below == nil {
		a.below = map[string]*addition{}
	}
	if a.below[name] == nil {
		a.below[name] = &addition{}
	}
	return a.below[name]
}

// graft adds a to a tree, or to none, and returns the new tree's id. replaced is the one entry that may exist already.
func (s *Store) graft(ctx context.Context, b *Batch, tree plan.OID, path string, a *addition,
	replaced *rawEntry) (plan.OID, error) {
	var old []rawEntry
	if tree != "" {
		var err error
		if old, err = s.tree(ctx, tree); err != nil {
			return "", err
		}
	}
	next := make([]rawEntry, 0, len(old)+len(a.below)+1)
	existing := map[string]rawEntry{}
	for _, e := range old {
		switch {
		case replaced != nil && e.name == replaced.name:
		case a.below[e.name] != nil:
			existing[e.name] = e
		default:
			next = append(next, e)
		}
	}
	if replaced != nil {
		next = append(next, *replaced)
	}
	for name, child := range a.below {
		if child.gone {
			continue
		}
		e, err := s.graftOne(ctx, b, existing[name], path+name, child)
		if err != nil {
			return "", err
		}
		e.name = name
		next = append(next, e)
	}
	return b.addTree(next)
}

func (s *Store) graftOne(ctx context.Context, b *Batch, old rawEntry, path string, a *addition) (rawEntry, error) {
	switch {
	case a.entry == nil && (old.oid == "" || old.isTree()):
		oid, err := s.graft(ctx, b, old.oid, path+"/", a, nil)
		return rawEntry{mode: modeTree, oid: oid}, err
	case a.entry == nil || old.oid != a.entry.Replaces:
		return rawEntry{}, fmt.Errorf("%s is there already, or is another by now", path)
	case a.entry.OID == "":
		return rawEntry{mode: modeFile, oid: b.add(plumbing.BlobObject, a.entry.Data)}, nil
	}
	mode, err := s.modeOf(ctx, b, a.entry.OID)
	if err != nil {
		return rawEntry{}, fmt.Errorf("%s: %w", path, err)
	}
	return rawEntry{mode: mode, oid: a.entry.OID}, nil
}

// modeOf finds an object that an event names but does not bring. It must exist: a commit may not name a missing object.
func (s *Store) modeOf(ctx context.Context, b *Batch, oid plan.OID) (string, error) {
	var there object
	if o := b.byOID[oid]; o != nil {
		there.Kind = o.kind.String()
	} else {
		var err error
		if there, err = s.objects.one(ctx, string(oid)); err != nil {
			return "", err
		}
	}
	switch there.Kind {
	case "tree":
		return modeTree, nil
	case "blob":
		return modeFile, nil
	}
	return "", fmt.Errorf("there is no file or tree %s", oid)
}

// addCommit adds the event's commit to the batch, signed if it has to be.
func (a *appending) addCommit(ctx context.Context, tree, parent plan.OID, change plan.Change) (c commitInfo,
	err error) {
	message, err := message(change)
	if err != nil {
		return c, err
	}
	author := change.Author
	if author.Name == "" {
		author = a.person
	}
	if err := a.ownReview(author, change); err != nil {
		return c, err
	}
	when := timeOf(a.now)
	draft := commitDraft{tree, []plan.OID{parent, a.second}, author, a.person, when, when, message}
	signing, err := a.signingOf(ctx, author, change)
	if err != nil {
		return c, err
	}
	if signing != nil {
		return a.addSigned(ctx, draft, signing)
	}
	return a.add(draft.text()), nil
}

// ownReview refuses a review whose reviewer is not the commit's author: nobody would count it.
func (a *appending) ownReview(author plan.Actor, change plan.Change) error {
	if change.Trailer("Wf-Review") == "" {
		return nil
	}
	by := Recorded{Author: author, Reviewer: policy.ReviewerOf(change.Trailer("Wf-Event"), cleanActor(author),
		a.person)}
	if name := change.Trailer("Wf-Agent"); !by.Names(name) {
		return &plan.RefusedError{
			Task: plan.TaskID(change.Trailer("Wf-Task")), Reason: fmt.Sprintf("a review by %s can't be recorded by %s",
				plain.Line(name), plain.Line(by.Reviewer)),
			Hint: "git config user.name, which is who reviews",
		}
	}
	return nil
}

// add adds a commit to the batch as git would store it.
func (a *appending) add(text string) commitInfo {
	c := parseCommit(text)
	c.oid = a.batch.add(plumbing.CommitObject, []byte(text))
	return c
}

// ident formats a name and address so that nothing else in the commit can be mistaken for them.
func ident(a plan.Actor) string {
	a = cleanActor(a)
	return a.Name + " <" + a.Email + ">"
}

func cleanActor(a plan.Actor) plan.Actor {
	return plan.Actor{Name: CleanName(a.Name), Email: CleanName(a.Email)}
}

// CleanName is a name as a commit can hold it.
func CleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Trim(s, " .,:;\"\\'")
}

// message is the commit's message: subject, body, trailers.
func message(c plan.Change) (string, error) {
	subject := strings.Join(strings.Fields(text(c.Subject)), " ")
	if subject == "" {
		return "", fmt.Errorf("the event has no subject")
	}
	parts := []string{subject}
	if body := strings.TrimSpace(text(c.Body)); body != "" {
		parts = append(parts, body)
	}
	var trailers []string
	for _, t := range c.Trailers {
		line := t.Key + ": " + t.Value
		if strings.ContainsAny(line, "\n\r\x00") || t.Key == "" || strings.ContainsAny(t.Key, ": ") {
			return "", fmt.Errorf("trailer %q is not one line", line)
		}
		trailers = append(trailers, text(line))
	}
	if len(trailers) > 0 {
		parts = append(parts, strings.Join(trailers, "\n"))
	}
	return strings.Join(parts, "\n\n") + "\n", nil
}

// text is s as a commit can hold it, without anything that harms a terminal in git log.
func text(s string) string {
	return plain.Text(strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD"))
}
