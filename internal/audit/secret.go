package audit

import (
	"path"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/secret"
)

// masks reports whether a change does no more than mask secrets in a record.
func (a *auditor) masks(c change) bool {
	if c.status != "M" || c.mode != "100644" || !secret.MayHoldSecrets(c.path) {
		return false
	}
	was, err := a.store.ReadBlob(a.ctx, c.old)
	if err != nil {
		return false
	}
	is, err := a.store.ReadBlob(a.ctx, c.oid)
	return err == nil && secret.MayMask(c.path, was, is)
}

// secrets finds records of the newest tree with what must not be recorded.
func (a *auditor) secrets(entries []gitstore.TreeEntry) error {
	if a.options.Secrets == nil {
		return nil
	}
	mask := a.options.Secrets()
	at := map[plan.OID][]string{}
	var docs []document
	for _, e := range entries {
		if task, name, ok := taskPath(e.Path); ok && secret.MayHoldSecrets(e.Path) && e.Mode == "100644" {
			if at[e.OID] == nil {
				docs = append(docs, document{task: task, name: name, oid: e.OID})
			}
			at[e.OID] = append(at[e.OID], e.Path)
		}
	}
	docs, err := a.sized(docs)
	if err != nil {
		return err
	}
	oids := make([]plan.OID, len(docs))
	for i, d := range docs {
		oids[i] = d.oid
	}
	return a.store.ReadDocuments(a.ctx, a.snap, oids, func(oid plan.OID, data []byte) {
		for _, name := range at[oid] {
			masked, ok := mask.Record(name, data)
			if !ok || a.many("secret", name) {
				continue
			}
			f := a.find("secret", name, "git wf doctor --mask",
				"holds what looks like a key, or the value of a variable of yours that is one")
			if masked == nil {
				f.Mend = ""
				f.Message += "; it can't be masked, for more than a text of " + path.Base(name) + " would change"
				continue
			}
			f.Masking = &secret.Masking{Path: name, OID: oid, Old: append([]byte(nil), data...), New: masked}
		}
	})
}
