// Package threeway merges trees, and cuts the change between two trees out of them.
//
// It hides one decision: what it means to apply a change to another tree. Base, landing and the gate all ask Merge, so
// a change that was tried is the change that lands. Merge compares three trees path by path. It knows no ancestry,
// renames, attributes, configuration or merge drivers, so every clone and every version of git gives one answer.
//
// It does not read or write objects and does not merge lines: Objects does (internal/gitstore, with git merge-file).
package threeway
