package caller

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// parseProcargs reads what darwin says of a process (kern.procargs2): the number of arguments, the path of the program,
// zero bytes, the arguments, the environment and, after an empty one, the system's own.
func parseProcargs(data []byte) (args, environ []string) {
	if len(data) < 4 {
		return nil, nil
	}
	n := int(binary.NativeEndian.Uint32(data))
	_, rest, _ := bytes.Cut(data[4:], []byte{0})
	list := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	if n > len(list) {
		return nil, nil
	}
	if end := slices.Index(list[n:], ""); end >= 0 {
		list = list[:n+end]
	}
	return list[:n], list[n:]
}
