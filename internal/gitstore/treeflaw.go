package gitstore

import "bytes"

// TreeFlaw is why git would never write a tree object: readers disagree about such a tree, so nobody can tell what a
// checkout makes of it.
type TreeFlaw struct {
	Name string // of the entry; "" if the object can't be read that far
	Why  string
}

// ScanTree passes the entries of a tree object to fn, in order and valid until fn returns. It returns the first flaw: a
// truncated entry; a name that is empty, has a slash, or stands for another directory or for .git; entries that are
// unsorted or share a name; a mode unknown to git. It accepts modes that old programs wrote and git reads as its own
// (040000, 100664); LegalMode refuses those.
func ScanTree(data []byte, fn func(mode, name, oid []byte)) *TreeFlaw {
	var flaw *TreeFlaw
	found := func(name []byte, why string) {
		if flaw == nil {
			flaw = &TreeFlaw{string(name), why}
		}
	}
	var last, lastKey, key []byte // the keys are the names in git's order: a tree's as if it ended in a slash
	var files [][]byte            // earlier file names that a later directory may repeat
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte{' '})
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !ok || !ended || len(rest) < 20 {
			found(nil, "it is damaged")
			return flaw
		}
		oid := rest[:20]
		data = rest[20:]
		kind := modeKind(mode)
		if kind == 0 {
			found(name, "has mode "+string(mode))
		}
		if why := badName(name); why != "" {
			found(name, why)
		}
		isTree := kind == kindTree
		if key = append(key[:0], name...); isTree {
			key = append(key, '/')
		}
		switch {
		case last == nil:
		case bytes.Equal(last, name):
			found(name, "is there twice")
		case bytes.Compare(lastKey, key) > 0:
			found(name, "is not in git's order")
		}
		for len(files) > 0 && !bytes.HasPrefix(name, files[len(files)-1]) {
			files = files[:len(files)-1]
		}
		if isTree {
			for _, f := range files {
				if bytes.Equal(f, name) {
					found(name, "is there twice")
				}
			}
		} else {
			files = append(files, name)
		}
		last, lastKey, key = name, key, lastKey
		fn(mode, name, oid)
	}
	return flaw
}

// LegalMode reports whether git itself writes the mode into a tree.
func LegalMode(mode []byte) bool {
	switch string(mode) {
	case modeTree, modeFile, modeExecutable, modeLink, modeSubmodule:
		return true
	}
	return false
}

// The kinds of entries, by the bits of their mode.
const (
	kindTree      = 0o040000
	kindFile      = 0o100000
	kindLink      = 0o120000
	kindSubmodule = 0o160000
)

// modeKind is what git takes an entry for; 0 if no tree may hold it.
func modeKind(mode []byte) int {
	if len(mode) == 0 || len(mode) > 8 {
		return 0
	}
	n := 0
	for _, c := range mode {
		if c < '0' || c > '7' {
			return 0
		}
		n = n<<3 | int(c-'0')
	}
	switch kind := n &^ 0o7777; kind {
	case kindTree, kindFile, kindLink, kindSubmodule:
		return kind
	}
	return 0
}

// badName returns why no tree may have an entry of this name, "" if it may.
func badName(name []byte) string {
	switch {
	case len(name) == 0:
		return "has no name"
	case bytes.IndexByte(name, '/') >= 0:
		return "has a slash in its name"
	case string(name) == "." || string(name) == "..":
		return "stands for another directory"
	}
	// Windows reads a backslash as a slash, so each part may be .git.
	for len(name) > 0 {
		part, rest, _ := bytes.Cut(name, []byte{'\\'})
		name = rest
		if len(part) == 0 {
			continue
		}
		// The first byte rules out .git for most names.
		if c := part[0]; c == '.' || c|0x20 == 'g' || c >= 0x80 {
			if head, _, _ := bytes.Cut(part, []byte{':'}); isDotGit(string(head)) {
				return "stands for .git"
			}
		}
	}
	return ""
}
