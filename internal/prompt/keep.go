package prompt

import (
	"io/fs"
	"sync"
	"text/template"

	"gitwf/internal/contract"
)

// Keep makes Build parse each template of files only once, for programs that make many prompts. Build does not see
// later changes of a file.
func Keep(files fs.FS) fs.FS { return &kept{FS: files, parsed: map[contract.Role]*template.Template{}} }

type kept struct {
	fs.FS
	mu     sync.Mutex
	parsed map[contract.Role]*template.Template
}

func (k *kept) load(role contract.Role) (*template.Template, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.parsed[role]; t != nil {
		return t, nil
	}
	t, err := load(k.FS, role)
	if err == nil {
		k.parsed[role] = t
	}
	return t, err
}
