package outline

import (
	"strings"

	"gitwf/internal/pattern"
)

var (
	bracketField = pattern.Compile(`\s*【\s*([^【】：:]{1,20})\s*[：:]\s*([^【】]*)】`)
	codeField    = pattern.Compile("(?i)([^\\s`|]\\s+)`\\s*(status|state|状态)\\s*[:：=]\\s*([^`]+?)\\s*`")
	statusFirst  = pattern.Compile(`^(#{1,6}\s+|(?:[-*+]\s+` +
		`|\d{1,3}[.)]\s+)(?:\[[ xX]\]\s+)?)?(?:【\s*([^【】]{1,16})\s*】` +
		`|\[((?i:todo|doing|blocked|done|verified))\])\s*([^\s(（\[].*)$`)
)

// spread writes fields that stand in brackets on the line of what they belong to, and a status that stands before it,
// as fields behind bars: "【DONE】T1 Print【验收：`make`】" is "T1 Print | 验收：`make` | status: DONE".
func spread(s string) string {
	if !strings.ContainsAny(s, "【`[") || len(s) > maxLine {
		return s
	}
	if strings.Contains(s, "【") {
		s = bracketField.Get().ReplaceAllStringFunc(s, func(m string) string {
			f := bracketField.Get().FindStringSubmatch(m)
			if k := lookup(f[1]); k == "" || k == keyTitle || k == keyGroup || k == keyID || strings.Count(f[2], "`")%2 == 1 {
				return m
			}
			return " | " + f[1] + "：" + strings.TrimSpace(f[2])
		})
		s = strings.TrimPrefix(s, " | ")
	}
	if m := statusFirst.Get().FindStringSubmatch(s); m != nil && statusAlone(m[2]+m[3]) && lookup(m[4]) == "" {
		s = m[1] + m[4] + " | status: " + m[2] + m[3]
	}
	if strings.Count(s, "`")%2 == 1 {
		return s
	}
	return codeField.Get().ReplaceAllString(s, "$1| $2: $3")
}
