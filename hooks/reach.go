package hooks

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Sighting is a file that records the state in which git was last seen to reach the gate: size, time and mode of the hooks
// and of the files with git's settings. While these are unchanged, nobody has to ask git again.
type Sighting struct {
	File     string   // where it is kept
	Settings []string // paths of the files with git's settings that may name a hooks directory; not all need exist
}

// Remember asks whether git runs the gate in each hook, and records it if so. Otherwise why names one hook that does not,
// the reason, and the command that mends it.
func (s Sighting) Remember(ctx context.Context, o Options) (why string, err error) {
	all, err := Status(ctx, o)
	if err != nil {
		return "", err
	}
	files := s.Settings
	for _, st := range all {
		if !st.Active {
			return st.Name + ": " + st.Reason, nil
		}
		if filepath.IsAbs(st.Path) {
			files = append(files[:len(files):len(files)], st.Path)
		}
	}
	var text strings.Builder
	for _, f := range files {
		text.WriteString(f + "\t" + seen(f) + "\n")
	}
	if err := os.WriteFile(s.File, []byte(text.String()), 0o666); err != nil {
		return "", fmt.Errorf("remember that git reaches the gate: %w", err)
	}
	return "", nil
}

// Installed reports whether the gate was ever seen here.
func (s Sighting) Installed() bool {
	_, err := os.Stat(s.File)
	return err == nil
}

// Stands reports whether all is as it was remembered. It starts no process.
func (s Sighting) Stands() bool {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		path, was, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if seen(path) != was {
			return false
		}
	}
	return true
}

func seen(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d %d %o", info.Size(), info.ModTime().UnixNano(), info.Mode()&(fs.ModePerm|fs.ModeType))
}
