package gitstore

import (
	"os"
	"path/filepath"

	"gitwf/internal/plan"
)

// Pulse is something that changes when a plan's history or its claims do. Two that are equal do not prove that nothing
// happened: file systems keep time in steps, and what happens within one of them may not show.
type Pulse [4]stamp

// stamp is what a file's status says of its content.
type stamp struct{ modified, size int64 }

// Pulse looks at a few files and at no object: it may be asked several times a second. Look at it before the plan is
// read, so that what changes meanwhile is not missed.
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
