// Package rule knows what a project's rules say, and which of them a piece of work is told.
//
// It hides two decisions: what a file of a rule may say, and how rules are chosen by stage, keyword and budget. It does
// not own where rules are kept or who may be trusted: internal/engine does. It is pure.
package rule
