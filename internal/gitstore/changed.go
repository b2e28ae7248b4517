package gitstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// Changed is one path in which two trees differ. A rename has the old path, too.
type Changed struct {
	How            byte // as git diff --name-status says it: A, M, D, R or T
	OldPath, Path  string
	OldMode, Mode  string   // 000000 where the path does not exist
	OldOID, OID    plan.OID // all zeros where the path does not exist
	Added, Removed int      // lines; -1 of a binary file
}

// Changed lists the paths in which two trees differ, with renames, whatever the user's configuration says.
func (s *Store) Changed(ctx context.Context, before, after plan.OID) ([]Changed, error) {
	out, err := s.GitIn(ctx, Invocation{Args: []string{"diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev",
		"--no-ext-diff", "--no-textconv", "--end-of-options", string(before), string(after)}})
	if err != nil {
		return nil, err
	}
	return parseChanged(string(out))
}

// parseChanged reads the two lists that git prints: the entries, then their numbers of lines, in the same order.
func parseChanged(out string) ([]Changed, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	bad := fmt.Errorf("git diff-tree printed something unknown")
	next := func() string {
		if len(fields) == 0 {
			return ""
		}
		f := fields[0]
		fields = fields[1:]
		return f
	}
	var list []Changed
	for len(fields) > 0 && strings.HasPrefix(fields[0], ":") {
		f := strings.Fields(next())
		if len(f) != 5 {
			return nil, bad
		}
		c := Changed{How: f[4][0], OldMode: f[0][1:], Mode: f[1], OldOID: plan.OID(f[2]), OID: plan.OID(f[3]),
			OldPath: next()}
		if c.Path = c.OldPath; c.How == 'R' {
			c.Path = next()
		}
		if c.Path == "" {
			return nil, bad
		}
		list = append(list, c)
	}
	for i := range list {
		f := strings.SplitN(next(), "\t", 3)
		if len(f) != 3 {
			return nil, bad
		}
		if f[2] == "" { // a rename names both paths after it
			next()
			next()
		}
		list[i].Added, list[i].Removed = lineCount(f[0]), lineCount(f[1])
	}
	return list, nil
}

// lineCount reads a number of lines; git prints "-" for a binary file.
func lineCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
