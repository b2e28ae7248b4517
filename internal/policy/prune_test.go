package policy

import (
	"strings"
	"testing"
)

func TestWhoMayPrune(t *testing.T) {
	key := Key{Name: "ann"}
	tests := []struct {
		name              string
		policy            Policy
		committer, signer string
		want              string // part of the refusal, "" if they may
	}{
		{"no rules", Policy{}, "ann", "", ""},
		{"named", Policy{Prune: PruneRules{By: []string{"ann"}}}, "ann", "", ""},
		{"not named", Policy{Prune: PruneRules{By: []string{"ann"}}}, "bob", "", "bob is none of them"},
		{"keys", Policy{Keys: []Key{key}}, "ann", "", ""},
		{"signed", Policy{Keys: []Key{key}, Prune: PruneRules{By: []string{"ann"}}}, "bob", "ann", ""},
		{"not signed", Policy{Keys: []Key{key}, Prune: PruneRules{By: []string{"ann"}}}, "ann", "", "signed with no key"},
		{"signed by another", Policy{Keys: []Key{key}, Prune: PruneRules{By: []string{"ann"}}}, "ann", "bob",
			"bob, who signed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.MayPrune(tt.committer, tt.signer); (got == "") != (tt.want == "") ||
				!strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	bad := Policy{Keys: []Key{key}, Prune: PruneRules{Keep: -1, By: []string{"bob"}}}
	var codes []string
	for _, f := range bad.Check() {
		codes = append(codes, f.Code)
	}
	if all := strings.Join(codes, " "); !strings.Contains(all, "bad-number") ||
		!strings.Contains(all, "pruner-without-key") {
		t.Errorf("found %s", all)
	}
	if text := string(Encode(&Policy{})); strings.Contains(text, "prune") {
		t.Errorf("a policy without rules about prunes is not written as before: %s", text)
	}
}
