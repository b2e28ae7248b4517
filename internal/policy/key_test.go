package policy

import (
	"strings"
	"testing"

	"gitwf/internal/plan"
)

const (
	annKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK6PQKtVqfpXLt17URVafiL+r/6DJ8BiJj6RuIalhEmO"
	annFpr = "SHA256:GAoXyNsnxUCGJufaqHm1o6GStj7+/2gjlBn8JZmBqP4" // as ssh-keygen -l prints it
)

func TestKey(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"a public key", annKey, `p namespaces="git" ` + annKey},
		{"with a comment", annKey + " ann@host", `p namespaces="git" ` + annKey},
		{"a line of allowed signers", "ann@example.com " + annKey, `p namespaces="git" ` + annKey},
		{"a wildcard for a principal", "* " + annKey, `p namespaces="git" ` + annKey},
		{"options", `ann namespaces="git,file",valid-before="20300101" ` + annKey,
			`p namespaces="git",valid-before="20300101" ` + annKey},
		{"for files alone", `ann namespaces="file" ` + annKey, "is not for git"},
		{"an authority", "* cert-authority " + annKey, `has the option "cert-authority"`},
		{"an unknown option", `ann touch-required ` + annKey, `has the option "touch-required"`},
		{"an option left open", `ann valid-before="2030 ` + annKey, "has options that can't be read"},
		{"a certificate", strings.Replace(annKey, "ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com", 1), "is no SSH key"},
		{"the kind of another key", strings.Replace(annKey, "ssh-ed25519", "ssh-rsa", 1), "is no SSH key"},
		{"cut off", annKey[:44], "is no SSH key"},
		{"a name too many", "ann a b " + annKey, "is no SSH key"},
		{"an option of ssh-keygen", "-O hashalg=sha1", "is no SSH key"},
		{"too long", annKey + strings.Repeat(" ", maxKey), "is no SSH key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := Key{Name: "ann", SSH: tt.line}
			got, err := k.AllowedSigner("p")
			if err != nil {
				got = err.Error()
			} else if fpr, err := k.Fingerprint(); fpr != annFpr || err != nil {
				t.Errorf("fingerprint %s %v", fpr, err)
			}
			if !strings.HasPrefix(got, tt.want) || err == nil && got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestVouches(t *testing.T) {
	p := Policy{Keys: []Key{{Name: "ann"}, {Name: "bob"}}}
	agent := func(name string) plan.Actor { return plan.Actor{Name: name, Email: name + "@agents.git-wf.invalid"} }
	person := func(name string) plan.Actor { return plan.Actor{Name: name, Email: name + "@x"} }
	tests := []struct {
		name             string
		signer, reviewer string
		author           plan.Actor
		want             bool
	}{
		{"their own", "ann", "ann", person("ann"), true},
		{"unsigned", "", "ann", person("ann"), false},
		{"unsigned and unnamed", "", "", plan.Actor{}, false},
		{"of somebody else", "ann", "bob", person("bob"), false},
		{"of somebody without a key", "ann", "carl", person("carl"), false},
		{"of the engine", "ann", plan.ReviewerChecks, agent(plan.ReviewerChecks), true},
		{"of the engine after a person's waiver", "ann", plan.ReviewerChecks, person("ann"), true},
		{"of an agent", "bob", "critic", agent("critic"), true},
		{"of an agent that another recorded", "bob", "critic", agent("exec"), false},
		{"of an agent under a person's name", "bob", "ann", agent("ann"), false},
		{"of the engine, unsigned", "", plan.ReviewerChecks, agent(plan.ReviewerChecks), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.Vouches(tt.signer, tt.reviewer, tt.author); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestMayChange(t *testing.T) {
	keys := []Key{{Name: "ann"}, {Name: "bob"}}
	tests := []struct {
		name              string
		policy            Policy
		committer, signer string
		want              string
	}{
		{"no maintainers", Policy{Keys: keys}, "carl", "", ""},
		{"a maintainer", Policy{Keys: keys, Maintainers: []string{"ann"}}, "x", "ann", ""},
		{"a maintainer's name alone", Policy{Keys: keys, Maintainers: []string{"ann"}}, "ann", "",
			"is signed with no key of it"},
		{"another key", Policy{Keys: keys, Maintainers: []string{"ann"}}, "ann", "bob",
			"bob, who signed the change, is none of them"},
		{"no keys", Policy{Maintainers: []string{"ann"}}, "ann", "", ""},
		{"no keys, another name", Policy{Maintainers: []string{"ann"}}, "bob", "", "by name, which nothing proves"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.MayChange(tt.committer, tt.signer); !strings.Contains(got, tt.want) ||
				(got == "") != (tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzKey(f *testing.F) {
	f.Add(annKey)
	f.Add(`ann namespaces="git",valid-after="20200101" ` + annKey + " c")
	f.Fuzz(func(t *testing.T, line string) {
		k := Key{Name: "ann", SSH: line}
		signer, err := k.AllowedSigner("p")
		if err != nil {
			return
		}
		if strings.ContainsAny(signer, "\n\r\x00") || !strings.HasPrefix(signer, `p namespaces="git"`) {
			t.Errorf("%q made %q", line, signer)
		}
		again, err := Key{Name: "ann", SSH: signer}.AllowedSigner("p")
		if err != nil || again != signer {
			t.Errorf("%q does not read back: %q %v", signer, again, err)
		}
	})
}
