package gitstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Signature says who signed a commit, judged by a set of keys.
type Signature struct {
	Signer  string // the name of the key; "" if none of the keys proves the commit
	Problem string // why none does, in a few words
}

// Signatures asks git who signed each of the commits. Only the given keys count, whatever the user's own configuration
// trusts: an SSH signature must be by one of them at the commit's time, a GPG signature by one with its fingerprint
// that the user's gpg finds good. A signature that can't be checked proves nothing.
func (s *Store) Signatures(ctx context.Context, keys []policy.Key, commits []plan.OID) (map[plan.OID]Signature, error) {
	ring, err := newKeyring(keys)
	if err != nil {
		return nil, err
	}
	known := s.knownSignatures(ring)
	found := make(map[plan.OID]Signature, len(commits))
	var ask []plan.OID
	for _, c := range commits {
		if fpr := known[c]; fpr != "" {
			found[c] = Signature{Signer: ring.names[fpr]}
		} else if _, twice := found[c]; !twice {
			found[c] = Signature{Problem: "it is not here"}
			ask = append(ask, c)
		}
	}
	if ask, err = s.withSignature(ctx, ask, found); err != nil || len(ask) == 0 {
		return found, err
	}
	return found, s.checkSignatures(ctx, ring, ask, found)
}

// withSignature returns the commits that have a signature; the others are unsigned, without asking git.
func (s *Store) withSignature(ctx context.Context, commits []plan.OID, found map[plan.OID]Signature) (signed []plan.OID,
	err error) {
	if err := allOIDs(commits); err != nil {
		return nil, err
	}
	err = s.objects.each(ctx, namesOf(commits), func(i int, o object) error {
		if o.Kind != "commit" {
			return nil
		}
		head, _, _ := bytes.Cut(o.Data, []byte("\n\n"))
		if !bytes.Contains(head, []byte("\ngpgsig ")) {
			found[commits[i]] = Signature{Problem: "it is not signed"}
			return nil
		}
		signed = append(signed, commits[i])
		return nil
	})
	return signed, err
}

