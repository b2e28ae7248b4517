package hooks

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Sighting is a file that records the state in which git last reached the gate: size, time and mode of the hooks and
// of git's config files. While these are unchanged, nobody needs to ask git again.
type Sighting struct {
	File     string   // path of the record
	Top      string   // the top of the worktree; git names config files relative to it
	Home     string   // git expands ~ to this
	Settings []string // config files that git does not name while they are empty; not all need exist
}

// Remember records the state of the hooks if git runs the gate in each. Otherwise why names one hook that git does not
// run, the reason, and the command that fixes it.
func (s Sighting) Remember(ctx context.Context, git Git, all []HookStatus) (why string, err error) {
	files, err := s.settings(ctx, git)
	if err != nil {
		return "", err
	}
	for _, st := range all {
		if !st.Active {
			return st.Name + ": " + st.Reason, nil
		}
		if filepath.IsAbs(st.Path) {
			files = append(files, st.Path)
		}
	}
	var text strings.Builder
	for _, f := range files {
		text.WriteString(f + "\t" + fileState(f) + "\n")
	}
	if err := os.WriteFile(s.File, []byte(text.String()), 0o666); err != nil {
		return "", fmt.Errorf("remember that git reaches the gate: %w", err)
	}
	return "", nil
}

// settings returns git's config files, and missing ones that git would include. If an include depends on the branch's
// name, HEAD is one of them.
func (s Sighting) settings(ctx context.Context, git Git) ([]string, error) {
	files := slices.Clone(s.Settings)
	if system, err := git(ctx, "var", "GIT_CONFIG_SYSTEM"); err == nil { // git before 2.41 does not have this variable
		files = append(files, system)
	}
	out, err := git(ctx, "config", "--list", "--includes", "--show-origin", "-z")
	if err != nil {
		return nil, fmt.Errorf("list git's settings: %w", err)
	}
	words := strings.Split(out, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		file, isFile := strings.CutPrefix(words[i], "file:")
		if isFile && !filepath.IsAbs(file) {
			file = filepath.Join(s.Top, file)
		}
		if isFile {
			files = append(files, file)
		}
		key, value, _ := strings.Cut(words[i+1], "\n")
		if !strings.HasPrefix(key, "include.") && !strings.HasPrefix(key, "includeif.") ||
			!strings.HasSuffix(key, ".path") ||
			value == "" {
			continue
		}
		if strings.HasPrefix(key, "includeif.onbranch:") {
			files = append(files, filepath.Join(filepath.Dir(s.File), "HEAD"))
		}
		if below, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(s.Home, below)
		}
		if filepath.IsAbs(value) {
			files = append(files, value)
		} else if isFile {
			files = append(files, filepath.Join(filepath.Dir(file), value))
		}
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(f string) bool {
		return f == "" || strings.ContainsAny(f, "\t\n")
	}), nil
}

// Installed reports whether git ever reached the gate here.
func (s Sighting) Installed() bool {
	_, err := os.Stat(s.File)
	return err == nil
}

// Stands reports whether everything is as it was remembered. It starts no process.
func (s Sighting) Stands() bool {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		path, was, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if fileState(path) != was {
			return false
		}
	}
	return true
}

func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d %d %o", info.Size(), info.ModTime().UnixNano(), info.Mode()&(fs.ModePerm|fs.ModeType))
}
