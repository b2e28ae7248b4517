package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/repotest"
)

// A claim that a tool takes holds for as long as the client is there, and then for what is left of its lease.
func TestToolClaims(t *testing.T) {
	r := repotest.New(t)
	var out bytes.Buffer
	e := &env{printer: printer{stdout: &out, stderr: io.Discard}, user: user{os.Environ()}, dir: r.Dir, now: time.Now,
		program: "git-wf", origin: aPerson}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	writeFile(t, file, vendorPlan)
	if code := e.run(t.Context(), []string{"plan", "-f", file}); code != fault.ExitDone {
		t.Fatalf("plan: exit code %d", code)
	}
	expires := func() (at time.Time) {
		out.Reset()
		e.run(t.Context(), []string{"next", "--explain", "--json"})
		var d nextDocument
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		for _, c := range d.Claims {
			at = c.Expires
		}
		return at
	}
	const lease = 3 * time.Second
	in, client := io.Pipe()
	served := make(chan error)
	server := *e
	server.stdin, server.stdout = in, io.Discard
	go func() { served <- server.serveTools(t.Context(), lease) }()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"claim"}}`)
	var first time.Time
	for start := time.Now(); first.IsZero() && time.Since(start) < time.Minute; first = expires() {
		time.Sleep(100 * time.Millisecond)
	}
	for start := time.Now(); !expires().After(first.Add(lease)); time.Sleep(100 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the claim is not renewed: it ends at %v", first)
		}
	}
	client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	last := expires()
	time.Sleep(lease)
	if now := expires(); !now.Equal(last) {
		t.Errorf("it is renewed by nobody, from %v to %v", last, now)
	}
}
