package gitstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

func TestParseChanged(t *testing.T) {
	const a, b = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	const none = "0000000000000000000000000000000000000000"
	out := ":100644 100755 " + a + " " + b + " M\x00run me.sh\x00" +
		":100644 100644 " + a + " " + a + " R100\x00old\tname\x00new\x00" +
		":000000 100644 " + none + " " + b + " A\x00logo.png\x00" +
		"3\t1\trun me.sh\x00" + "0\t0\t\x00old\tname\x00new\x00" + "-\t-\tlogo.png\x00"
	got, err := parseChanged(out)
	if err != nil {
		t.Fatal(err)
	}
	want := []Changed{
		{'M', "run me.sh", "run me.sh", "100644", "100755", plan.OID(a), plan.OID(b), 3, 1},
		{'R', "old\tname", "new", "100644", "100644", plan.OID(a), plan.OID(a), 0, 0},
		{'A', "logo.png", "logo.png", "000000", "100644", plan.OID(none), plan.OID(b), -1, -1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if got, err := parseChanged(""); err != nil || len(got) > 0 {
		t.Errorf("nothing differs: %v, %v", got, err)
	}
	if _, err := parseChanged(":100644\x00x"); err == nil {
		t.Error("half an entry was read")
	}
}
