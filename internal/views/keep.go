package views

import (
	"context"
	"fmt"
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
	return v.Store.Exclude("/" + Dir + "/.checkout-*\n/" + dir + "/\n/" + marker + "\n")
}
