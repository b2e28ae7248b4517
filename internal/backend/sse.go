package backend

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// event is one server-sent event (WHATWG HTML, 9.2). Its data has no final line feed.
type event struct {
	name string
	data []byte
}

// events reads a stream of events. As the specification requires, it drops an event that no empty line ends: it may be
// cut off. An error of the stream comes last.
func events(stream io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, MaxReply+1)
		var e event
		var some bool
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if some && !yield(event{e.name, bytes.TrimSuffix(e.data, []byte("\n"))}, nil) {
					return
				}
				e, some = event{}, false
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				e.name, some = string(value), true
			case "data":
				e.data, some = append(append(e.data, value...), '\n'), true
			}
		}
		if err := lines.Err(); err != nil {
			yield(event{}, err)
		}
	}
}
