package outline

import (
	"fmt"
	"strings"
)

// shellLine turns a command and what the source expects of it into one line for a POSIX shell that succeeds when the
// expectation holds. decided is false where no shell can tell; the line is then the command alone, and a reviewer has
// to look at the rest.
func shellLine(command, expect string) (run string, decided bool) {
	e := strings.TrimSpace(expect)
	lower := strings.ToLower(strings.TrimRight(strings.TrimLeft(plainText(e), " ."), " .。！!"))
	switch {
	case e == "" || passes.get().MatchString(lower):
		return command, true
	case nonZero.get().MatchString(lower):
		return "if " + group(command) + "; then exit 1; fi", true
	}
	if m := exitCode.get().FindStringSubmatch(lower); m != nil {
		if m[1] == "0" {
			return command, true
		}
		return group(command) + "; test $? -eq " + m[1], true
	}
	if m := compared(lower); m != nil {
		return compareLine(command, m.op, m.number), true
	}
	if silent.get().MatchString(lower) {
		return `test -z "$(` + group(command) + `)"`, true
	}
	if m := passedCount.get().FindStringSubmatch(lower); m != nil {
		return `out=$(` + group(command) + ` 2>&1) && printf '%s\n' "$out" | grep -E -q -- '(^|[^0-9])` + m[0] + `'`, true
	}
	if text, not, ok := containsText(e); ok {
		line := group(command) + " 2>&1 | " + grepFor(text)
		if not {
			line = "! " + group(group(command)+" 2>&1 | "+grepFor(text))
		}
		return line, true
	}
	return command, false
}

var (
	passes = compile(`^(?:(?:should|must|all|it|is|are|tests?|command|build|suite|全部|均|都|应|须|需|必须|所有|命令|测试|结果|执行|编译|构建|运行|用例|能|可|且|全部测试|所有测试)[ ,，]*)*` +
		`(?:ok|pass(?:es|ed|ing)?|succeeds?|success(?:ful|fully)?|green|clean|all green|exits? cleanly|no errors?|without errors?|zero errors?|0 errors?|no failures?|0 fail(?:ed|ures?)?|all pass(?:ed)?|通过|全绿|成功|全部通过|不报错|无报错|无错误|没有错误|零错误|无失败|0 ?错误|0 ?失败|绿|全通过|pass 全部|正常退出|测试通过|编译通过|构建成功|✅|✓|✔)` +
		`(?:[ ,，]*(?:cleanly|completely|全部|green|all|ok|通过|without errors?|with no errors?|no errors?|exit 0|0 fail(?:ed|ures?)?|无错误|且无错误|无报错|✅))*$`)
	nonZero     = compile(`(?:non-?zero|非零|非 ?0|exits? (?:with )?(?:code )?!= ?0|exit code != 0|退出码 ?(?:!=|≠|不为|非) ?0|^fails?$|^失败$|红灯)`)
	exitCode    = compile(`^(?:(?:should|must|and|then|with|it|应|须|需|命令|结果)\s*)*(?:exits?(?: with)?(?: code| status)?|exit[- ]?code|return(?:s)?(?: code| exit code)|rc|status code of|退出码|返回码|退出状态码?|进程退出码|退出)\s*(?:is|of|=|==|:|：|为|是|等于)?\s*(\d{1,3})(?:[^\d.%].*)?$`)
	silent      = compile(`^(?:(?:returns?|prints?|outputs?|yields?|produces?|gives?|shows?|has|finds?|is|reports?|输出|返回|结果|命令)\s*)*(?:nothing|no (?:output|matches|match|results?|hits?|lines?|diff|differences?)|empty(?: output)?|zero matches|zero hits|无输出|无匹配|无结果|无命中|为空|空|没有输出|没有匹配|没有结果|零命中|零匹配|无差异|无 ?diff|空输出)$`)
	passedCount = compile(`^\d+ (?:passed|tests? passed|passing)`)
	comparison  = compile(`^(?:(?:should|must|be|is|are|a|the|and|returns?|prints?|outputs?|shows?|reports?|gives?|yields?|value|count|result|number|total|lines?|coverage|total coverage|of|with|应|须|需|为|是|返回|输出|打印|结果|显示|数量|行数|值|覆盖率|总覆盖率|计数|命中|匹配|总数|得|命中数|匹配数)[ :：]*)*` +
		`(>=|=>|≥|≧|<=|≤|≦|==|!=|≠|=|>|<|at least|no less than|at most|no more than|more than|less than|fewer than|exactly|up to|equals?(?: to)?|不少于|不低于|至少|大于等于|不超过|不大于|至多|最多|小于等于|大于|超过|高于|小于|低于|少于|等于|恰好|恰为|不等于)?[ :：]*` +
		`(-?\d+(?:\.\d+)?)\s*(?:%|％|条|个|行|项|次|处|件|ms|s|秒|毫秒|lines?|matches|match|hits?|rows?|items?|files?|results?|times|entries|tests?|以上|以内|or more|or less|or fewer|\+)?\s*$`)
	operators = map[string]string{
		">=": ">=", "=>": ">=", "≥": ">=", "≧": ">=", "at least": ">=", "no less than": ">=", "不少于": ">=", "不低于": ">=", "至少": ">=", "大于等于": ">=",
		"<=": "<=", "≤": "<=", "≦": "<=", "at most": "<=", "no more than": "<=", "up to": "<=", "不超过": "<=", "不大于": "<=", "至多": "<=", "最多": "<=", "小于等于": "<=",
		"==": "==", "=": "==", "exactly": "==", "equal": "==", "equals": "==", "equal to": "==", "equals to": "==", "等于": "==", "恰好": "==", "恰为": "==", "": "==",
		"!=": "!=", "≠": "!=", "不等于": "!=",
		">": ">", "more than": ">", "大于": ">", "超过": ">", "高于": ">",
		"<": "<", "less than": "<", "fewer than": "<", "小于": "<", "低于": "<", "少于": "<",
	}
	containsWords = compile(`(?i)^(?:.{0,20}?)(does not contain|not contain|doesn't contain|excludes|不包含|不含|不得包含|不出现|contains?|containing|includes?|including|outputs?|prints?|shows?|displays?|reports?|returns?|matches|has|输出包含|输出中包含|输出含|包含|含有|含|输出|打印|显示|返回|出现|匹配|==|=)\s*[:：]?\s*(.+)$`)
	quoted        = compile("^(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)'|“([^”]+)”|「([^」]+)」|‘([^’]+)’)")
)

