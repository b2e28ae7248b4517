package gitstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Two clones that both recorded events are joined by one commit, whose parents are the remote's tip and the local one,
// and whose tree follows from these (plan.Join). A plan's ref at a remote moves only along first parents.

// Joined is what a join did to the plan here.
type Joined struct {
	Tip    plan.OID    // of the plan, after it
	Second plan.OID    // the tip before, if a commit joins it to the other,
	Change plan.Change // with this
	Aside  []plan.SetAside
	Pushed bool    // the remote has it since
	Failed error   // why Sync left the two apart
	Again  []Again // in the order in which it was decided

	events   []laterEvent
	base     plan.OID
	archived commitInfo // whose history has the base, if the first was pruned since
	sides    []*plan.State
	tree     plan.OID
}

// Again decides again what was set aside.
type Again struct {
	Args    []string // of git wf
	Command string   // the same, for people
}

// errOneHasOther: there is nothing to join.
var errOneHasOther = errors.New("one history has the other")

// Join brings another clone's history of a plan, up to a commit that is here, together with the one here. Where one of
// the two has the other, the plan moves to it; else one commit joins them. An unsound history is not taken.
func (s *Store) Join(ctx context.Context, id plan.ID, first plan.OID, now time.Time) (done Joined, err error) {
	return s.joinOther(ctx, id, first, true, now)
}

// joinOther is Join; comesFirst says that the other history's order counts, and not that of the one here.
func (s *Store) joinOther(ctx context.Context, id plan.ID, other plan.OID, comesFirst bool, now time.Time) (done Joined,
	err error) {
	ref, err := planRef(id)
	if err != nil {
		return done, err
	}
	if s.Sound == nil {
		err = errors.New("nothing audits what another clone has recorded")
	} else if comesFirst {
		err = s.refusePrune(ctx, id, other)
	}
	if err == nil {
		err = s.Sound(ctx, id, other)
	}
	if err != nil {
		return done, fmt.Errorf("join %s: %w", id, err)
	}
	a := &appending{s: s, id: id, ref: ref, now: now}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		tip, err := s.commit(ctx, ref)
		if err != nil {
			return tip, plan.Change{}, err
		}
		if a.first, a.second = other, tip.oid; !comesFirst {
			a.first, a.second = a.second, a.first
		}
		done, err = s.join(ctx, a.batch, id, a.first, a.second)
		if done.archived.oid != "" {
			also, archiveErr := a.archiveChanges(ctx, done.archived)
			a.also, err = also, cmp.Or(archiveErr, err)
		}
		if errors.Is(err, errOneHasOther) && other != tip.oid && comesFirst == (done.base == "") {
			a.commit.oid = other
			if err = a.batch.Flush(ctx); err == nil {
				err = cmp.Or(a.moveRef(ctx, tip), errOneHasOther)
			}
		}
		for _, side := range done.sides { // who does not know a record, or a join, writes nothing
			err = cmp.Or(err, side.Admits(plan.Mend{}))
		}
		a.tree, done.Second = done.tree, a.second
		s.decideAgain(ctx, &done, a.person)
		for i, aside := range done.Aside {
			done.Aside[i].Command = cmp.Or(aside.Command, makesAgain(aside, fmt.Sprintf("%.8s", a.second)))
			done.Change.Body += done.Aside[i].String() + "\n"
		}
		return tip, done.Change, err
	}
	if err = a.run(ctx); errors.Is(err, errOneHasOther) {
		done.Tip, err = s.Tip(ctx, id)
		return Joined{Tip: done.Tip}, err
	} else if err != nil {
		return Joined{}, fmt.Errorf("join %s: %w", id, err)
	}
	done.Tip = a.commit.oid
	return done, nil
}

// deciding are the commands that decide again, by the kind of event.
var deciding = map[string]string{"paused": "pause", "resumed": "resume", "completed": "complete",
	"abandoned": "abandon", "restored": "retry", plan.EventMasked: "doctor --mask"}

