package progress

import (
	"fmt"
	"io"
	"strings"

	"gitwf/internal/terminal"
)

// Block is some rows at the cursor of a terminal that are drawn over each other. It changes no mode of the terminal, so
// that however the program ends there is nothing to restore. It is not safe for concurrent use.
type Block struct {
	out   io.Writer
	size  func() (columns, rows int) // zero if unknown
	drawn []int                      // the width of each row on the screen
}

// NewBlock makes a block that has drawn nothing yet.
func NewBlock(out io.Writer, size func() (columns, rows int)) *Block {
	return &Block{out: out, size: size}
}

// Size is how many columns and rows a block can have: some terminals wrap after a full row, and one row stays free.
func (b *Block) Size() (columns, rows int) {
	columns, rows = b.dimensions()
	return columns - 1, max(rows-1, 1)
}

func (b *Block) dimensions() (columns, rows int) {
	columns, rows = b.size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// Draw replaces what the block shows, in one write. It cuts lines to one row each.
func (b *Block) Draw(lines []string) error {
	columns, _ := b.Size()
	var text strings.Builder
	text.WriteString(b.erasure())
	b.drawn = nil
	for i, line := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		cut := terminal.Fit(line, columns)
		b.drawn = append(b.drawn, terminal.Cells(cut))
		text.WriteString(cut)
		if len(cut) < len(line) && strings.Contains(cut, "\x1b") {
			text.WriteString("\x1b[0m") // the end of its style was cut off
		}
	}
	_, err := io.WriteString(b.out, text.String())
	return err
}

// Write prints lines above the block, which is drawn again by the next Draw.
func (b *Block) Write(lines string) error {
	_, err := io.WriteString(b.out, b.erasure()+lines)
	b.drawn = nil
	return err
}

// Leave ends what the block shows: it stays where it is, and the next Draw begins below it.
func (b *Block) Leave() {
	if len(b.drawn) > 0 {
		fmt.Fprintln(b.out)
	}
	b.drawn = nil
}

// erasure removes the drawn rows and leaves the cursor at the start of the first. A terminal that has become narrower
// has wrapped them into more rows.
func (b *Block) erasure() string {
	if len(b.drawn) == 0 {
		return ""
	}
	columns, _ := b.dimensions()
	rows := 0
	for _, w := range b.drawn {
		rows += max(1, (w+columns-1)/columns)
	}
	up := ""
	if rows > 1 {
		up = fmt.Sprintf("\x1b[%dA", rows-1)
	}
	return "\r" + up + "\x1b[J"
}
