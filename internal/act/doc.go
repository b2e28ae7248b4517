// Package act knows the documents with which a task acts on others: the verdicts of a judge, and a decision. It reads
// them strictly, and reviews them as a pure function of the document and the state of the plan. Package plan has the
// events that apply them; docs/format.md has the documents.
package act
