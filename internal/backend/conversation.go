package backend

import "strings"

// turn is one turn of a conversation. A model service keeps none itself.
type turn struct {
	own  bool // the model's
	text string
}

// role is the turn's side, in the word that both vendors use.
func (t turn) role() string {
	if t.own {
		return "assistant"
	}
	return "user"
}

// turns is the whole conversation so far. No turn is empty, and sides alternate: services refuse anything else.
func (r Request) turns() []turn {
	all := []turn{{text: r.Prompt}}
	for _, no := range r.Refused {
		if strings.TrimSpace(no.Reply) == "" {
			all[len(all)-1].text += "\n\n" + no.Wrong
			continue
		}
		all = append(all, turn{own: true, text: no.Reply}, turn{text: no.Wrong})
	}
	return all
}

// text is all that a command reads. It knows earlier messages only within a session.
func (r Request) text() string {
	text := r.Prompt
	if n := len(r.Refused); n > 0 {
		text = r.Refused[n-1].Wrong
		if r.Session == "" {
			text = r.Prompt + "\n" + text
		}
	}
	if r.System != "" {
		text = r.System + "\n\n" + text
	}
	return text
}
