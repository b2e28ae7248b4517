package exchange

import (
	"testing"
	"testing/fstest"
)

func TestFileSystems(t *testing.T) {
	inside := sample(map[string]string{"tasks.json": "{}", "sub/a.md": "a"})
	if err := fstest.TestFS(inside, "tasks.json", "sub/a.md"); err != nil {
		t.Fatal(err)
	}
	b := Below(".workflow/WFS-x", inside)
	for name, there := range map[string]bool{
		".workflow/WFS-x/tasks.json": true, ".workflow/WFS-x": true, ".workflow/WFS-x/sub/a.md": true, "tasks.json": false,
		".workflow": false, ".workflow/WFS-xy/tasks.json": false, ".workflow/WFS-x/../tasks.json": false,
	} {
		f, err := b.Open(name)
		if (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			f.Close()
		}
	}
	if found, findings := Find(Text("stdin", []byte(taskMasterSample)), "stdin"); len(found) != 2 || len(findings) > 0 {
		t.Errorf("%v %v", found, findings)
	}
}
