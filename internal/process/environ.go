package process

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Environ returns the environment of a command that works for us: base without the variables of git and of an enclosing
// attempt (GIT_*, WF_*), then extra. With a GIT_DIR inherited from a hook, every git command of an agent would work on
// the guarded repository.
func Environ(base []string, extra ...string) []string {
	return append(slices.DeleteFunc(slices.Clone(base), hidden), extra...)
}

// hidden reports whether a command must not see a variable of the base environment.
func hidden(variable string) bool {
	return strings.HasPrefix(folded(variable), "GIT_") || strings.HasPrefix(folded(variable), "WF_")
}

// folded is a variable's name as systems compare it: Windows ignores its case.
func folded(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// defaults are the user's variables that a plan's command line gets: those that programs need to run, to find their
// tools and caches, and to use the user's language. None of them holds a key. A final star matches any ending.
var defaults = strings.Fields(`
	PATH HOME USER LOGNAME SHELL TERM LANG LANGUAGE LC_* TZ TMPDIR TMP TEMP NO_COLOR CI
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR LD_LIBRARY_PATH PKG_CONFIG_PATH
	SSL_CERT_FILE SSL_CERT_DIR SOURCE_DATE_EPOCH CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS CGO_*
	GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOFLAGS GOTOOLCHAIN GOENV GOOS GOARCH GOEXPERIMENT GOMAXPROCS
	GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GO111MODULE GOCOVERDIR
	CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTFLAGS JAVA_HOME GRADLE_USER_HOME MAVEN_OPTS DOTNET_ROOT
	NODE_PATH NODE_ENV NVM_DIR PNPM_HOME PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX GEM_HOME GEM_PATH BUNDLE_PATH
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
	PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES NUMBER_OF_PROCESSORS
	PROCESSOR_ARCHITECTURE`)

// Allowed returns the variables of base that a plan's command line may see: the defaults, and those that the user adds.
// Its output is recorded and pushed with the plan, so it gets no keys unless the user names them.
func Allowed(base, more []string) []string {
	return slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !matches(name, defaults) && !matches(name, more)
	})
}

func matches(name string, list []string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		begin, some := strings.CutSuffix(folded(one), "*")
		return folded(name) == begin || some && strings.HasPrefix(folded(name), begin)
	})
}

// Find is the absolute path of a program on PATH, or of one that is named by its path; "" if there is none. What PATH
// has in a relative directory does not count: it would depend on where the program runs.
func Find(name string) string {
	found, err := exec.LookPath(name)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return ""
	}
	return found
}
