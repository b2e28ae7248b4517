package prepare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plandoc"
)

// Limits of Search and Glob.
const (
	maxMatches  = 200
	maxFiles    = 200_000
	maxFileRead = 1 << 20  // of one file; larger ones are skipped
	maxReadAll  = 64 << 20 // of all searched files
	maxLine     = 300      // of a printed line
)

// look runs a command that needs no shell. It sees nothing outside the directory: neither .. nor a link leads out.
func (r *runner) look(ctx context.Context, c plandoc.StepCommand, out *bytes.Buffer) error {
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		values, err := r.values(arg)
		if err != nil {
			return err
		}
		args[i] = plandoc.Fill(arg, values)
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	switch c.Form {
	case plandoc.StepRead:
		return readFile(root, args[0], out)
	case plandoc.StepSearch:
		below := ""
		if len(args) > 1 {
			below = args[1]
		}
		return search(ctx, root, args[0], below, out)
	}
	return find(ctx, root, args[0], out)
}

// inside is a path as the directory has it.
func inside(name string) string {
	return path.Clean(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"), "./"))
}

func readFile(root *os.Root, name string, out *bytes.Buffer) error {
	name = inside(name)
	info, err := root.Stat(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", plain.Line(name), fault.Reason(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("read %s: is no file", plain.Line(name))
	}
	f, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", plain.Line(name), fault.Reason(err))
	}
	defer f.Close()
	n, err := io.Copy(out, io.LimitReader(f, MaxOutput))
	if err == nil && info.Size() > n {
		fmt.Fprintf(out, "\n[... %d bytes left out ...]\n", info.Size()-n)
	}
	return err
}

// search prints the matching lines as FILE:LINE:TEXT. It matches a pattern that is no regular expression literally.
func search(ctx context.Context, root *os.Root, pattern, below string, out *bytes.Buffer) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		re = regexp.MustCompile(regexp.QuoteMeta(pattern))
	}
	matches, left := 0, int64(maxReadAll)
	err = files(ctx, root, below, func(name string, info fs.FileInfo) error {
		if info.Size() > maxFileRead || info.Size() > left {
			return nil
		}
		data, err := root.ReadFile(name)
		left -= info.Size()
		if err != nil || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			return nil // an unreadable or binary file matches nothing
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if line = bytes.TrimRight(line, "\r\n"); !re.Match(line) {
				continue
			}
			if matches++; matches > maxMatches {
				fmt.Fprintf(out, "[... more than %d lines match ...]\n", maxMatches)
				return fs.SkipAll
			}
			fmt.Fprintf(out, "%s:%d:%s\n", name, n, line[:min(len(line), maxLine)])
		}
		return nil
	})
	if err == nil && matches == 0 {
		return fmt.Errorf("nothing matches %s", plain.Line(pattern))
	}
	return err
}

// find prints the names of matching files: * ? and [...] within a name, ** for any number of directories.
func find(ctx context.Context, root *os.Root, pattern string, out *bytes.Buffer) error {
	if err := glob.Check(pattern); err != nil {
		return fmt.Errorf("the pattern %s: %w", plain.Line(pattern), err)
	}
	below := inside(pattern)
	matches := 0
	err := files(ctx, root, "", func(name string, _ fs.FileInfo) error {
		if !glob.Match(below, name) {
			return nil
		}
		if matches++; matches > maxMatches {
			fmt.Fprintf(out, "[... more than %d files match ...]\n", maxMatches)
			return fs.SkipAll
		}
		fmt.Fprintln(out, name)
		return nil
	})
	if err == nil && matches == 0 {
		return fmt.Errorf("no file matches %s", plain.Line(pattern))
	}
	return err
}

// files calls f for every regular file below a path, in order of names, except those in .git.
func files(ctx context.Context, root *os.Root, below string, f func(name string, info fs.FileInfo) error) error {
	if below = inside(below); below == "" {
		below = "."
	}
	if _, err := root.Stat(below); err != nil {
		return fmt.Errorf("look below %s: %w", plain.Line(below), fault.Reason(err))
	}
	seen := 0
	return fs.WalkDir(root.FS(), below, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // an unreadable directory has no files
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		if seen++; seen > maxFiles {
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil {
			return nil // it is gone by now
		}
		return f(name, info)
	})
}
