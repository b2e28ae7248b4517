package terminal

import (
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is a pressed key: its character, or the name of a key without one.
type Key string

// The keys with names. Any other character that can't be shown is dropped.
const (
	Up        Key = "up"
	Down      Key = "down"
	Left      Key = "left"
	Right     Key = "right"
	Home      Key = "home"
	End       Key = "end"
	PageUp    Key = "page up"
	PageDown  Key = "page down"
	Enter     Key = "enter"
	Escape    Key = "escape"
	Tab       Key = "tab"
	BackTab   Key = "back tab"
	Backspace Key = "backspace"
	Interrupt Key = "ctrl-c"
	Clear     Key = "ctrl-u"
	Redraw    Key = "ctrl-l"
	Suspend   Key = "ctrl-z"
	None      Key = "" // bytes that are no key
)

// Text returns the character that a key types; "" if it types none.
func (k Key) Text() string {
	if utf8.RuneCountInString(string(k)) == 1 {
		return string(k)
	}
	return ""
}

// escapeTime is the longest pause within the bytes of one key; after it, an escape is the Escape key.
const escapeTime = 50 * time.Millisecond

// Keys reads keys until the terminal has no more, then closes the channel. The reading goroutine lives as long as the
// terminal, since nothing else ends a read from it.
func Keys(in io.Reader) <-chan Key {
	bytes, keys := make(chan []byte), make(chan Key)
	go func() {
		defer close(bytes)
		for {
			buf := make([]byte, 1024)
			n, err := in.Read(buf)
			if n > 0 {
				bytes <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	go decode(bytes, keys)
	return keys
}

func decode(bytes <-chan []byte, keys chan<- Key) {
	defer close(keys)
	var pending []byte
	for {
		var over <-chan time.Time
		if len(pending) > 0 {
			over = time.After(escapeTime)
		}
		more, open, final := []byte(nil), true, false
		select {
		case more, open = <-bytes:
		case <-over:
			final = true
		}
		pending = append(pending, more...)
		for len(pending) > 0 {
			k, n := Decode(pending, final || !open)
			if n == 0 {
				break
			}
			pending = pending[n:]
			if k != None {
				keys <- k
			}
		}
		if !open {
			return
		}
	}
}

// Decode returns the first key in a terminal's input and its length in bytes: 0 if Decode needs more bytes, which can't
// be if final says that no more will come.
func Decode(b []byte, final bool) (Key, int) {
	switch c := b[0]; {
	case c == 0x1b:
		return decodeEscape(b, final)
	case c < 0x20 || c == 0x7f:
		return control[c], 1
	case c < utf8.RuneSelf:
		return Key(b[:1]), 1
	}
	if !utf8.FullRune(b) && !final {
		return None, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return None, n
	}
	return Key(string(r)), n
}

var control = map[byte]Key{
	'\r': Enter, '\n': Enter, '\t': Tab, 0x7f: Backspace, 0x08: Backspace, 0x03: Interrupt, 0x15: Clear, 0x0c: Redraw,
	0x1a: Suspend,
	0x0e: Down, 0x10: Up, 0x06: PageDown, 0x02: PageUp, // as in Emacs and less
}

// longestSequence is the length from which on the bytes are not taken for a sequence.
const longestSequence = 32

// decodeEscape decodes an escape sequence: ESC [ parameters final, or ESC O final. It returns None if that is no key.
func decodeEscape(b []byte, final bool) (Key, int) {
	if len(b) == 1 {
		if final {
			return Escape, 1
		}
		return None, 0
	}
	if b[1] != '[' && b[1] != 'O' {
		return Escape, 1 // Alt and a key: they arrive one after the other
	}
	for i := 2; i < len(b) && i < longestSequence; i++ {
		switch c := b[i]; {
		case c >= 0x40 && c <= 0x7e:
			return sequence(string(b[2:i]), c), i + 1
		case c < 0x20 || c > 0x7e:
			return None, i // incomplete
		}
	}
	switch {
	case len(b) >= longestSequence:
		return None, longestSequence
	case final && len(b) == 2:
		return Escape, 1
	case final:
		return None, len(b)
	}
	return None, 0
}

// sequence returns the key with these parameters and this last byte. It ignores modifiers such as Shift.
func sequence(parameters string, last byte) Key {
	if last == '~' {
		switch number, _, _ := strings.Cut(parameters, ";"); number {
		case "1", "7":
			return Home
		case "4", "8":
			return End
		case "5":
			return PageUp
		case "6":
			return PageDown
		case "3":
			return Backspace
		}
		return None
	}
	return map[byte]Key{'A': Up, 'B': Down, 'C': Right, 'D': Left, 'H': Home, 'F': End, 'Z': BackTab, 'M': Enter}[last]
}
