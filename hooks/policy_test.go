package hooks

import "testing"

// A server's hook knows the roots of one policy. If a push brought another one since, the hook asks the program about
// every push.
func TestServerPolicyMoved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	bare := r.server(func(*repo) {})
	push := func(path string) string {
		t.Helper()
		r.stage(path, path)
		r.git("commit", "-q", "-m", path)
		r.git("push", "-q", "origin", "main")
		return r.calls()
	}
	asked := func(path, want string) {
		t.Helper()
		if got := push(path); (got != "") != (want != "") {
			t.Errorf("%s: the program was called with %q", path, got)
		}
	}
	asked("a", "")
	asked("deliverables/a", "asked")
	policy := r.git("rev-parse", "HEAD")
	bare.git("update-ref", "refs/workflow/policy", policy)
	asked("b", "asked")
	o := bare.options()
	o.Roots, o.Policy = []string{"site"}, policy
	if st, err := Status(t.Context(), onServer(o)); err != nil || st[0].Reason != outdated {
		t.Errorf("status %+v, %v", st, err)
	}
	_, err := Install(t.Context(), onServer(o))
	must(t, err)
	asked("c", "")
	asked("deliverables/b", "")
	asked("site/a", "asked")
	bare.git("pack-refs", "--all")
	asked("d", "")
	bare.git("update-ref", "-d", "refs/workflow/policy")
	asked("e", "asked")
}