// checkSignatures has git check the signatures in one process per processor: for each signature git runs ssh-keygen or
// gpg two or three times, one after the other.
func (s *Store) checkSignatures(ctx context.Context, ring *keyring, commits []plan.OID,
	found map[plan.OID]Signature) error {
	const least = 8 // from which another process pays off
	signers, err := ring.writeSigners()
	if err != nil {
		return err
	}
	defer os.Remove(signers)
	parts := min(runtime.NumCPU(), (len(commits)+least-1)/least)
	var (
		wg   sync.WaitGroup
		outs = make([][]byte, parts)
		errs = make([]error, parts)
		said = make([]string, parts)
	)
	for i, part := range slices.Collect(slices.Chunk(commits, (len(commits)+parts-1)/parts)) {
		wg.Go(func() { outs[i], said[i], errs[i] = s.askSignatures(ctx, signers, part) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("check signatures: %w", err)
	}
	good := map[plan.OID]string{}
	for i, out := range outs {
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
			if len(f) != 4 {
				return fmt.Errorf("check signatures: git printed %q", line)
			}
			commit := plan.OID(f[0])
			fpr, sig := ring.judgeSignature(f[1], f[2], f[3], said[i])
			found[commit] = sig
			if strings.HasPrefix(fpr, "SHA256:") {
				good[commit] = fpr
			}
		}
	}
	s.keepSignatures(ring, good)
	return nil
}

// askSignatures returns git's findings: a line "<commit> <verdict> <fingerprint> <primary key's fingerprint>" for each
// commit. said is the first line of git's standard error, for example that the checking program is missing.
func (s *Store) askSignatures(ctx context.Context, signers string, commits []plan.OID) (out []byte, said string,
	err error) {
	out, said, err = runGitSaying(ctx, Invocation{
		Dir: s.dir, Stdin: lines(commits),
		Args: []string{
			"-c", "log.showSignature=false", "-c", "gpg.ssh.allowedSignersFile=" + signers,
			"log", "--no-walk=unsorted", "--stdin", "--no-color", "--no-notes", "--no-patch", "--format=%H %G? %GF %GP",
		},
	})
	said, _, _ = strings.Cut(said, "\n")
	return out, plain.Line(said), err
}

// keyring is a set of keys, by fingerprint.
type keyring struct {
	names   map[string]string // the owner of each key
	signers string            // the SSH keys, as an allowed-signers file
	id      string            // changes with any key or name
}

func newKeyring(keys []policy.Key) (*keyring, error) {
	r := &keyring{names: map[string]string{}}
	var lines, all strings.Builder
	for i, k := range keys {
		fpr, err := k.Fingerprint()
		if err != nil {
			return nil, fmt.Errorf("key of %s: %w", k.Name, err)
		}
		r.names[fpr] = k.Name
		fmt.Fprintf(&all, "%q %s", k.Name, fpr)
		if k.SSH != "" {
			line, err := k.AllowedSigner(fmt.Sprintf("key-%d", i+1))
			if err != nil {
				return nil, fmt.Errorf("key of %s: %w", k.Name, err)
			}
			fmt.Fprintln(&lines, line)
			all.WriteString(" " + line)
		}
		all.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(all.String()))
	r.signers, r.id = lines.String(), hex.EncodeToString(sum[:12])
	return r, nil
}

// writeSigners writes the SSH keys where git can read them. The caller removes the file.
func (r *keyring) writeSigners() (string, error) {
	f, err := os.CreateTemp("", "git-wf-signers-")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(r.signers)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// judgeSignature says whose a signature is, from git's verdict and the fingerprints of the signing key and its
// primary key. A key counts by its fingerprint, never by the name in a signature. An expired GPG key counts as long
// as the policy has it: earlier signatures keep their worth. A revoked key does not count.
func (r *keyring) judgeSignature(verdict, fpr, primary, said string) (string, Signature) {
	name := r.names[fpr]
	if name == "" && primary != "" {
		name = r.names[primary]
	}
	ssh := strings.HasPrefix(fpr, "SHA256:")
	switch {
	case verdict == "B" && fpr == "" && said != "":
		return "", Signature{Problem: "its signature can't be checked: " + said}
	case verdict == "B":
		return "", Signature{Problem: "its signature is not of this commit"}
	case verdict == "E":
		return "", Signature{Problem: "its signature can't be checked: gpg does not have the key"}
	case verdict == "R":
		return "", Signature{Problem: "its key was revoked"}
	case ssh && name != "" && verdict != "G":
		return "", Signature{Problem: "the key of " + name + " was not valid when it was signed"}
	case fpr == "":
		return "", Signature{Problem: "its signature can't be checked"}
	case name == "":
		return "", Signature{Problem: "its key " + fpr + " is not in the policy"}
	case ssh, strings.Contains("GUXY", verdict):
		return fpr, Signature{Signer: name}
	}
	return "", Signature{Problem: "git says " + verdict + " of its signature"}
}

// A good SSH signature stays good as long as the keys stay the same. So the common git directory caches, in
// wf/cache/signatures-<hash of the keys>, the fingerprint of the key that signed each commit. Nothing is cached for
// GPG, whose keyring may change, nor for signatures that are not good, which may only lack a program. Anybody who
// can write there can write the hooks too; a client can't reach a server's.

// knownSignatures returns the fingerprint of the key that signed each commit, as far as cached.
func (s *Store) knownSignatures(r *keyring) map[plan.OID]string {
	var known map[plan.OID]string
	if !s.ReadCache("signatures-"+r.id, &known) {
		return map[plan.OID]string{}
	}
	maps.DeleteFunc(known, func(_ plan.OID, fpr string) bool { return r.names[fpr] == "" })
	return known
}

// keepSignatures adds to the file. What another process adds at the same time is only asked for again.
func (s *Store) keepSignatures(r *keyring, good map[plan.OID]string) {
	if len(good) > 0 {
		known := s.knownSignatures(r)
		maps.Copy(known, good)
		s.WriteCache("signatures-"+r.id, known)
	}
}
