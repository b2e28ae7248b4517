package arch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// What the program may weigh. It starts with every commit of its users, and is built by whoever tries it.
const (
	mostBytes   = 20_800_000 // of the program as install.sh builds it, on linux/amd64
	mostInit    = 500_000    // allocated by the packages before main
	mostModules = 24         // that go.mod names
	mostLinked  = 12         // of them in the program
)

// goCommand runs the go command in a directory of the repository and returns what it prints.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(root, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// TestWeight builds the program with the flags of install.sh.
func TestWeight(t *testing.T) {
	if testing.Short() {
		t.Skip("a -short test does not build git-wf")
	}
	script, err := os.ReadFile(filepath.Join(root, "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "nethttpomithttp2", "-ldflags",
		"-s -w -X main.version=weight"}
	if !strings.Contains(string(script), "go build -trimpath -buildvcs=false -tags nethttpomithttp2 \\\n\t"+
		`-ldflags "-s -w -X main.version=$version"`) {
		t.Error("install.sh builds with other flags")
	}
	program := filepath.Join(t.TempDir(), "git-wf")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	goCommand(t, ".", append(flags, "-o", program, "./cmd/git-wf")...)
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > mostBytes && runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64" {
		t.Errorf("the program has %d bytes, expected at most %d", info.Size(), mostBytes)
	}

	// Bytes repeat from run to run; the times beside them don't.
	cmd := exec.CommandContext(t.Context(), program, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	traced, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, traced)
	}
	sum := 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(traced), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if sum += n; n > mostInit/20 {
			t.Logf("%s: %d bytes", m[1], n)
		}
	}
	t.Logf("%d bytes before main", sum)
	if sum == 0 || sum > mostInit {
		t.Errorf("the packages allocate %d bytes before main, expected at most %d", sum, mostInit)
	}

	linked := strings.Count(goCommand(t, ".", "version", "-m", program), "\n\tdep\t")
	if linked == 0 || linked > mostLinked {
		t.Errorf("the program has %d modules in it, expected at most %d", linked, mostLinked)
	}
}

// TestModules holds how many modules there are, and that docs/decisions.md says why there is each that we chose.
func TestModules(t *testing.T) {
	type require struct {
		Path     string
		Indirect bool
	}
	read := func(dir string) []require {
		var mod struct{ Require []require }
		if err := json.Unmarshal([]byte(goCommand(t, dir, "mod", "edit", "-json")), &mod); err != nil {
			t.Fatal(err)
		}
		return mod.Require
	}
	if all := read("."); len(all) == 0 || len(all) > mostModules {
		t.Errorf("go.mod names %d modules, expected at most %d", len(all), mostModules)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "decisions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "bench"} {
		for _, r := range read(dir) {
			row := regexp.MustCompile(`(?m)^\| .*` + regexp.QuoteMeta("`"+r.Path+"`") + `.* \| .{20,} \|$`)
			if !r.Indirect && r.Path != module && !row.Match(doc) {
				t.Errorf("docs/decisions.md does not say why %s is there", r.Path)
			}
		}
	}
}
