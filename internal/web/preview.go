package web

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"path"
	"strings"

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
	entries, err := s.Store.ListTree(r.Context(), v.Files)
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
	case !plain.IsText(data, whole):
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

func shown(data []byte) string { return plain.Text(strings.ToValidUTF8(string(data), "\ufffd")) }

// Deliverables are served below /raw/KEY/, a separate directory for each version. KEY can't be guessed and stands for
// one tree of files. So a document may load its neighbours without the cookie, which a document without an origin does
// not get. It can load nothing else: its policy names only its own directory.

// shelf is one version's files, under the key of its address.
type shelf struct {
	tree    plan.OID
	scripts bool // the document may run its own scripts, still without an origin
}

// rawURL is the address of the directory that holds a tree's files.
func (s *Server) rawURL(tree plan.OID, scripts bool) string {
	key := s.mac(fmt.Sprintf("raw %s %v", tree, scripts))
	s.trees.keep(key, shelf{tree, scripts})
	return "/raw/" + key
}

// rawPolicy isolates a deliverable: it has no origin, sends nothing anywhere, and loads only from its own directory.
func rawPolicy(host, key string, scripts bool) string {
	own := "http://" + host + "/raw/" + key + "/"
	sandbox, script := "sandbox", "'none'"
	if scripts {
		sandbox, script = "sandbox allow-scripts", "'unsafe-inline' 'unsafe-eval' "+own
	}
	return fmt.Sprintf("%s; default-src 'none'; script-src %s; style-src 'unsafe-inline' %s; img-src data: blob: "+
		"%s; font-src data: %s; "+
		"media-src data: blob: %s; connect-src 'none'; form-action 'none'; frame-src 'none'; worker-src 'none'; "+
		"base-uri 'none'; "+
		"frame-ancestors 'self'", sandbox, script, own, own, own, own)
}

// small is the size in bytes up to which a file is read whole before it is sent.
const small = 4 << 20

// raw sends one file of a version unchanged.
func (s *Server) raw(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	key := r.PathValue("key")
	one, ok := s.trees.find(key)
	if !ok {
		refuse(w, http.StatusNotFound, "there is no such file; load the page of the task again")
		return
	}
	if one.scripts && r.Header.Get("Sec-Fetch-Dest") == "document" {
		refuse(w, http.StatusForbidden, "alone its scripts could go elsewhere; open it from the page of its file")
		return
	}
	h.Set("Content-Security-Policy", rawPolicy(r.Host, key, one.scripts))
	h.Del("X-Frame-Options") // frame-ancestors says who may
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", "*") // fonts and modules of a document without an origin
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	entry, err := s.entry(r.Context(), one.tree, r.PathValue("path"))
	if err != nil {
		refuse(w, http.StatusNotFound, "there is no such file in this version")
		return
	}
	if r.URL.Query().Has("download") {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment",
			map[string]string{"filename": path.Base(entry.Path)}))
	}
	h.Set("Content-Type", contentType(entry))
	if r.Method == http.MethodHead {
		return
	}
	data, whole, err := s.Store.BlobHead(r.Context(), entry.OID, small)
	if err == nil && whole {
		_, _ = w.Write(data)
		return
	}
	if err == nil {
		err = s.Store.CopyBlob(r.Context(), entry.OID, w)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a partial response must not pass for the file
	}
}

// entry finds a file by its path among those of the tree. It looks up no path anywhere else.
func (s *Server) entry(ctx context.Context, tree plan.OID, name string) (gitstore.TreeEntry, error) {
	entries, err := s.Store.ListTree(ctx, tree)
	if err != nil {
		return gitstore.TreeEntry{}, err
	}
	for _, e := range entries {
		if e.Path == name && e.Mode != "160000" {
			return e, nil
		}
	}
	return gitstore.TreeEntry{}, notFound("there is no such file in this version")
}

// contentType depends only on the name, from a list of what a browser shows; anything else is a download. A symbolic
// link is shown as its text.
func contentType(e gitstore.TreeEntry) string {
	if e.Mode == "120000" {
		return "text/plain; charset=utf-8"
	}
	if t, ok := map[string]string{
		".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".json": "application/json",
		".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".csv": "text/plain; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
		".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon", ".woff": "font/woff",
		".woff2": "font/woff2",
		".ttf":   "font/ttf", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav", ".mp4": "video/mp4",
		".webm": "video/webm",
		".pdf":  "application/pdf",
	}[strings.ToLower(path.Ext(e.Path))]; ok {
		return t
	}
	return "application/octet-stream"
}
