package web

import (
	"net/http"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

func TestDeliverablesAreServedApart(t *testing.T) {
	s := newSite(t, nil)
	s.hostile()
	page := s.page(sitePath + "/task/PAGE-1/file/v1/index.html")
	mustHave(t, page, `sandbox="" `)
	mustNotHave(t, page, "allow-same-origin", "allow-scripts", "owned")
	still, running := s.raw(sitePath+"/task/PAGE-1/file/v1/index.html"),
		s.raw(sitePath+"/task/PAGE-1/file/v1/index.html?scripts=1")
	if still == running {
		t.Error("a document that may run scripts has the address of one that may not")
	}
	mustHave(t, s.page(sitePath+"/task/PAGE-1/file/v1/index.html?scripts=1"), `sandbox="allow-scripts"`)
	tests := []struct {
		name, path string
		has, lacks []string
	}{
		{"still", still, []string{"sandbox;", "script-src 'none'"}, []string{"allow-scripts", "'self';", "unsafe-eval"}},
		{"running", running, []string{"sandbox allow-scripts;", "connect-src 'none'", "form-action 'none'",
			"frame-src 'none'"}, []string{"allow-same-origin", "allow-top-navigation", "allow-popups"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, text := s.ask(http.MethodGet, tt.path, "", nil)
			policy := answer.Header.Get("Content-Security-Policy")
			mustHave(t, policy, append(tt.has, "frame-ancestors 'self'", "default-src 'none'")...)
			mustNotHave(t, policy, tt.lacks...)
			if !strings.HasPrefix(text, "<h1>hi</h1>") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("got %q", text)
			}
		})
	}
}

// Nothing keeps the scripts of a document that is opened alone from leaving for another page: the policy of the page
// around it does.
func TestScriptsRunInTheirFrameAlone(t *testing.T) {
	s := newSite(t, nil)
	s.hostile()
	file := sitePath + "/task/PAGE-1/file/v1/index.html"
	for _, tt := range []struct {
		name, file, dest string
		want             int
	}{
		{"with scripts, alone", file + "?scripts=1", "document", http.StatusForbidden},
		{"with scripts, in the frame", file + "?scripts=1", "iframe", http.StatusOK},
		{"without scripts, alone", file, "document", http.StatusOK},
	} {
		answer, text := s.ask(http.MethodGet, s.raw(tt.file), "", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Dest", tt.dest)
		})
		if answer.StatusCode != tt.want {
			t.Errorf("%s: %s", tt.name, answer.Status)
		}
		if tt.want == http.StatusForbidden {
			mustHave(t, text, "open it from the page of its file")
		}
	}
	answer, page := s.ask(http.MethodGet, file+"?scripts=1", "", nil) // what the refusal names
	mustHave(t, answer.Header.Get("Content-Security-Policy"), "frame-src 'self'")
	mustHave(t, page, `sandbox="allow-scripts"`)
}

