package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const languageCookie = "git-wf-language"

// languages are the page's languages; the first is that of its templates.
func languages() []string { return []string{"en", "zh"} }

func languageName(lang string) string {
	if lang == "zh" {
		return "中文"
	}
	return "English"
}

// languageOf is the language of a request: the chosen one, or the best that the browser accepts.
func languageOf(r *http.Request) string {
	if c, err := r.Cookie(languageCookie); err == nil {
		for _, lang := range languages() {
			if c.Value == lang {
				return lang
			}
		}
	}
	return accepted(r.Header.Get("Accept-Language"))
}

// accepted is the language of ours that a browser wants most (RFC 9110, 12.5.4), the first if it wants none.
func accepted(header string) string {
	best, most := languages()[0], 0.0
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64) // 0, which means unwanted, if it is no number
		}
		name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), "-")
		if q > most && slices.Contains(languages(), name) {
			best, most = name, q
		}
	}
	return best
}

// switchLanguage remembers the language and goes back to the last page.
func switchLanguage(w http.ResponseWriter, r *http.Request, lang string) error {
	back, err := url.Parse(r.URL.Query().Get("back"))
	if err != nil || back.Path == "" || back.Path[0] != '/' {
		back = &url.URL{Path: "/"}
	}
	http.SetCookie(w, &http.Cookie{Name: languageCookie, Value: lang, Path: "/", MaxAge: 1 << 25, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	// Only path and query: not to another host, which "//host" would name.
	http.Redirect(w, r, (&url.URL{Path: "/" + trimSlashes(back.Path), RawQuery: back.RawQuery}).String(),
		http.StatusSeeOther)
	return nil
}

func trimSlashes(p string) string {
	for p != "" && (p[0] == '/' || p[0] == '\\') {
		p = p[1:]
	}
	return p
}

// translate returns a text of the page in a language; the templates are English.
func translate(lang, text string) string {
	if lang == "zh" {
		if zh, ok := chinese()[text]; ok {
			return zh
		}
	}
	return text
}

// scriptWords are the texts that the scripts show.
func scriptWords(lang string) map[string]string {
	all := map[string]string{}
	for _, text := range []string{
		"%s is now %s", "Connection lost; trying again", "The plan could not be drawn", "needs", "is needed by", "nothing",
		"%d of %d tasks shown", "Fold %s", "Unfold %s", "Carrying it out ...", "Open", "ready", "in progress",
		"awaits review", "done",
		"rejected", "waits for others", "waits for a person", "abandoned", "The page has changed: load it again",
		"Event %d of %d",
	} {
		all[text] = translate(lang, text)
	}
	return all
}
