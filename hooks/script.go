package hooks

import (
	"embed"
	"path/filepath"
	"strings"
	"text/template"

	"gitwf/internal/each"
	"gitwf/internal/shell"
)

//go:embed sh/*.tmpl
var scripts embed.FS

// The lines around what Install writes. Uninstall and Status recognise it by them, in every version.
const (
	beginMark = "# >>> git wf hook >>>"
	endMark   = "# <<< git wf hook <<<"
)

// What the begin line says about the file, for Uninstall.
const (
	foundFile  = "section"                                // the file existed before
	madeFile   = "section in a file made here"            // remove the file if nothing else is left in it
	madeDir    = "section in a file and folder made here" // and the folder, too
	dispatched = "dispatcher"                             // the whole file is ours
)

// A scriptData fills the templates. Values that become words of the shell are already quoted.
type scriptData struct {
	Name               string // the hook's
	Judge              judge
	Stdin              bool
	HasOwn             string
	Created            bool
	Pathspecs, Program string
	Policy             string
	Missing            string
	Original           string
	Begin, End         string
	Skip               string // ends the script early; only in reference-transaction
}

// render returns a script from a template in sh/. Every test would find an error in one.
func render(name string, d scriptData) string {
	t := template.Must(template.ParseFS(scripts, "sh/*.tmpl"))
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, d); err != nil {
		panic(err)
	}
	return b.String()
}

// A renderer holds what the scripts of one repository have in common.
type renderer struct {
	roots   []string
	policy  string
	program string
}

func (r renderer) data(s spec) scriptData {
	find := TreePathspecs
	if s.judge == judgeIndex {
		find = Wide
	}
	specs := each.Of(find(r.roots), shell.Quote)
	return scriptData{
		Name: s.name, Judge: s.judge, Stdin: s.stdin,
		Pathspecs: strings.Join(specs, " "),
		Policy:    shell.Quote(r.policy),
		Program:   shell.Quote(filepath.ToSlash(r.program)),
		Missing: shell.Quote("git wf: " + s.what + " (" + strings.Join(r.roots, ", ") +
			"), and git-wf, which must judge it, is not on PATH: install git-wf, then try again"),
		End: endMark,
	}
}

// sectionScript returns the marked section for a hook file; made is what the begin line records.
func (r renderer) sectionScript(s spec, made string) string {
	d := r.data(s)
	d.Begin = beginMark + " " + made + ", written by `git wf hooks install`: what follows it runs first, then the gate"
	d.Created = made != foundFile
	d.HasOwn = ":"
	if d.Created {
		d.HasOwn = "wf_has_own"
	}
	if s.judge == judgeRefs {
		return render("refs-section", d)
	}
	return render("section.tmpl", d)
}

// dispatchScript returns the dispatcher's script for a hook of the gate; original is the path of the replaced hook.
func (r renderer) dispatchScript(s spec, original string) string {
	d := r.data(s)
	d.Begin = beginMark + " " + dispatched +
		", written by `git wf hooks install`: the hook named below runs first, then the gate"
	d.Original = shell.Quote(original)
	d.HasOwn = `[ -f "$wf_original" ] && [ -x "$wf_original" ]`
	if s.judge == judgeRefs {
		d.Skip = `
if [ "${1-}" != prepared ]; then
	[ -f "$wf_original" ] && [ -x "$wf_original" ] && exec "$wf_original" "$@"
	exit 0
fi`
		return render("refs-dispatch", d)
	}
	return render("dispatch.tmpl", d)
}

// passScript returns the dispatcher's script for any other hook.
func (r renderer) passScript(original string) string {
	return render("pass.tmpl", scriptData{
		Begin: beginMark + " " + dispatched +
			", written by `git wf hooks install`: the hook named below runs, if it is there",
		Original: shell.Quote(original),
		End:      endMark,
	})
}
