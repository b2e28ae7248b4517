package views

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// keepOut makes git ignore the files of a plan. It refuses if the index has some of them: they would be committed.
func (v *Views) keepOut(ctx context.Context, id plan.ID) error {
	dir, marker := Dir+"/"+string(id), Dir+"/"+exchange.Marker(id)
	tracked, err := v.Store.GitIn(ctx, gitstore.Invocation{Dir: v.Store.WorkTree(),
		Args: []string{"--literal-pathspecs", "ls-files", "-z", "--", dir, marker}})
	if err != nil {
		return fmt.Errorf("look whether %s is in the index: %w", dir, err)
	}
	if name, _, some := strings.Cut(string(tracked), "\x00"); some {
		return fault.Refused("git rm -r -q --cached --ignore-unmatch "+shell.Word(dir)+" "+shell.Word(marker)+
			", and git wf checkout again", "%s is in the index; views are kept out of it", plain.Line(name))
	}
	return v.exclude(ctx, "/"+Dir+"/.checkout-*\n/"+dir+"/\n/"+marker+"\n")
}

// exclude adds lines to info/exclude, which linked worktrees share.
func (v *Views) exclude(ctx context.Context, lines string) error {
	name, err := v.Store.Git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return fmt.Errorf("find the file of what git passes over: %w", err)
	}
	before, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) || strings.Contains(string(before), lines) {
		return err
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		before = append(before, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, append(before, lines...), 0o666)
}
