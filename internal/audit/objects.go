package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// newestSound reads every object of the ref's history and returns its newest commit that is whole, "" if there is none.
// It reports what is damaged.
func (a *auditor) newestSound(ref string) (plan.OID, error) {
	a.progress("%s: looking for its objects", a.id)
	held, err := a.store.Git(a.ctx, "for-each-ref", "--format=%(objectname) %(refname) %(symref)", "--", ref)
	tip := plan.OID("")
	for line := range strings.Lines(held) {
		f := strings.Fields(line)
		if len(f) > 2 && f[1] == ref {
			return "", nil // a symbolic ref, which the audit of the refs reports
		}
		if len(f) > 1 && f[1] == ref {
			tip = plan.OID(f[0])
		}
	}
	kind, kindErr := a.store.Git(a.ctx, "cat-file", "-t", string(tip))
	if err == nil && tip != "" && kindErr == nil && kind != "commit" {
		a.report("not-a-commit", ref, withoutHooks(deleteCommand(ref, tip)), "holds a %s, not a commit", kind)
		return "", nil
	}
	if err == nil && tip != "" {
		check, err := a.store.Verify(a.ctx, []plan.OID{tip}, func(done, of int) {
			a.progress("%s: object %d of %d", a.id, done, of)
		})
		if err != nil {
			return "", err
		}
		if check.Sound() {
			return tip, a.checkPromisors(check, ref)
		}
	}
	if a.ctx.Err() != nil {
		return "", a.ctx.Err()
	}
	a.progress("%s: damaged; looking how far it can be read", a.id)
	d, err := a.store.Salvage(a.ctx, ref)
	if err != nil {
		return "", err
	}
	if d != nil { // else it has been mended meanwhile
		a.reportDamage(d)
		tip = d.Sound
	}
	return tip, nil
}

// checkPromisors asks, where objects were left with a remote, whether that still gives them.
func (a *auditor) checkPromisors(check *gitstore.Check, ref string) error {
	if check.Absent == 0 {
		return nil
	}
	remote, err := a.store.Unreachable(a.ctx)
	if err != nil {
		a.report("promisor", ref, "git fetch "+shell.Word(remote),
			"%s of it are with %s alone, which does not answer: %v",
			plain.Count(check.Absent, "object"), remote, err)
	}
	return a.ctx.Err()
}

// reportDamage reports what is damaged, and the way back to what is not.
func (a *auditor) reportDamage(d *gitstore.Damage) {
	what := "the ref itself holds nonsense"
	switch {
	case len(d.Bad) == 0 && d.Tip != "":
		what = "an object is missing or damaged" // of a partial clone, which names it only by fetching it
	case len(d.Bad) > 0:
		what = fmt.Sprintf("%s missing or damaged (%.12s", plain.Count(len(d.Bad), "object"), d.Bad[0])
		if len(d.Bad) > 1 {
			what += ", ..."
		}
		what += ")"
	}
	if d.Sound == "" {
		a.report("damaged", d.Ref, a.recoverCommand(d), "%s, and no commit of it is whole; a remote or another "+
			"clone may have it", what)
		return
	}
	lost := "; nothing after it can be read"
	if d.After > 0 {
		lost = fmt.Sprintf("; %s after it", plain.Count(d.After, "event"))
	}
	a.report("damaged", d.Ref, a.recoverCommand(d), "%s; the newest sound commit is %.12s (%s)%s", what, d.Sound,
		d.Subject, lost)
}

// recoverCommand is the command that moves a ref to its newest sound commit, and keeps what it held under another
// name where there is something to keep. A ref that git can't even read has to make room first.
func (a *auditor) recoverCommand(d *gitstore.Damage) string {
	var steps []string
	if d.TipHere {
		steps = append(steps, keepCommand(d.Ref, d.Tip))
	}
	if d.Tip == "" {
		steps = append(steps, "rm "+shell.Word(a.store.CommonDir()+"/"+d.Ref))
	}
	switch {
	case d.Sound != "":
		steps = append(steps, withoutHooks(strings.TrimSpace(fmt.Sprintf(
			"git update-ref --no-deref --create-reflog %s %s %s", shell.Word(d.Ref), d.Sound, d.Tip))))
	case d.Tip != "":
		steps = append(steps, withoutHooks(deleteCommand(d.Ref, d.Tip)))
	}
	return strings.Join(steps, " && ")
}

// damagedRefs is where repairs keep what they give up.
const damagedRefs = "refs/workflow-damaged/"

// keepCommand is the command that keeps a commit under another name.
func keepCommand(ref string, tip plan.OID) string {
	name := strings.TrimPrefix(ref, "refs/workflow/")
	return fmt.Sprintf("git update-ref %s %s", shell.Word(fmt.Sprintf("%s%s/%.12s", damagedRefs, name, tip)), tip)
}

func deleteCommand(ref string, held plan.OID) string {
	return strings.TrimSpace("git update-ref --no-deref -d " + shell.Word(ref) + " " + string(held))
}

// back marks a repair as a way back to before a commit; setWayBack turns it into a command.
const back = "back to before "

// goBack is the repair for what a commit did wrong. Nothing can be taken out of a history, so the
// plan's ref has to go back to before that commit.
func (a *auditor) goBack(commit plan.OID) string {
	if a.tip == "" {
		return ""
	}
	return back + string(commit)
}

