package policy

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// maxKey bounds a key's line, in bytes: the longest RSA key that anybody uses is a quarter of it.
const maxKey = 16 << 10

const sshTime = `[0-9]{8}(?:[0-9]{4}|[0-9]{6})?Z?`

var (
	sshKind        = pattern.Compile(`^(ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9-]+(@openssh\.com)?$`)
	sshOptions     = pattern.Compile(`[a-z-]+(?:="[^"]*")?(?:,|$)`)
	sshOption      = pattern.Compile(`^(?:namespaces="([a-z@.,-]+)"|valid-(?:after|before)="` + sshTime + `")$`)
	gpgFingerprint = pattern.Compile(`^(?:[0-9A-F]{40}|[0-9A-F]{64})$`)
)

// Fingerprint names the key as git does when it has checked a signature: "SHA256:..." for SSH, upper-case hex digits
// for GPG. It fails if the key is no key.
func (k Key) Fingerprint() (string, error) {
	switch {
	case (k.SSH == "") == (k.GPG == ""):
		return "", errors.New("needs either ssh or gpg")
	case k.GPG != "":
		fpr := strings.ToUpper(strings.ReplaceAll(k.GPG, " ", ""))
		if !gpgFingerprint.Get().MatchString(fpr) {
			return "", errors.New("is no GPG fingerprint: 40 hex digits, as gpg --fingerprint prints them")
		}
		return fpr, nil
	}
	l, err := parseSigner(k.SSH)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(l.blob)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), nil
}

// AllowedSigner is the key as a line of an SSH allowed-signers file, for signatures by git alone. Nothing of the line
// is taken over as it stands: the policy may have come from anywhere.
func (k Key) AllowedSigner(principal string) (string, error) {
	l, err := parseSigner(k.SSH)
	if err != nil {
		return "", err
	}
	options := strings.Join(append([]string{`namespaces="git"`}, l.validity...), ",")
	return fmt.Sprintf("%s %s %s %s", principal, options, l.kind, base64.StdEncoding.EncodeToString(l.blob)), nil
}

// signer is what a line of an allowed-signers file, or of a public key's file, says of the key.
type signer struct {
	kind     string
	blob     []byte
	validity []string // valid-after and valid-before
}

