package web

import "sync"

// recent keeps what was made or found last, by key, at most so many values. Its zero value with most set is ready.
type recent[K comparable, V any] struct {
	most  int
	mu    sync.Mutex
	by    map[K]V
	order []K // oldest first
}

func (r *recent[K, V]) find(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.by[key]
	return v, ok
}

// take is find, for a value that nobody needs again.
func (r *recent[K, V]) take(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.by[key]
	delete(r.by, key)
	return v, ok
}

func (r *recent[K, V]) keep(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[K]V{}
	}
	if _, known := r.by[key]; !known {
		r.order = append(r.order, key)
	}
	r.by[key] = v
	if len(r.order) > r.most {
		delete(r.by, r.order[0])
		r.order = r.order[1:]
	}
}