type comparisonOf struct{ op, number string }

func compared(lower string) *comparisonOf {
	m := comparison.get().FindStringSubmatch(lower)
	if m == nil {
		return nil
	}
	op, ok := operators[m[1]]
	if !ok {
		return nil
	}
	if m[1] == "" {
		switch {
		case strings.HasSuffix(lower, "以上"), strings.HasSuffix(lower, "or more"), strings.HasSuffix(lower, "+"):
			op = ">="
		case strings.HasSuffix(lower, "以内"), strings.HasSuffix(lower, "or less"), strings.HasSuffix(lower, "or fewer"):
			op = "<="
		}
	}
	return &comparisonOf{op, m[2]}
}

// compareLine compares the last number of the output. How the command exits does not matter: "grep -c" fails when it
// counts zero.
func compareLine(command, op, number string) string {
	return fmt.Sprintf(`n=$(%s | grep -Eo -- '-?[0-9]+(\.[0-9]+)?' | tail -n 1); test -n "$n" && awk -v n="$n" 'BEGIN { exit !(n + 0 %s %s) }'`,
		group(command)+" 2>&1", op, number)
}

// containsText finds the text that the output has to hold, or not.
func containsText(e string) (text string, not, ok bool) {
	e = strings.TrimSpace(e)
	if m := quoted.get().FindStringSubmatch(e); m != nil && strings.TrimSpace(e[len(m[0]):]) == "" {
		return firstOf(m[1:]), false, true
	}
	m := containsWords.get().FindStringSubmatch(e)
	if m == nil {
		return "", false, false
	}
	word := strings.ToLower(m[1])
	not = strings.Contains(word, "not") || strings.Contains(word, "n't") || strings.HasPrefix(word, "不") || word == "excludes"
	value := strings.TrimSpace(m[2])
	if q := quoted.get().FindStringSubmatch(value); q != nil && strings.Trim(value[len(q[0]):], " .。)）") == "" {
		return firstOf(q[1:]), not, true
	}
	// An unquoted word is taken literally only behind "contains".
	if strings.HasPrefix(word, "contain") || strings.Contains(word, "包含") {
		if !strings.ContainsAny(value, " ，,。;；`\"") {
			return value, not, true
		}
	}
	return "", false, false
}

func firstOf(all []string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

func grepFor(text string) string { return "grep -F -q -- " + quoteShell(clean(text)) }

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// group makes one command of a line, whatever operators or comments it holds.
func group(command string) string {
	if simple.get().MatchString(command) {
		return command
	}
	return "{ " + command + "\n}"
}

var simple = compile(`^[A-Za-z0-9 ._/=,:@+"'*-]+$`)