// parseSigner reads "[principals [options]] kind key [comment]".
func parseSigner(line string) (signer, error) {
	bad := errors.New("is no SSH key: a line such as \"ssh-ed25519 AAAA...\"")
	if len(line) > maxKey {
		return signer{}, bad
	}
	f := strings.Fields(line)
	at := slices.IndexFunc(f, sshKind.Get().MatchString)
	if at < 0 || at > 2 || at+1 >= len(f) || strings.Contains(f[at], "-cert-") {
		return signer{}, bad
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(f[at+1])
	if err != nil || !isKeyBlob(blob, f[at]) {
		return signer{}, bad
	}
	l := signer{kind: f[at], blob: blob}
	if at < 2 {
		return l, nil
	}
	if strings.Join(sshOptions.Get().FindAllString(f[1], -1), "") != f[1] {
		return signer{}, fmt.Errorf("has options that can't be read: %q", f[1])
	}
	for _, o := range sshOptions.Get().FindAllString(f[1], -1) {
		o = strings.TrimSuffix(o, ",")
		m := sshOption.Get().FindStringSubmatch(o)
		switch {
		case m == nil:
			return signer{}, fmt.Errorf("has the option %q; namespaces, valid-after and valid-before are understood", o)
		case m[1] == "":
			l.validity = append(l.validity, o)
		case !slices.Contains(strings.Split(m[1], ","), "git"):
			return signer{}, errors.New("is not for git: its namespaces leave git out")
		}
	}
	return l, nil
}

// isKeyBlob reports whether bytes are a key of this kind: fields, each after its length, the first being the kind.
func isKeyBlob(blob []byte, kind string) bool {
	if len(blob) > maxKey {
		return false
	}
	for first := true; len(blob) > 0; first = false {
		if len(blob) < 4 {
			return false
		}
		n := uint64(binary.BigEndian.Uint32(blob))
		if blob = blob[4:]; n > uint64(len(blob)) || first && string(blob[:n]) != kind {
			return false
		}
		blob = blob[n:]
	}
	return true
}

// checkKeys finds what is wrong with the keys, and with maintainers whom no key proves.
func (p *Policy) checkKeys(bad func(code, where, text, found string)) {
	names, owner := map[string]bool{}, map[string]string{}
	for i, k := range p.Keys {
		where := fmt.Sprintf("keys[%d]", i)
		names[k.Name] = true
		if k.Name == "" || plain.Line(k.Name) != k.Name || strings.ContainsAny(k.SSH+k.GPG, "\n\r") {
			bad("bad-key", where, "needs a name and either ssh or gpg, each on one line", k.Name)
			continue
		}
		if k.Name == plan.ReviewerChecks || k.Name == plan.ReviewerPlan || k.Name == plan.ReviewerPerson {
			bad("bad-key", where, "has a name that stands for no person", k.Name)
		}
		fpr, err := k.Fingerprint()
		switch {
		case err != nil:
			bad("bad-key", where, err.Error(), k.Name)
		case owner[fpr] != "":
			bad("duplicate-key", where, "is a key that "+owner[fpr]+" has already: nobody could tell who signed",
				k.Name)
		default:
			owner[fpr] = k.Name
		}
	}
	for i, m := range p.Maintainers {
		if len(p.Keys) > 0 && !names[m] {
			bad("maintainer-without-key", fmt.Sprintf("maintainers[%d]", i), noKey, m)
		}
	}
}

// Unguarded reports whether the policy has keys but no maintainers who must sign its changes: anybody can then push a
// policy without keys, and every approval counts again.
func (p *Policy) Unguarded() bool { return len(p.Keys) > 0 && len(p.Maintainers) == 0 }

// hasKey reports whether the policy has a key of that name.
func (p *Policy) hasKey(name string) bool {
	return slices.ContainsFunc(p.Keys, func(k Key) bool { return k.Name == name })
}

// Recorder returns who owns an event, by its commit: the agent for an agent's work, whoever ran it; otherwise the
// committer, whatever name the author has.
func Recorder(author, committer plan.Actor) string {
	if author.IsAgent() {
		return author.Name
	}
	return committer.Name
}

// ReviewerOf returns the reviewer that the commit of an event with a review proves. A waiver renews the engine's own
// verdict.
func ReviewerOf(event string, author, committer plan.Actor) string {
	if event == plan.EventWaiver {
		return plan.ReviewerChecks
	}
	return Recorder(author, committer)
}

// Vouches reports whether a signature by the holder of a key makes a reviewer's approval count. A person signs their
// own. The engine and agents have no key: for them stands whoever ran them, and signed. What is under the name of
// somebody who has a key is never an agent's. A judge's verdicts are applied by
// the engine. The author is that of the commit that records the approval.
func (p *Policy) Vouches(signer, reviewer string, author plan.Actor) bool {
	if signer == "" || signer == reviewer {
		return signer != ""
	}
	program := reviewer == plan.ReviewerChecks || reviewer == plan.ReviewerPlan ||
		(author.Name == reviewer || author.Name == plan.ReviewerVerdicts) && author.IsAgent()
	return program && !p.hasKey(reviewer)
}

// MayChange says why somebody may not change the policy; "" if they may. signer is the owner of the key that signed the
// change, "" for none. Without keys the committer's name is all there is, and anybody can write that.
func (p *Policy) MayChange(committer, signer string) string {
	return p.mayOnly("only its maintainers may change the policy", "the change", p.Maintainers, committer, signer)
}

// mayOnly says why somebody is not on a list of who may do something; "" if they are, or if the list is empty.
func (p *Policy) mayOnly(rule, signed string, list []string, committer, signer string) string {
	names := strings.Join(list, ", ")
	switch {
	case len(list) == 0:
	case len(p.Keys) == 0 && !slices.Contains(list, committer):
		return fmt.Sprintf("%s (%s; by name, which nothing proves), and %s is none of them", rule, names, committer)
	case len(p.Keys) == 0:
	case signer == "":
		return fmt.Sprintf("%s (%s), and %s is signed with no key of it", rule, names, signed)
	case !slices.Contains(list, signer):
		return fmt.Sprintf("%s (%s), and %s, who signed %s, is none of them", rule, names, signer, signed)
	}
	return ""
}