// decideAgain finds the commands that decide again what a join has set aside. Again has those of who joins alone:
// nobody decides in another's name.
func (s *Store) decideAgain(ctx context.Context, j *Joined, person plan.Actor) {
	for _, ev := range slices.Backward(j.events) { // the oldest first
		of := func(a plan.SetAside) bool { return slices.ContainsFunc(ev.paths, a.Has) }
		known := deciding[ev.kind] != "" && (ev.about == "" || plan.TaskID(ev.about).Valid())
		if !known || !slices.ContainsFunc(j.Aside, of) {
			continue
		}
		args := strings.Fields(deciding[ev.kind] + " " + ev.about)
		line := "git wf " + strings.Join(args, " ")
		var why plan.Decision
		if data, err := s.ReadFile(ctx, j.Second, ev.paths[0]); err == nil && json.Unmarshal(data, &why) == nil &&
			why.Reason != "" {
			args = append(args, "-m", why.Reason)
			line += " -m " + shell.Quote(plain.Line(why.Reason))
		}
		if ev.by == person.Name {
			j.Again = append(j.Again, Again{args, line})
		}
		for i := range j.Aside {
			if of(j.Aside[i]) {
				j.Aside[i].Command = line
			}
		}
	}
}

// asides are what joins among the newest events set aside, and nothing newer has made or decided again.
func (s *Store) asides(ctx context.Context, tip plan.OID) (lines []string) {
	const few = 20
	made := map[string]bool{}
	for range few {
		c, err := s.lookCommit(ctx, string(tip))
		if err != nil || c.parent == "" {
			break
		}
		kind, task := trailerOf(c.message, "Wf-Event"), trailerOf(c.message, "Wf-Task")
		if kind == "artifact" {
			made[task] = true
		}
		made[strings.TrimSpace("git wf "+deciding[kind]+" "+task)] = true
		for line := range strings.Lines(c.message) {
			task, rest, ok := strings.Cut(strings.TrimSpace(line), " was set aside: ")
			_, command, _ := strings.Cut(rest, ": ")
			command, _, _ = strings.Cut(command, " -m ")
			if ok && c.rule != "" && !made[task] && !made[command] {
				lines = append(lines, plain.Line(strings.TrimSpace(line)))
			}
		}
		tip = c.parent
	}
	return lines
}

