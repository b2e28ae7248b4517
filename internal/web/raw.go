package web

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

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
		err = s.apart(r.Context(), func(store *gitstore.Store) error {
			return store.CopyBlob(r.Context(), entry.OID, w)
		})
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a partial response must not pass for the file
	}
}

// entry finds a file by its path among those of the tree. It looks up no path anywhere else.
func (s *Server) entry(ctx context.Context, tree plan.OID, name string) (gitstore.TreeEntry, error) {
	entries, err := s.Store.ListTree(ctx, tree, "")
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