func TestRawAddressesReachOneVersionAlone(t *testing.T) {
	s := newSite(t, nil)
	s.hostile()
	s.Review("PAGE-1", 1, "ann", plan.Approved, nil)
	s.Approved("POST-1", "post.txt", "secret of another task")
	raw := s.raw(sitePath + "/task/PAGE-1/file/v1/index.html")
	dir := raw[:strings.LastIndexByte(raw, '/')+1]
	nobody := func(r *http.Request) {} // the client below has no cookie
	s.browser.Jar = nil
	tests := []struct {
		name, path string
		want       int
	}{
		{"the file", raw, http.StatusOK},
		{"what is beside it", dir + "note.md", http.StatusOK},
		{"a name that must be escaped", dir + "sub/dir/%C3%A9%20%23%25.txt", http.StatusOK},
		{"a path that climbs", dir + "../../plan.json", http.StatusNotFound},
		{"an escaped path that climbs", dir + "..%2f..%2f..%2fplan.json", http.StatusNotFound},
		{"an absolute path", dir + "%2fetc%2fpasswd", http.StatusNotFound},
		{"a directory", dir + "sub", http.StatusNotFound},
		{"nothing", dir, http.StatusNotFound},
		{"another task's file", dir + "post.txt", http.StatusNotFound},
		{"another key", "/raw/AAAA/index.html", http.StatusNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, text := s.ask(http.MethodGet, tt.path, "", nobody)
			if answer.StatusCode != tt.want && (tt.want != http.StatusNotFound || answer.StatusCode != http.StatusForbidden) {
				t.Errorf("status %d, want %d: %.80q", answer.StatusCode, tt.want, text)
			}
			mustNotHave(t, text, "schema_version", "root:", "secret")
		})
	}
	for name, change := range map[string]func(*http.Request){
		"another host": func(r *http.Request) { r.Host = "evil.example" },
		"a form":       func(r *http.Request) { r.Method = http.MethodPost },
	} {
		if answer, _ := s.ask(http.MethodGet, raw, "", change); answer.StatusCode < 400 {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
}

func TestPreviews(t *testing.T) {
	s := newSite(t, nil)
	s.hostile()
	file := sitePath + "/task/PAGE-1/file/v1/"
	tests := []struct {
		name, path string
		has, lacks []string
	}{
		{"markdown", "note.md", []string{"<h1>Note</h1>", "<td>b</td>", `href="https://example.com"`},
			[]string{"<script>alert", `"javascript:`}},
		{"json", "data.json", []string{"&#34;a&#34;: &#34;&lt;script&gt;&#34;"}, []string{`"<script>`}},
		{"svg is an image, which runs nothing", "pic.svg", []string{`<img src="/raw/`}, []string{"<script>alert", "<iframe"}},
		{"binary", "bin", []string{"00 01 02"}, []string{"\x00"}},
		{"a long text is cut", "long.txt", []string{"Only the beginning"}, nil},
		{"escape sequences", "escape.txt", []string{"red \ufffd[31m text"}, []string{"\x1b"}},
		{"a name that must be escaped", "sub/dir/%C3%A9%20%23%25.txt", []string{"inside"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := s.page(file + tt.path)
			mustHave(t, text, tt.has...)
			mustNotHave(t, text, tt.lacks...)
			if len(text) > 2*largestPreview {
				t.Errorf("the page has %d bytes", len(text))
			}
		})
	}
	answer, text := s.ask(http.MethodGet, s.raw(file+"long.txt")+"?download", "", nil)
	if got := answer.Header.Get("Content-Disposition"); got != "attachment; filename=long.txt" || len(text) != 40_000*15 {
		t.Errorf("the download is %q with %d bytes", got, len(text))
	}
}

func TestLargeFileIsSentWhole(t *testing.T) {
	s := newSite(t, nil)
	content := strings.Repeat("0123456789abcdef", small/8)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x", "large.bin": content + "\x00"}, nil)
	_, text := s.ask(http.MethodGet, s.raw(sitePath+"/task/PAGE-1/file/v1/large.bin"), "", nil)
	if text != content+"\x00" {
		t.Errorf("got %d bytes, want %d", len(text), len(content)+1)
	}
}

func TestSymbolicLinkIsText(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	blob := s.GitIn("../../../../etc/passwd", "hash-object", "-w", "--stdin")
	tree := s.GitIn("120000 blob "+blob+"\tlink.html\n", "mktree")
	answer, text := s.ask(http.MethodGet, s.server.rawURL(oid(tree), true)+"/link.html", "", nil)
	if text != "../../../../etc/passwd" || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %q as %s", text, answer.Header.Get("Content-Type"))
	}
}

func TestKeysAreForgotten(t *testing.T) {
	s := newSite(t, nil)
	first := s.server.rawURL("0000000000000000000000000000000000000001", false)
	for i := range 2 * s.server.trees.most {
		s.server.rawURL(oid(strings.Repeat("ab", 18)+hex4(i)), false)
	}
	if n := len(s.server.trees.by); n > s.server.trees.most {
		t.Errorf("%d keys are kept", n)
	}
	if _, ok := s.server.trees.find(strings.TrimPrefix(first, "/raw/")); ok {
		t.Error("the oldest key is still known")
	}
}
