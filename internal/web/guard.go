package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

// policy of every page: nothing from elsewhere, no inline script or style, no frame around it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; " +
	"frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"

// largestForm is how many bytes a form may send, files included.
const largestForm = 128 << 20

// ServeHTTP admits only what the person at this machine asks for. It checks, in this order, the host name (which may be
// bound to this address by others), the cookie of the printed address, and the page itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form's Origin would be null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Cookie, Accept-Language")
	if !loopback(r.Host) {
		refuse(w, http.StatusMisdirectedRequest, "this page answers to localhost alone, and was asked for as "+
			"another host")
		return
	}
	if strings.HasPrefix(r.URL.Path, "/raw/") { // its address is its key
		s.mux.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.Query().Has("token") {
		s.enter(w, r)
		return
	}
	if c, err := r.Cookie(cookieName(r)); err != nil || !same(c.Value, s.session) {
		refuse(w, http.StatusForbidden, "open the address that git wf ui has printed: it ends in ?token=... "+
			"If git wf ui was started anew, only the address that it printed last is valid; git wf ui gives a new one")
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") &&
		r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		refuse(w, http.StatusForbidden, "asked for by another page")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if why := s.mayChange(w, r); why != "" {
			refuse(w, http.StatusForbidden, why)
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// enter exchanges the token of the printed address for a cookie, so that the token does not stay visible.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !same(r.URL.Query().Get("token"), s.token) {
		refuse(w, http.StatusForbidden,
			"this is not the address that git wf ui has printed: it was started anew, or the token was cut off. "+
				"Open the address that it printed last, or run git wf ui for a new one")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// mayChange returns why a request that changes something is refused; "" if it is allowed.
func (s *Server) mayChange(w http.ResponseWriter, r *http.Request) string {
	switch {
	case r.Method != http.MethodPost:
		return "this method is not known here"
	case s.ReadOnly:
		return "git wf ui was started with --read-only"
	case r.Header.Get("Origin") != "http://"+r.Host:
		return "asked for by another page"
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return "asked for by another page"
	}
	r.Body = http.MaxBytesReader(w, r.Body, largestForm)
	if err := r.ParseMultipartForm(8 << 20); err != nil && err != http.ErrNotMultipart {
		return "the form can't be read: " + err.Error()
	}
	if !same(r.PostFormValue("page"), s.pageToken()) {
		return "the form is not from this page: load it again"
	}
	return ""
}

// pageToken is what a form has to send; another page can't read it.
func (s *Server) pageToken() string { return s.mac("page") }

func (s *Server) mac(text string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:24])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName contains the port, because a host's cookies are shared by all its ports.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "git-wf-" + port
}

// loopback reports whether a Host header names this machine to itself. A name that somebody else's DNS has bound to
// 127.0.0.1 does not.
func loopback(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	} else if port == "" || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == "[::1]"
}

// refuse answers in plain text: anybody may ask, and gets nothing of the page.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("git wf: " + why + "\n"))
}
