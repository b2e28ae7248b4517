// Package each makes a list, a set or a map of a list, and sorts it. It hides one decision: of no item comes nil.
package each

import (
	"slices"
	"sort"
)

// Of is what f makes of each item.
func Of[E, T any](list []E, f func(E) T) (made []T) {
	for _, item := range list {
		made = append(made, f(item))
	}
	return made
}

// If is the items for which ok holds, in a list of their own.
func If[E any](list []E, ok func(E) bool) (kept []E) {
	for _, item := range list {
		if ok(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// Pick is what f makes of the items for which it says so.
func Pick[E, T any](list []E, f func(E) (T, bool)) (picked []T) {
	for _, item := range list {
		if made, ok := f(item); ok {
			picked = append(picked, made)
		}
	}
	return picked
}

// Add is a list with those of the items behind it that it has not.
func Add[E comparable](list []E, items ...E) []E {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// Set has what key makes of each item.
func Set[E any, K comparable](list []E, key func(E) K) map[K]bool {
	set := make(map[K]bool, len(list))
	for _, item := range list {
		set[key(item)] = true
	}
	return set
}

// By has the items by their keys; of several with one key the last.
func By[E any, K comparable](list []E, key func(E) K) map[K]E {
	by := make(map[K]E, len(list))
	for _, item := range list {
		by[key(item)] = item
	}
	return by
}

// Sort sorts a list and keeps the order of equal items. Of slices.SortStableFunc the program would have 5 KB for each
// type of items.
func Sort[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
