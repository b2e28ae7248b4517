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

// A good SSH signature stays good as long as the keys stay the same. So the common git directory caches it in
// wf/cache/signatures-<hash of the keys>, as a line "<commit> <fingerprint>". Nothing is cached for GPG, whose keyring
// may change, nor for signatures that are not good, which may only lack a program. Anybody who can write there can
// write the hooks too; a client can't reach a server's.

// mostKnown bounds what we read of such a file, in bytes.
const mostKnown = 64 << 20

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) signatureFile(r *keyring) string {
	return filepath.Join(s.commonDir, "wf", "cache", "signatures-"+r.id)
}

// knownSignatures returns the fingerprint of the key that signed each commit, as far as cached.
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

// keepSignatures adds to the file. A failure, as in a read-only repository, is no error.
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
	_, _ = f.WriteString(b.String()) // readers skip half a line
}
