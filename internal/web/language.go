package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	http.Redirect(w, r, (&url.URL{Path: "/" + strings.TrimLeft(back.Path, `/\`), RawQuery: back.RawQuery}).String(),
		http.StatusSeeOther)
	return nil
}

// chinese maps every English text of the page to Chinese. The texts of a plan, a command or the engine stay as they
// are.
var chinese = sync.OnceValue(func() map[string]string {
	words := map[string]string{}
	data, err := templateFiles.ReadFile("templates/zh.json")
	if err == nil {
		err = json.Unmarshal(data, &words)
	}
	if err != nil {
		panic("templates/zh.json: " + err.Error()) // it is a part of the program
	}
	return words
})

// dictionary has the texts of the page in a language; none for English, which the templates and scripts have.
func dictionary(lang string) map[string]string {
	if lang == "zh" {
		return chinese()
	}
	return nil
}

// translate returns a text of the page in a language.
func translate(lang, text string) string {
	if found, ok := dictionary(lang)[text]; ok {
		return found
	}
	return text
}
