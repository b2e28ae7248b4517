package audit

import (
	"path"
	"slices"

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

// secret finds that a record of the newest tree holds what must not be recorded.
func (a *auditor) secret(d document, data []byte, mask secret.Mask) {
	masked, ok := mask.Record(d.path(), data)
	if !ok || a.many("secret", d.path()) {
		return
	}
	f := a.find("secret", d.path(), "git wf doctor --mask",
		"holds what looks like a key, or the value of a variable of yours that is one")
	if masked == nil {
		f.Mend = ""
		f.Message += "; it can't be masked, for more than a text of " + path.Base(d.name) + " would change"
		return
	}
	f.Masking = &secret.Masking{Path: d.path(), OID: d.oid, Old: slices.Clone(data), New: masked}
}
