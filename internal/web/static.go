package web

import (
	"bytes"
	"net/http"
	"path"
	"time"

	"gitwf/internal/graph"
)

// static sends the page's own scripts and styles, all embedded in the program.
func (s *Server) static(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml"}[path.Ext(name)]
	data, err := staticFiles.ReadFile("static/" + name)
	if name == "graph.css" {
		_, data, err = drawn(r.Context(), graph.Graph{})
	}
	if err != nil || kind == "" {
		return notFound("there is no such file")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return nil
}
