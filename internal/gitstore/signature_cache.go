package gitstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/plan"
)

// That an SSH signature is good stays true as long as the keys are the same, so it is kept in
// wf/cache/signatures-<hash of the keys> in the common git directory, a line "<commit> <fingerprint>" each. Nothing is
// kept of GPG, whose keyring may change, and nothing of what is not good, which may only lack a program. Who can write
// there can write the hooks too; a server's is out of a client's reach.

// mostKnown bounds what is read of such a file, in bytes.
const mostKnown = 64 << 20

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) signatureFile(r *keyring) string {
	return filepath.Join(s.commonDir, "wf", "cache", "signatures-"+r.id)
}

// knownSignatures returns the fingerprint of the key that signed each commit, as far as it was found out before.
func (s *Store) knownSignatures(r *keyring) map[plan.OID]string {
	known := map[plan.OID]string{}
	name := s.signatureFile(r)
	st, err := os.Stat(name)
	if err != nil || st.Size() > mostKnown {
		return known
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return known
	}
	for line := range strings.Lines(string(data)) {
		commit, fpr, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && isOID(plan.OID(commit)) && r.names[fpr] != "" && strings.HasSuffix(line, "\n") {
			known[plan.OID(commit)] = fpr
		}
	}
	return known
}

// keepSignatures adds to the file. It is no error if that fails, as it does in a repository that may only be read.
func (s *Store) keepSignatures(r *keyring, good map[plan.OID]string) {
	if len(good) == 0 {
		return
	}
	name := s.signatureFile(r)
	if os.MkdirAll(filepath.Dir(name), 0o777) != nil {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return
	}
	defer f.Close()
	var b strings.Builder
	for commit, fpr := range good {
		fmt.Fprintf(&b, "%s %s\n", commit, fpr)
	}
	_, _ = f.WriteString(b.String()) // half a line is no line
}
