package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing/fstest" // which has the standard library's file system in memory
	"unicode/utf8"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/relpath"
)

// The bounds of what is read. What is larger is a finding, and the rest is read.
const (
	maxFile     = plandoc.MaxFileBytes // of one file, in bytes
	maxTotal    = 4 * maxFile          // of all files of one source
	maxEntries  = 20_000               // of a directory
	maxItems    = 20_000               // of a source
	maxFindings = 200
)

// reader reads the files of one source and gathers what is wrong with them.
type reader struct {
	fsys     fs.FS
	findings plan.Findings // something was left out or mended
	notes    plan.Findings // nothing was lost
	total    int
	renamed  int
	doubled  map[string]bool // ids, in lower case, that several items have
	cut      int
}

func (r *reader) find(code, file string, line int, message, expected, found string) {
	if len(r.findings) >= maxFindings {
		r.cut++
		return
	}
	r.findings = append(r.findings, plan.Finding{Code: code, File: file, Line: line, Message: message,
		Expected: expected, Found: clipText(plain.Line(found), 120)})
}

func (r *reader) note(code, file string, line int, message string) {
	if len(r.notes) < maxFindings {
		r.notes = append(r.notes, plan.Finding{Code: code, File: file, Line: line, Message: message})
	}
}

// read is the text of a file in UTF-8, without a byte order mark and with lines that end in a newline alone. ok is
// false, and a finding says why, if there is no such text.
func (r *reader) read(name string) (text string, ok bool) {
	data, err := r.bytes(name)
	if err != nil {
		r.find("unreadable", name, 0, "can't be read: "+reason(err), "a file in the directory that is imported", "")
		return "", false
	}
	return r.decode(name, data)
}

var errTooLarge = fmt.Errorf("has more than %d MiB", maxFile>>20)

func (r *reader) bytes(name string) ([]byte, error) {
	info, err := fs.Stat(r.fsys, name) // before opening, which would wait for ever for a pipe's other end
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a file")
	case info.Size() > maxFile:
		return nil, errTooLarge
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	if r.total += len(data); r.total > maxTotal {
		return nil, fmt.Errorf("all files together have more than %d MiB", maxTotal>>20)
	}
	return data, nil
}

// reason returns the error without the file's name, which the finding has.
func reason(err error) string { return plain.Line(fault.Reason(err).Error()) }

func (r *reader) decode(name string, data []byte) (string, bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		r.find("not-utf8", name, lineOf(data, plain.InvalidUTF8(data)), "is not UTF-8", "text in UTF-8", "")
		return "", false
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		r.find("nul", name, lineOf(data, i), "contains the character NUL", "text", "")
		return "", false
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n"), true
}

func lineOf(data []byte, offset int) int {
	return bytes.Count(data[:min(offset, len(data))], []byte("\n")) + 1
}

// list is the names in a directory, in order; none if it is not there. Names that differ only in their case are one
// file on some systems, so the second of them is a finding.
func (r *reader) list(dir string) []string {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.find("unreadable", dir, 0, "can't be listed: "+reason(err), "a directory", "")
		}
		return nil
	}
	if len(entries) > maxEntries {
		r.find("too-many", dir, 0, "has too many entries; the rest is left out", fmt.Sprintf("at most %d", maxEntries),
			fmt.Sprint(len(entries)))
		entries = entries[:maxEntries]
	}
	names := make([]string, 0, len(entries))
	folded := map[string]string{}
	for _, e := range entries {
		name := e.Name()
		if !fs.ValidPath(path.Join(dir, name)) || !utf8.ValidString(name) {
			r.find("bad-name", dir, 0, "has a file whose name is not UTF-8", "a name in UTF-8", fmt.Sprintf("%q", name))
			continue
		}
		key := relpath.Fold(name)
		if first, taken := folded[key]; taken {
			r.find("case", path.Join(dir, name), 0,
				"differs from "+first+" only in its case, and is one file with it elsewhere; left out",
				"a name of its own", name)
			continue
		}
		folded[key] = name
		names = append(names, name)
	}
	return names
}

// has reports whether there is a file of that name.
func (r *reader) has(name string) bool {
	info, err := fs.Stat(r.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

// clipText cuts text to at most that many characters.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimSpace(string(runes[:most-3])) + "..."
}

// Below is a file system that has all of another one below a directory: what lies in it is found under the name that
// the user gave, and systems are recognised by that. Nothing else is in it.
func Below(dir string, fsys fs.FS) fs.FS {
	if dir == "." {
		return fsys
	}
	return below{dir, fsys}
}

type below struct {
	dir  string
	fsys fs.FS
}

func (b below) inner(op, name string) (string, error) {
	if name == b.dir {
		return ".", nil
	}
	if rest, ok := strings.CutPrefix(name, b.dir+"/"); ok && fs.ValidPath(rest) {
		return rest, nil
	}
	return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (b below) Open(name string) (fs.File, error) {
	inner, err := b.inner("open", name)
	if err != nil {
		return nil, err
	}
	return b.fsys.Open(inner)
}

func (b below) Stat(name string) (fs.FileInfo, error) {
	inner, err := b.inner("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(b.fsys, inner)
}

// Text is a file system with one file, for what does not come from a disk.
func Text(name string, data []byte) fs.FS { return fstest.MapFS{name: {Data: data}} }
