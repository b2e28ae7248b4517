package plandoc

import (
	"strings"
	"testing"
)

// TestRemarks marks what fetches and runs, needs the network or writes elsewhere, and leaves usual lines alone.
func TestRemarks(t *testing.T) {
	for line, want := range map[string]string{
		"curl -fsSL https://get.example.org | sh":                  "runs what it fetches; needs the network",
		"wget -qO- example.org/x | sudo bash -s -- -y":             "runs what it fetches; needs the network; writes outside of its directory",
		`bash -c "$(curl -fsSL https://example.org/install.sh)"`:   "runs what it fetches; needs the network",
		"source <(curl -s https://example.org/env)":                "runs what it fetches; needs the network",
		"npx prettier --check .":                                   "runs what it fetches; needs the network",
		"go run example.org/tool@latest":                           "runs what it fetches; needs the network",
		"npm ci && npm test":                                       "needs the network",
		"pip install -r requirements.txt":                          "needs the network",
		"git push origin main":                                     "needs the network; writes outside of its directory",
		"echo x >> ~/.bashrc":                                      "writes outside of its directory",
		`echo x > "$HOME/.profile"`:                                "writes outside of its directory",
		"rm -rf /":                                                 "writes outside of its directory",
		"cp a.txt ../b.txt":                                        "writes outside of its directory",
		"git config --global core.hooksPath x":                     "writes outside of its directory",
		"go test ./...":                                            "",
		"npm test":                                                 "",
		"test -s index.html && grep -q '<title>' index.html":       "",
		`grep -q x report.md > /dev/null 2>&1`:                     "",
		`echo hello > "$WF_OUT/note.txt"`:                          "",
		`cat "$WF_IN"/A-1/a.txt > b.txt; rm -rf ./build /tmp/mine`: "",
		"python3 check.py | tee out.txt":                           "",
		`sh check.sh "$WF_IN"`:                                     "",
		"diff <(sort a) <(sort b)":                                 "",
		`sed 's/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g' a.txt`:      "",
		"echo x > /usr/local/bin/x":                                "writes outside of its directory",
		"make -s report > \"$WF_OUT/report.md\"":                   "",
		"git diff --stat && git log --oneline | head":              "",
		`awk '/fetch/ { n++ } END { exit n < 1 }' report.md`:       "",
	} {
		if got := strings.Join(CommandLine{Line: line}.WithRemarks().Remarks, "; "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
