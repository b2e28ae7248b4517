package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// partial describes a partial clone, which leaves objects with a remote until something asks for them. Git then fetches
// them one at a time; the functions here fetch what will be needed together.
type partial struct {
	once    sync.Once
	remotes []string // those that keep objects for this clone; empty in a full clone

	reach     sync.Once
	reachable error // why none of them answers

	mu   sync.Mutex
	read map[plan.OID]bool // trees whose documents are here
}

// promisors returns the remotes that keep objects for this clone. The packs tell one that was never partial.
func (s *Store) promisors(ctx context.Context) []string {
	p := &s.partial
	p.once.Do(func() {
		if packs, err := filepath.Glob(filepath.Join(s.objectDir, "pack", "*.promisor")); err != nil ||
			len(packs) == 0 {
			return
		}
		all, err := s.configuration(ctx)
		if err != nil {
			return
		}
		for _, kv := range all {
			p.readSetting(kv[0], kv[1])
		}
	})
	return p.remotes
}

// Partial reports whether this clone has left objects with a remote.
func (s *Store) Partial(ctx context.Context) bool {
	return s.Works == "" && len(s.promisors(ctx)) > 0 // a worker's has all documents
}

// readSetting reads one setting.
func (p *partial) readSetting(key, value string) {
	remote := value
	if key != "extensions.partialclone" {
		name, isRemote := strings.CutPrefix(key, "remote.")
		dot := max(0, strings.LastIndexByte(name, '.'))
		if !isRemote || name[dot:] != ".partialclonefilter" && name[dot:] != ".promisor" {
			return
		}
		remote = name[:dot]
	}
	switchedOff := strings.HasSuffix(key, ".promisor") && value == "false"
	if remote != "" && !switchedOff && !slices.Contains(p.remotes, remote) {
		p.remotes = append(p.remotes, remote)
	}
}

// Prefetch makes sure that a partial clone has these objects, with one fetch for all missing ones. In a full clone it
// does nothing. It fails with an *AbsentError if no remote that should have them delivers them.
func (s *Store) Prefetch(ctx context.Context, oids []plan.OID) error {
	if len(oids) < 2 || !s.Partial(ctx) { // git fetches a single one by itself
		return nil
	}
	// Unlike cat-file, rev-list can be told to fetch nothing in every version of git: it skips missing objects.
	out, err := runGit(ctx, Invocation{Dir: s.dir, Stdin: lines(oids), Args: []string{
		"rev-list", "--objects", "--no-object-names", "--no-walk", "--ignore-missing", "--missing=allow-any", "--stdin",
	}})
	if err != nil {
		return err
	}
	here := each.Set(strings.Fields(string(out)), func(oid string) string { return oid })
	return s.fetchObjects(ctx, slices.DeleteFunc(namesOf(oids), func(oid string) bool { return here[oid] }))
}

// prefetchDocuments makes sure that all documents of a plan's tree are here. A reader of one soon reads more, and they
// are small next to the deliverables, which stay where they are.
func (s *Store) prefetchDocuments(ctx context.Context, treeish plan.OID) error {
	if !s.Partial(ctx) {
		return nil
	}
	p := &s.partial
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read[treeish] {
		return nil
	}
	entries, err := s.ListTree(ctx, treeish)
	if err != nil {
		return nil //nolint:nilerr // not a tree here: reading it reports that
	}
	oids := each.Pick(entries, func(e TreeEntry) (plan.OID, bool) {
		return e.OID, path.Ext(e.Path) == ".json" && !strings.Contains(e.Path, "/files/")
	})
	if err := s.Prefetch(ctx, oids); err != nil {
		return err
	}
	if p.read == nil {
		p.read = map[plan.OID]bool{}
	}
	p.read[treeish] = true
	return nil
}

// fetchObjects fetches objects by id, as git itself does in a partial clone.
func (s *Store) fetchObjects(ctx context.Context, oids []string) error {
	if len(oids) == 0 {
		return nil
	}
	var failed []error
	for _, remote := range s.promisors(ctx) {
		_, err := runGit(ctx, Invocation{Dir: s.dir, Stdin: lines(oids), Args: []string{
			"-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--no-auto-maintenance",
			"--recurse-submodules=no", "--filter=blob:none", "--stdin", "--end-of-options", remote,
		}})
		if err == nil || ctx.Err() != nil {
			return err
		}
		failed = append(failed, err)
	}
	return s.absentError(errors.Join(failed...))
}

// lines is a list as git reads it from its standard input.
func lines[T ~string](names []T) *strings.Reader {
	var b strings.Builder
	if len(names) > 0 {
		b.Grow(len(names) * (len(names[0]) + 1)) // they are object ids, and may be many
	}
	for _, n := range names {
		b.WriteString(string(n))
		b.WriteByte('\n')
	}
	return strings.NewReader(b.String())
}

// OIDs are the object ids that git printed.
func OIDs(out string) []plan.OID {
	return each.Of(strings.Fields(out), func(oid string) plan.OID { return plan.OID(oid) })
}

// namesOf are object ids as names.
func namesOf(oids []plan.OID) []string {
	return each.Of(oids, func(oid plan.OID) string { return string(oid) })
}

// absentError is the error of a partial clone that can't get objects from its remotes.
func (s *Store) absentError(err error) error {
	remotes := s.partial.remotes
	return &AbsentError{
		What: "this clone is partial, and " + strings.Join(remotes, ", ") + ", which keeps the rest, does not give it",
		Hint: "git fetch " + remotes[0] + ", and try again when that works",
		Err:  err,
	}
}

// explain checks, after git failed in a partial clone, whether any of its remotes answers.
func (s *Store) explain(ctx context.Context, err error) error {
	const fatal, wrongUsage = 128, 129
	code := exitCode(err)
	if code == fatal || code == wrongUsage {
		var old *fault.Error // git is too old
		if _, err := askVersion(ctx, s.dir); errors.As(err, &old) {
			return old
		}
	}
	if code != fatal || !s.Partial(ctx) {
		return err
	}
	p := &s.partial
	p.reach.Do(func() { _, p.reachable = s.Unreachable(ctx) })
	if p.reachable == nil || ctx.Err() != nil {
		return err
	}
	return s.absentError(err)
}

// Cut returns those selected commits whose parents a shallow clone lacks: the missing commits belong to the history,
// and nobody here can tell what they hold. It is empty if the history is whole.
func (s *Store) Cut(ctx context.Context, revs ...string) ([]plan.OID, error) {
	ends, err := s.shallowEnds()
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	out, err := s.Git(ctx, append([]string{"rev-list"}, revs...)...)
	if err != nil {
		return nil, err
	}
	return each.If(OIDs(out), func(commit plan.OID) bool { return ends[commit] }), nil
}

// shallowEnds are the commits whose parents a shallow clone lacks.
func (s *Store) shallowEnds() (map[plan.OID]bool, error) {
	data, err := os.ReadFile(filepath.Join(s.commonDir, "shallow"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read where the history of this shallow clone ends: %w", err)
	}
	ends := each.Set(strings.Fields(string(data)), func(oid string) plan.OID { return plan.OID(oid) })
	return ends, nil
}

// Unshallow is the command that fetches what a shallow clone lacks.
const Unshallow = "git fetch --unshallow"
