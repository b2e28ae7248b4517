package gitstore

import (
	"os"
	"path/filepath"

	"gitwf/internal/plan"
)

// Pulse changes when a plan's history or its claims do. Equal pulses do not prove that nothing happened: file systems
// have coarse timestamps, which may hide a quick change.
type Pulse [4]stamp

// stamp is what stat says about a file's content.
type stamp struct{ modified, size int64 }

// Pulse looks at a few files and at no object, so you may call it several times a second. Call it before you read the
// plan, so as not to miss a change in between.
func (s *Store) Pulse(id plan.ID) (p Pulse) {
	if !id.Valid() {
		return p
	}
	for i, name := range [...]string{
		planRefs + string(id),
		claimRefs + string(id), // the directory changes with each claim in it
		"packed-refs",
		"reftable/tables.list",
	} {
		if st, err := os.Stat(filepath.Join(s.commonDir, filepath.FromSlash(name))); err == nil {
			p[i] = stamp{st.ModTime().UnixNano(), st.Size()}
		}
	}
	return p
}
