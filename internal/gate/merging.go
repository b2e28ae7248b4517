package gate

import (
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var gitHead = pattern.Compile(`^GITHEAD_([0-9a-f]{40})=`)

// Merging are the commits that are being merged. Before a merge that went well is committed git has not written
// MERGE_HEAD yet, but names each side in the environment.
func (g *Gate) Merging(hook string, environ []string) []plan.OID {
	var heads []plan.OID
	if hook == "pre-merge-commit" {
		for _, kv := range environ {
			if m := gitHead.Get().FindStringSubmatch(kv); m != nil {
				heads = append(heads, plan.OID(m[1]))
			}
		}
		return heads
	}
	data, err := os.ReadFile(filepath.Join(g.store.GitDir(), "MERGE_HEAD"))
	if err != nil {
		return nil
	}
	for _, oid := range strings.Fields(string(data)) {
		heads = append(heads, plan.OID(oid))
	}
	return heads
}

// Unfinished is the command that gives up what git is in the middle of; "" if that is nothing.
func Unfinished(gitDir string) string {
	for _, state := range [][2]string{
		{"MERGE_HEAD", "git merge --abort"},
		{"rebase-merge", "git rebase --abort"},
		{"rebase-apply/applying", "git am --abort"},
		{"rebase-apply", "git rebase --abort"},
		{"CHERRY_PICK_HEAD", "git cherry-pick --abort"},
		{"REVERT_HEAD", "git revert --abort"},
	} {
		if _, err := os.Stat(filepath.Join(gitDir, state[0])); err == nil {
			return state[1]
		}
	}
	return ""
}