// trailerOf is the value of a trailer of a message, "" if there is none.
func trailerOf(message, key string) string {
	_, rest, _ := strings.Cut(message, "\n"+key+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// makesAgain is the command that makes again what was set aside, or else shows it.
func makesAgain(a plan.SetAside, from string) string {
	for _, c := range [...][2]string{
		{"plan.json", "git wf plan --edit, or git wf split; git show FROM:plan.json shows it"},
		{"/artifacts/", "git wf submit TASK --from FROM"}, {"/answers/", "git wf answer TASK"},
		{"/inputs/", "git wf answer TASK --file FILE"}, {"/waivers/", "git wf waive TASK --criterion ID -m WHY"},
		{"/reviews/", "git wf review TASK"}, {"", "git log FROM shows it"},
	} {
		is := func(record string) bool { return strings.Contains(record, c[0]) }
		if i := slices.IndexFunc(a.Paths, is); i >= 0 {
			name := strings.SplitN(strings.TrimSuffix(path.Base(a.Paths[i]), ".json"), "-", 3) // w1-v2-A3
			return strings.NewReplacer("TASK", string(a.TaskID), "FROM", from, "ID", name[len(name)-1]).Replace(c[1])
		}
	}
	return ""
}

// JoinTree computes the tree of the join of two histories. Its new objects are in the batch.
func (s *Store) JoinTree(ctx context.Context, b *Batch, id plan.ID, first, second plan.OID) (plan.OID, error) {
	j, err := s.join(ctx, b, id, first, second)
	return j.tree, err
}

// join computes the join of two histories. It fails with errOneHasOther if there is nothing to join (setJoinBase).
func (s *Store) join(ctx context.Context, b *Batch, id plan.ID, first, second plan.OID) (j Joined, err error) {
	if err := s.setJoinBase(ctx, &j, id, first, second); err != nil {
		return j, err
	}
	x, err := s.SnapshotAt(ctx, id, first)
	y, err2 := s.SnapshotAt(ctx, id, second)
	c, err3 := s.commit(ctx, string(j.base))
	if err = cmp.Or(err, err2, err3); err != nil {
		return j, err
	}
	j.sides = []*plan.State{x.State(), y.State()}
	in := plan.Joining{First: j.sides[0], Second: j.sides[1], SamePlan: true}
	err = s.eachDifference(ctx, "", 1, [3]plan.OID{x.Tree, y.Tree, c.tree}, func(p plan.JoinPath) {
		in.Paths, in.SamePlan = append(in.Paths, p), in.SamePlan && p.Path != planFile
	})
	if err == nil {
		j.events, err = s.laterEvents(ctx, first, second)
	}
	for _, e := range j.events {
		in.Events = append(in.Events, e.paths)
	}
	if j.tree = x.Tree; err != nil {
		return j, err
	}
	if j.Change, j.Aside = plan.Join(in); len(j.Change.Add) > 0 {
		j.tree, err = s.writeChange(ctx, b, x.Tree, j.Change)
	}
	return j, err
}

// setJoinBase finds where two histories part: the newest commit that both have along first parents, the first through
// prunes, too. It fails with errOneHasOther, and sets a base then only if it is the second that has all.
func (s *Store) setJoinBase(ctx context.Context, j *Joined, id plan.ID, first, second plan.OID) error {
	archives, err := s.Archives(ctx, first)
	if err == nil && s.onlyPrunes(ctx, second, first) {
		return errOneHasOther
	}
	tip, ref := first, ArchiveRefName(id)
	for i := len(archives) - 1; err == nil; i-- {
		if j.base, err = s.newestCommon(ctx, tip, second); err == nil && j.base == first {
			err = errOneHasOther
		}
		if err != nil || j.base != "" {
			return err
		}
		if i < 0 {
			return fault.Refused(fmt.Sprintf("git wf export --plan %s --format yaml | git wf plan -f -", id),
				"another plan is called %s, too; made again, this one gets a name of its own", id)
		}
		tip = archives[i].Tip
		if j.archived, err = s.commit(ctx, string(tip)); errors.Is(err, ErrNoPlan) {
			remote, _ := s.SharedWith(ctx, id)
			err = &AbsentError{What: fmt.Sprintf("the archive up to %.12s is not here", tip),
				Hint: fmt.Sprintf("git fetch %s %s:%[2]s", cmp.Or(remote, "<remote>"), ref)}
		}
	}
	return err
}

// onlyPrunes reports whether a history is only the prune of one that the other goes on from.
func (s *Store) onlyPrunes(ctx context.Context, tip, other plan.OID) bool {
	c, err := s.commit(ctx, string(tip))
	archives, err2 := s.Archives(ctx, tip)
	if err != nil || err2 != nil || c.parent != "" || len(archives) == 0 {
		return false
	}
	has, err := s.IsAncestor(ctx, archives[len(archives)-1].Tip, other)
	return err == nil && has
}

// newestCommon returns the newest commit that two histories have along first parents, "" for none: of what came as the
// second of a join each may have taken other parts. It fails with errOneHasOther if the first has all of the second.
func (s *Store) newestCommon(ctx context.Context, first, second plan.OID) (common plan.OID, err error) {
	out, err := s.Git(ctx, "merge-base", "--all", "--end-of-options", string(first), string(second))
	bases := strings.Fields(out)
	switch {
	case exitCode(err) == 1:
		return "", nil
	case err == nil && slices.Contains(bases, string(second)):
		err = errOneHasOther
	}
	for _, stop := range [][]string{bases, nil} { // mostly there is one base, and both come to it
		seen := map[plan.OID]bool{}
		for _, tip := range []plan.OID{second, first} {
			for tip != "" && err == nil && common == "" {
				if seen[tip] {
					common = tip
				}
				if seen[tip] = true; slices.Contains(stop, string(tip)) {
					break
				}
				tip, err = s.parentOf(ctx, tip)
			}
		}
	}
	return common, err
}

// refusePrune refuses to join what was pruned here since: a prune is pushed, with what it archived, or, if the other
// history has gone on, taken back.
func (s *Store) refusePrune(ctx context.Context, id plan.ID, first plan.OID) error {
	second, err := s.Tip(ctx, id)
	known, err2 := s.Archives(ctx, first)
	own, err3 := s.Archives(ctx, second)
	oldest := slices.IndexFunc(own, func(a Archive) bool { return !slices.Contains(known, a) })
	if err = cmp.Or(err, err2, err3); err != nil || oldest < 0 || s.onlyPrunes(ctx, second, first) {
		return err
	}
	ref, archive, archived := RefName(id), ArchiveRefName(id), own[oldest].Tip
	mend := fmt.Sprintf("git push --atomic <remote> +%s %s", ref, archive)
	if has, err := s.IsAncestor(ctx, first, archived); err != nil || !has {
		const git = "git -c core.hooksPath=/dev/null update-ref "
		mend = fmt.Sprintf(git+"refs/workflow-damaged/%s/%.12s %[2]s && "+git+"%[3]s %[4]s", id, second, ref, archived)
		if oldest == 0 { // else it holds what an older prune archived, which the plan needs
			mend += fmt.Sprintf(" && "+git+"refs/workflow-damaged/%s/archive-%.12s %s && "+git+"-d %[3]s", id, second,
				archive)
		}
	}
	return fault.Refused(mend, "the plan was pruned here, and the other history does not know that yet")
}

// taskDepth is the number of components of a path to one of a task's records: tasks/3f/IMPL-1/artifacts/v1.
const taskDepth = 5

// eachDifference calls fn with each path in which the first two trees differ, in order. It enters what both have, and
// what only one has down to the records of a task. A version's files are one thing.
func (s *Store) eachDifference(ctx context.Context, dir string, depth int, trees [3]plan.OID,
	fn func(plan.JoinPath)) error {
	names := map[string][2][3]plan.OID{} // what is there, and which of it are trees
	for i, oid := range trees {
		var entries []rawEntry
		var err error
		if oid != "" {
			entries, err = s.tree(ctx, oid)
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			n := names[e.name]
			if n[0][i] = e.oid; e.isTree() {
				n[1][i] = e.oid
			}
			names[e.name] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		e, below := names[name][0], names[name][1]
		enters := below[0] != "" && below[1] != "" && (depth <= taskDepth || name != "files") ||
			below[0]+below[1] != "" && depth < taskDepth
		switch {
		case e[0] == e[1]:
		case enters:
			if err := s.eachDifference(ctx, dir+name+"/", depth+1, below, fn); err != nil {
				return err
			}
		default:
			fn(plan.JoinPath{Path: dir + name, First: e[0], Second: e[1], Base: e[2]})
		}
	}
	return nil
}

// laterEvent is an event of the second history that the first, or an archive of it, lacks.
type laterEvent struct {
	by, kind, about string
	paths           []string // that it wrote
}

// laterEvents lists them, newest first.
func (s *Store) laterEvents(ctx context.Context, first, second plan.OID) (events []laterEvent, err error) {
	known, err := s.histories(ctx, first)
	if err != nil {
		return nil, err
	}
	const format = "%x00%an%n%(trailers:key=Wf-Event,valueonly,separator= )%n" +
		"%(trailers:key=Wf-Task,valueonly,separator= )"
	out, err := s.Git(ctx, append([]string{"-c", "log.showSignature=false", "-c", "core.quotePath=false", "log",
		"--no-merges", "--no-color", "--no-notes", "--no-renames", "--no-relative", "--diff-filter=AM", "--name-only",
		"--format=" + format, string(second), "--not"}, known...)...)
	for event := range strings.SplitSeq(out, "\x00") {
		if lines := strings.Split(strings.TrimRight(event, "\n"), "\n"); len(lines) > 3 { // the fourth is empty
			events = append(events, laterEvent{lines[0], lines[1], lines[2], lines[4:]})
		}
	}
	return events, err
}
