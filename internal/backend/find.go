package backend

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// findProgram looks up a program on the PATH of the given environment, which need not be our own. A name with a
// separator is a path. It returns "" if there is no such program.
func findProgram(name string, environ []string) string {
	if name == "" {
		return ""
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(homeDir(environ), rest)
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return ""
		}
		return withExtension(abs, environ)
	}
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) { // a relative entry would depend on the task's directory
			continue
		}
		if found := withExtension(filepath.Join(dir, name), environ); found != "" {
			return found
		}
	}
	return ""
}

// withExtension returns the path if it is a program; on Windows, with the extension that makes it one.
func withExtension(path string, environ []string) string {
	if executable(path) {
		return path
	}
	if runtime.GOOS == "windows" {
		extensions := cmp.Or(lookup(environ, "PATHEXT"), ".COM;.EXE;.BAT;.CMD")
		for ext := range strings.SplitSeq(extensions, ";") {
			if ext != "" && executable(path+ext) {
				return path + ext
			}
		}
	}
	return ""
}

// executable reports whether there is an executable file. Windows has no bit for that: the extension counts, and a
// shell script has none.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

// homeDir is the user's home directory in the given environment.
func homeDir(environ []string) string {
	if runtime.GOOS == "windows" {
		return lookup(environ, "USERPROFILE")
	}
	return lookup(environ, "HOME")
}
