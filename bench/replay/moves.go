package main

import (
	"regexp"
	"slices"
	"strings"
)

// kind is what a move does that nobody should do.
type kind string

const (
	skipped   kind = "to VERIFIED, and was not DONE"
	changed   kind = "acceptance changed"
	dropped   kind = "task dropped"
	undone    kind = "taken back, and no review said so"
	retitled  kind = "title changed"
	rewritten kind = "evidence of VERIFIED rewritten"
)

// wrong are the kinds in the order in which they are shown.
var wrong = []kind{skipped, changed, dropped, undone, retitled, rewritten}

// move is how one task changed from one version of a plan to the next.
type move struct {
	kind          kind
	before, after task
	from, to      devPlan
}

// counts is what a history has.
type counts struct {
	plans, runs, pairs int
	toVerified         int
	commands, begun    int            // of changed acceptances: their commands differ; work had begun
	status             map[string]int // "DOING > DONE"
	moves              []move
}

var command = regexp.MustCompile("`[^`]*`")

// count compares each version with the next of the same run.
func count(plans []devPlan) counts {
	c := counts{plans: len(plans), status: map[string]int{}}
	for i, to := range plans {
		if i == 0 || plans[i-1].run != to.run {
			c.runs++
			continue
		}
		c.pairs++
		for _, m := range between(plans[i-1], to) {
			if m.kind != "" {
				c.moves = append(c.moves, m)
			}
			if m.kind == changed {
				if !slices.Equal(command.FindAllString(m.before.acceptance, -1), command.FindAllString(m.after.acceptance, -1)) {
					c.commands++
				}
				if m.before.status != todo {
					c.begun++
				}
			}
		}
		for _, before := range plans[i-1].tasks {
			after, ok := to.of(before.id)
			if !ok || after.status == before.status {
				continue
			}
			c.status[before.status+" > "+after.status]++
			if after.status == verified {
				c.toVerified++
			}
		}
	}
	return c
}

// between are the moves from one version to the next that nobody should make.
func between(from, to devPlan) (all []move) {
	for _, before := range from.tasks {
		after, ok := to.of(before.id)
		add := func(k kind, is bool) {
			if is {
				all = append(all, move{k, before, after, from, to})
			}
		}
		if !ok {
			add(dropped, true)
			continue
		}
		add(skipped, after.status == verified && before.status != verified && before.status != done)
		add(changed, after.acceptance != before.acceptance)
		add(undone, (before.status == done || before.status == verified) &&
			(after.status == todo || after.status == doing || after.status == blocked) &&
			!strings.Contains(added(before.evidence, after.evidence), "REVIEW"))
		add(retitled, after.title != before.title)
		add(rewritten, before.status == verified && after.status == verified && after.evidence != before.evidence)
	}
	return all
}

// added are the lines of a text that another does not have.
func added(before, after string) string {
	had := strings.Split(before, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool {
		return slices.Contains(had, line)
	}), "\n")
}
