package web

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// The ways to show a file.
const (
	asDocument = "document" // HTML, in a frame without an origin
	asImage    = "image"
	asMarkdown = "markdown"
	asText     = "text"
	asBinary   = "binary"
)

// preview is how to show one file of a version.
type preview struct {
	Path     string
	Mode     string
	Kind     string
	Raw      string // address of the unchanged file
	Running  bool   // the scripts run
	Source   bool   // it is shown as its source, and could be as something else
	Hides    bool   // as something else it would not show every word
	HTML     template.HTML
	Text     string
	Cut      bool // only the beginning is shown
	Download string
}

type filePage struct {
	page
	Task    *plan.TaskState
	Version string
	Verdict plan.Verdict
	Files   []file
	Preview preview
}

// largestPreview is how much of a text is shown.
const largestPreview = 256 << 10

func (s *Server) filePage(w http.ResponseWriter, r *http.Request) error {
	snap, state, t, at, err := s.askedTask(r)
	if err != nil {
		return err
	}
	v, ok := snap.Records.Of(t.TaskID).Version(plan.VersionNumber(r.PathValue("version")))
	if !ok {
		return notFound("%s has no version %s", t.TaskID, plain.Line(r.PathValue("version")))
	}
	entry, err := s.entry(r.Context(), v.Files, r.PathValue("path"))
	if err != nil {
		return err
	}
	p := filePage{page: s.planHead(r, snap, "task"), Task: t, Version: plan.VersionID(v.Version)}
	p.Past = at
	p.Verdict = state.VersionVerdict(t.TaskID, p.Version)
	p.Title = string(t.TaskID) + " " + p.Version + " " + plain.Line(entry.Path)
	entries, err := s.Store.ListTree(r.Context(), v.Files, "")
	if err != nil {
		return err
	}
	for _, e := range entries {
		p.Files = append(p.Files, file{TreeEntry: e, URL: p.TaskURL(t.TaskID, "file", p.Version) + "/" +
			filePath(e.Path)})
	}
	if p.Preview, err = s.preview(r, v.Files, entry); err != nil {
		return err
	}
	return s.show(w, r, http.StatusOK, "file", p)
}

// preview reads as much of a file as its kind needs.
func (s *Server) preview(r *http.Request, tree plan.OID, e gitstore.TreeEntry) (preview, error) {
	running := r.URL.Query().Get("scripts") == "1"
	p := preview{Path: e.Path, Mode: e.Mode, Raw: s.rawURL(tree, running) + "/" + filePath(e.Path)}
	p.Download = s.rawURL(tree, false) + "/" + filePath(e.Path) + "?download"
	if e.Mode == "120000" {
		p.Kind = asText
		data, _, err := s.Store.BlobHead(r.Context(), e.OID, 4096)
		p.Text = "→ " + shown(data)
		return p, err
	}
	ext := strings.ToLower(path.Ext(e.Path))
	if p.Source = r.URL.Query().Get("source") == "1"; p.Source {
		ext = ""
	}
	switch ext {
	case ".html", ".htm":
		p.Kind, p.Running = asDocument, running
		return p, nil
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".ico", ".svg":
		p.Kind = asImage
		return p, nil
	}
	data, whole, err := s.Store.BlobHead(r.Context(), e.OID, largestPreview)
	if err != nil {
		return p, err
	}
	p.Cut = !whole
	switch {
	case !isText(data, whole):
		p.Kind, p.Text = asBinary, hex.Dump(data[:min(len(data), 512)])
	case ext == ".md" || ext == ".markdown":
		p.Kind = asMarkdown
		p.HTML, whole = markdown(data)
		p.Hides = !whole
	case ext == ".json":
		p.Kind, p.Text = asText, shown(data)
		var pretty bytes.Buffer
		if whole && json.Indent(&pretty, data, "", "  ") == nil && pretty.Len() <= 2*largestPreview {
			p.Text = shown(pretty.Bytes())
		}
	default:
		p.Kind, p.Text = asText, shown(data)
	}
	return p, nil
}

// isText reports whether data, which may be cut within a character, is text.
func isText(data []byte, whole bool) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	if !whole {
		for range utf8.UTFMax - 1 {
			if utf8.Valid(data) || len(data) == 0 {
				break
			}
			data = data[:len(data)-1]
		}
	}
	return utf8.Valid(data)
}

func shown(data []byte) string { return plain.Text(strings.ToValidUTF8(string(data), "\ufffd")) }
