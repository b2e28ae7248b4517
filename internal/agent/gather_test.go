package agent

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// Gather leaves files where they are and lists them under their future path: it copies nothing.
func TestGather(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
			os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page, style := put("site/index.html", "<p>"), put("site/css/style.css", "p {}")
	logo, other := put("logo.svg", "<svg/>"), put("other/index.html", "<b>")
	link := filepath.Join(dir, "named.svg")
	if err := errors.Join(os.Symlink(logo, link), os.Symlink("site", filepath.Join(dir, "sitelink")),
		os.Symlink("css/style.css", filepath.Join(dir, "site", "look"))); err != nil {
		t.Fatal(err)
	}
	anything := &plan.DeliverableSpec{Files: []string{"**"}}
	for _, tt := range []struct {
		name   string
		paths  []string
		spec   *plan.DeliverableSpec
		limits plan.Config
		want   string // the files with their sources, or a part of the error
	}{
		{"a directory", []string{"site"}, anything, plan.Config{}, "css/style.css<" + style + " index.html<" + page +
			" look->css/style.css"},
		{"a link to a directory", []string{"sitelink"}, anything, plan.Config{}, "css/style.css<" + style + " index.html<" +
			page + " look->css/style.css"},
		{"a file", []string{"logo.svg"}, &plan.DeliverableSpec{Filename: "logo.svg", OutputDir: "img"}, plan.Config{},
			"img/logo.svg<" + logo},
		{"a link to a file", []string{"named.svg"}, &plan.DeliverableSpec{Filename: "named.svg"}, plan.Config{},
			"named.svg<" + logo},
		{"both", []string{"site", "logo.svg"}, anything, plan.Config{}, "css/style.css<" + style + " index.html<" + page +
			" logo.svg<" + logo + " look->css/style.css"},
		{"two of one name", []string{"site", "other"}, anything, plan.Config{},
			"index.html: handed in twice: want one file of each path, got " + page + " and " + other},
		{"an output_dir that leads out", []string{"logo.svg"}, &plan.DeliverableSpec{Files: []string{"**"},
			OutputDir: "../../x"}, plan.Config{}, "x/logo.svg: the file is not declared"},
		{"too many", []string{"site", "logo.svg"}, anything, plan.Config{MaxArtifactFiles: 3}, "at most 3 files"},
		{"too large", []string{"logo.svg", "site"}, anything, plan.Config{MaxArtifactBytes: 8}, "at most 8 bytes"},
		{"nothing there", []string{"nowhere"}, anything, plan.Config{}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, p := range tt.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			files, err := Gather(paths, tt.spec, tt.limits)
			var got []string
			for _, f := range files {
				if f.Mode == ModeSymlink {
					got = append(got, f.Path+"->"+f.Target)
				} else {
					got = append(got, f.Path+"<"+f.Source)
				}
			}
			text := strings.Join(got, " ")
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("got %s\nwant %s", text, tt.want)
			}
		})
	}
}
