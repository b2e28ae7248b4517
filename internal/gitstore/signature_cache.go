package gitstore

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"

	"gitwf/internal/plan"
)

// A good SSH signature stays good as long as the keys stay the same. So the common git directory caches, in
// wf/cache/signatures-<hash of the keys>, the fingerprint of the key that signed each commit. Nothing is cached for GPG,
// whose keyring may change, nor for signatures that are not good, which may only lack a program. Anybody who can write
// there can write the hooks too; a client can't reach a server's.

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) signatureFile(r *keyring) string {
	return filepath.Join(s.commonDir, "wf", "cache", "signatures-"+r.id)
}

// knownSignatures returns the fingerprint of the key that signed each commit, as far as cached.
func (s *Store) knownSignatures(r *keyring) map[plan.OID]string {
	var known map[plan.OID]string
	if !readCacheFile(s.signatureFile(r), &known) {
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
		_ = writeCacheFile(s.signatureFile(r), known)
	}
}
