package plandoc

// What the built-in plan review goes by. All of it is data: a change of mind is a change of this file.

// The most points that each criterion of the review can take from 100. What is taken is the weight times the share of
// tasks, or of criteria, that are affected: one slip in a large plan costs little.
const (
	weightRootCriteria = 5  // nothing says what the whole must fulfil
	weightDescription  = 5  // tasks that nobody describes
	weightMust         = 15 // tasks that no criterion can reject
	weightObservable   = 60 // tasks without one criterion that can be seen to hold
	weightVague        = 30 // criteria that are too vague to judge
	weightOrphan       = 15 // tasks that serve no root criterion and no other task
)

// Below these lengths a statement without a run line can hardly name an outcome.
const (
	leastWords = 2 // of a script that separates words
	leastRunes = 4 // of one that does not
)

// vagueWords leave the judgement to taste. They count only in statements without anything firm: a number, a quotation,
// a file name. They match whole words, in lower case.
var vagueWords = []string{
	"acceptable", "adequate", "adequately", "amazing", "appropriate", "appropriately", "attractive", "awesome",
	"beautiful", "beautifully", "easily", "easy", "efficient",
	"efficiently", "elegant", "excellent", "fast", "flexible", "friendly", "good", "great", "high-quality",
	"intuitive", "maintainable", "modern", "nice", "nicely", "optimal", "performant", "polished",
	"professional", "proper", "properly", "quickly", "reasonable", "reasonably", "robust", "satisfactory",
	"scalable", "seamless", "smooth", "smoothly", "sufficient", "sufficiently", "suitable",
	"user-friendly",
}

// vaguePhrases are matched anywhere in a statement, in lower case.
var vaguePhrases = []string{
	"and so on", "it works", "as appropriate", "as expected", "as needed", "as possible", "best practice", "etc.",
	"if possible",
	"looks ok", "make sense", "makes sense", "state of the art", "up to standard", "well designed", "well-designed",
	"well structured", "well-structured", "well written", "well-written",
	"works correctly", "works fine", "works well",
	"专业", "优秀", "优雅", "优质", "友好", "合理", "合适", "体验好", "好用", "完善",
	"尽可能", "尽量", "恰当", "易用", "没问题", "流畅", "美观", "良好", "足够", "适当",
	"高质量", "高效",
}
