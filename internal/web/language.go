package web

import (
	"net/http"
	"net/url"

	"golang.org/x/text/language"
)

const languageCookie = "git-wf-language"

// languages are those that the page speaks; the first is that of its templates.
func languages() []string { return []string{"en", "zh"} }

func languageName(lang string) string {
	if lang == "zh" {
		return "中文"
	}
	return "English"
}

// languageOf is the language of a request: the one chosen, or the best of those that the browser accepts.
func languageOf(r *http.Request) string {
	if c, err := r.Cookie(languageCookie); err == nil {
		for _, lang := range languages() {
			if c.Value == lang {
				return lang
			}
		}
	}
	wanted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(wanted) == 0 {
		return "en"
	}
	_, i, _ := language.NewMatcher([]language.Tag{language.English, language.Chinese}).Match(wanted...)
	return languages()[i]
}

// switchLanguage remembers the language and goes back to the page that was shown.
func switchLanguage(w http.ResponseWriter, r *http.Request, lang string) error {
	back, err := url.Parse(r.URL.Query().Get("back"))
	if err != nil || back.Path == "" || back.Path[0] != '/' {
		back = &url.URL{Path: "/"}
	}
	http.SetCookie(w, &http.Cookie{Name: languageCookie, Value: lang, Path: "/", MaxAge: 1 << 25, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	// Path and query alone: not to another host, which "//host" would name.
	http.Redirect(w, r, (&url.URL{Path: "/" + trimSlashes(back.Path), RawQuery: back.RawQuery}).String(), http.StatusSeeOther)
	return nil
}

func trimSlashes(p string) string {
	for p != "" && (p[0] == '/' || p[0] == '\\') {
		p = p[1:]
	}
	return p
}

// translate gives a text of the page in a language; English is what the templates say.
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
		"%d of %d tasks shown", "Fold %s", "Unfold %s", "Carrying it out ...", "Open", "ready", "in progress", "awaits review", "done",
		"rejected", "waits for others", "waits for a person", "abandoned", "The page has changed: load it again", "Event %d of %d",
	} {
		all[text] = translate(lang, text)
	}
	return all
}
