package graph_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// recorded is what SHA256SUMS should say of a directory.
func recorded(t *testing.T, dir string) string {
	t.Helper()
	sums := ""
	for _, name := range []string{"dagre.min.js", "dagre.min.js.LEGAL.txt", "LICENSE"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
	}
	return sums
}