// goBackTo is goBack to before the commit that last changed a path of the newest tree. Which one that is takes git to
// find, and is only looked for if it matters.
func (a *auditor) goBackTo(path string) string {
	if a.tip == "" {
		return ""
	}
	return back + lastChange + path
}

const lastChange = "the last change of "

// lastToChange is the commit that last changed a path of the newest tree, "" if none is found.
func (a *auditor) lastToChange(path string) string {
	commit, err := a.store.Git(a.ctx, "--no-literal-pathspecs", "-c", "log.showSignature=false", "log", "-1",
		"--no-color", "--no-notes", "--format=%H", "--end-of-options", string(a.tip), "--", ":(top,literal)"+path)
	if err != nil {
		return ""
	}
	return commit
}

// markIllegal is goBack for a commit that is not a legal event.
func (a *auditor) markIllegal(commit plan.OID) string {
	if a.tip == "" {
		return ""
	}
	if a.illegal == nil {
		a.illegal = map[plan.OID]bool{}
	}
	a.illegal[commit] = true
	return a.goBack(commit)
}

// setWayBack combines all ways back into one command: back to before the first commit that did
// something wrong. That drops what came after it, so the newest commit is kept under another name.
func (a *auditor) setWayBack() error {
	first, err := a.firstCulprit()
	if err != nil {
		return err
	}
	command := ""
	if first != "" {
		ref := gitstore.RefName(a.id)
		command = keepCommand(ref, a.tip) + " && "
		parent, err := a.store.Git(a.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(first)+"^1")
		if err != nil || a.cut[first] {
			command += withoutHooks(deleteCommand(ref, a.tip))
		} else {
			command += withoutHooks(fmt.Sprintf("git update-ref --no-deref %s %s %s", shell.Word(ref), parent, a.tip))
		}
	}
	for i := range a.findings {
		if strings.HasPrefix(a.findings[i].Mend, back) {
			a.findings[i].Mend = command
		}
	}
	return a.ctx.Err()
}

// firstCulprit is the earliest of the commits to before which findings want to go back.
func (a *auditor) firstCulprit() (plan.OID, error) {
	culprits := map[string]bool{}
	for commit := range a.illegal {
		culprits[string(commit)] = true // whose records are wrong because of it
	}
	for _, f := range a.findings {
		commit, ok := strings.CutPrefix(f.Mend, back)
		if !ok || len(a.illegal) > 0 {
			continue
		}
		if path, changed := strings.CutPrefix(commit, lastChange); changed {
			commit = a.lastToChange(path)
		}
		culprits[commit] = true
	}
	if len(culprits) == 0 {
		return "", nil
	}
	out, err := a.store.Git(a.ctx, "rev-list", "--topo-order", "--reverse", "--parents", string(a.tip))
	if err != nil {
		return "", fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	before := map[string]string{}
	for line := range strings.Lines(out) {
		f := append(strings.Fields(line), "")
		before[f[0]] = f[1]
		culprits[f[0]] = slices.ContainsFunc(f, func(oid string) bool { return culprits[oid] }) // and what follows
	}
	var first plan.OID
	for c := string(a.tip); culprits[c]; c = before[c] {
		first = plan.OID(c)
	}
	return first, nil
}

// withoutHooks lets a command of git's pass the hooks: strict mode lets no plan's ref go back.
func withoutHooks(command string) string {
	return "git -c core.hooksPath=/dev/null " + strings.TrimPrefix(command, "git ")
}

// History audits the policy's ref as Plan does a plan's, and that its changes are by who may make them.
func History(ctx context.Context, store *gitstore.Store, o Options) ([]Finding, error) {
	a := auditor{ctx: ctx, store: store, id: policyID, options: o}
	if _, exists, err := store.HeldBy(ctx, gitstore.PolicyRef); err != nil || !exists {
		return nil, err
	}
	tip, err := a.newestSound(gitstore.PolicyRef)
	if err != nil || tip == "" || len(a.findings) > 0 {
		return nameless(a.findings), err
	}
	b := auditor{ctx: ctx, store: store, id: policyID, options: o, tip: tip}
	if err := b.history(string(tip)); err != nil {
		return nil, err
	}
	_, err = store.PolicyAt(ctx, string(tip))
	if gitstore.IsAbsent(err) || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if err != nil {
		b.report("bad-policy", policyFile, b.goBackTo(policyFile), "%v", err)
		return nameless(b.findings), b.setWayBack()
	}
	more, err := PolicyMove(ctx, store, "", tip)
	if err != nil {
		return nil, err
	}
	for _, f := range more {
		b.policyFinding(f)
	}
	return nameless(b.findings), b.setWayBack()
}

// policyID stands for the policy where a history has a plan's id.
const policyID plan.ID = "policy"

// policyFinding adds a finding of PolicyMove with the way back.
func (a *auditor) policyFinding(f Finding) {
	if f.Code == codeUnguarded { // mended by a further change, not by going back
		a.findings = append(a.findings, f)
		return
	}
	at, _, _ := strings.Cut(f.Place, ":")
	if commit, err := a.store.Git(a.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		at+"^{commit}"); err == nil && commit != "" {
		f.Mend = a.goBack(plan.OID(commit))
	} else if mend := a.goBackTo(policyFile); mend != "" {
		f.Mend = mend
	}
	a.findings = append(a.findings, f)
}

func nameless(findings []Finding) []Finding {
	for i := range findings {
		findings[i].PlanID = ""
	}
	return findings
}
