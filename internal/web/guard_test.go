package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhoGetsIn(t *testing.T) {
	s := newSite(t, nil)
	none := func(r *http.Request) { r.Header.Del("Cookie") }
	stranger := *s.browser
	stranger.Jar = nil
	host := strings.TrimPrefix(s.http.URL, "http://")
	port := host[strings.LastIndexByte(host, ':'):]
	tests := []struct {
		name, path string
		change     func(*http.Request)
		cookie     bool
		want       int
	}{
		{"no cookie", sitePath, none, false, http.StatusForbidden},
		{"no cookie, static file", "/static/page.css", none, false, http.StatusForbidden},
		{"no cookie, events", sitePath + "/events", none, false, http.StatusForbidden},
		{"wrong token", "/?token=0123", none, false, http.StatusForbidden},
		{"empty token", "/?token=", none, false, http.StatusForbidden},
		{"wrong cookie", sitePath, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName(r), Value: "x"})
		}, false, http.StatusForbidden},
		{"cookie", sitePath, nil, true, http.StatusOK},
		{"localhost by its name has other cookies", sitePath, func(r *http.Request) {
			r.Host = "localhost" + port
		}, true, http.StatusForbidden},
		{"a name bound to this address", sitePath, func(r *http.Request) {
			r.Host = "evil.example" + port
		}, true, http.StatusMisdirectedRequest},
		{"a name that begins like this host", sitePath, func(r *http.Request) {
			r.Host = "127.0.0.1.evil.example" + port
		}, true, http.StatusMisdirectedRequest},
		{"a name with a user", sitePath, func(r *http.Request) {
			r.Host = "localhost@evil.example"
		}, true, http.StatusMisdirectedRequest},
		{"another address of this machine", sitePath, func(r *http.Request) {
			r.Host = "192.168.1.2" + port
		}, true, http.StatusMisdirectedRequest},
		{"rebinding with the token", s.server.Address(s.http.Listener)[len(s.http.URL):], func(r *http.Request) {
			r.Host = "evil.example"
		}, false, http.StatusMisdirectedRequest},
		{"part of another page", sitePath + "/live", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, true, http.StatusForbidden},
		{"part of a page on another port", sitePath + "/live", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}, true, http.StatusForbidden},
		{"part of this page", sitePath + "/live", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}, true, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodGet, s.http.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(r)
			}
			client := &stranger
			if tt.cookie {
				client = s.browser
			}
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != tt.want {
				t.Errorf("status %d, want %d", answer.StatusCode, tt.want)
			}
		})
	}
}

func TestCookieAndHeaders(t *testing.T) {
	s := newSite(t, nil)
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, _ := s.ask(http.MethodGet, s.server.Address(s.http.Listener)[len(s.http.URL):], "", nil)
	cookies := answer.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode ||
		cookies[0].Value == s.server.token {
		t.Errorf("the cookies are %v", cookies)
	}
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || to != "/" {
		t.Errorf("status %d to %q; the token must not stay in the address", answer.StatusCode, to)
	}
	answer, text := s.ask(http.MethodGet, sitePath, "", nil)
	mustNotHave(t, text, s.server.token, s.server.session)
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';",
		"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if answer.Header.Get("X-Content-Type-Options") != "nosniff" ||
		answer.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Error("headers are missing")
	}
}

func TestForeignForms(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	good := s.form("task", "PAGE-1", "version", "v1", "verdict", "approve")
	tests := []struct {
		name, body string
		change     func(*http.Request)
	}{
		{"another origin", good, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
		{"another port of this machine", good, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }},
		{"no origin", good, func(r *http.Request) { r.Header.Del("Origin") }},
		{"null origin, as of a sandboxed frame", good, func(r *http.Request) { r.Header.Set("Origin", "null") }},
		{"the browser says that it is cross-site", good, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}},
		{"the browser says that it is of another port", good, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}},
		{"no page token", "task=PAGE-1&version=v1&verdict=approve", nil},
		{"wrong page token", "page=x&task=PAGE-1&version=v1&verdict=approve", nil},
		{"page token in the address alone", "task=PAGE-1&version=v1&verdict=approve", func(r *http.Request) {
			r.URL.RawQuery = "page=" + s.server.pageToken()
		}},
		{"another method", good, func(r *http.Request) { r.Method = http.MethodPut }},
		{"another host", good, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("Origin", "http://evil.example")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, text := s.ask(http.MethodPost, sitePath+"/do/review", tt.body, tt.change)
			if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("status %d: %s", answer.StatusCode, text)
			}
			if ran := s.commands(); len(ran) > 0 {
				t.Fatalf("it ran %q", ran)
			}
		})
	}
	if answer, text := s.ask(http.MethodPost, sitePath+"/do/review", good, nil); answer.StatusCode != http.StatusOK ||
		len(s.commands()) != 1 {
		t.Errorf("the page's own form: status %d, ran %q\n%s", answer.StatusCode, s.commands(), text)
	}
}

func TestReadOnly(t *testing.T) {
	s := newSite(t, func(o *Options) { o.ReadOnly = true })
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	for _, path := range []string{sitePath, sitePath + "/task/PAGE-1"} {
		mustNotHave(t, s.page(path), `method="post"`, s.server.pageToken())
	}
	answer, _ := s.ask(http.MethodPost, sitePath+"/do/review", s.form("task", "PAGE-1", "version", "v1", "verdict",
		"approve"), nil)
	if answer.StatusCode != http.StatusForbidden || len(s.commands()) > 0 {
		t.Errorf("status %d, ran %q", answer.StatusCode, s.commands())
	}
}
