package check

// Inline makes a text from anywhere fit for one line of Markdown, where it stays text: no link, no image, no HTML.
func Inline(s string) string { return cell(s) }
