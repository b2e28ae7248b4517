package outline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// State is what a status word comes down to. It is what the source claims; nothing believes it.
type State string

// The states that a task of an outline can claim.
const (
	Todo    State = "todo"
	Doing   State = "doing"
	Done    State = "done"
	Blocked State = "blocked"
)

// Status is the source's claim about a task: its own word, and what that comes down to.
type Status struct {
	State State  `json:"state"`
	Word  string `json:"word,omitempty"` // as it was written; "" where the source says nothing
	Line  int    `json:"line,omitempty"` // where it was written
}

// stateWords are tried from the first list to the last, so that "not started" is no "started".
var stateWords = []struct {
	state State
	words []string
}{
	{Todo, []string{
		"not started", "not yet started", "not yet", "not done", "not begun", "not implemented", "incomplete", "unstarted", "to do", "to-do", "todo", "pending", "planned", "plan", "backlog", "open", "ready to start", "ready for dev",
		"queued", "draft", "proposed", "scheduled", "upcoming", "future", "new", "tbd", "candidate", "untouched", "unassigned", "none", "n/a", "na", "-", "—", "next", "idea", "created", "defined", "to be done", "wait for start", "later", "unknown", "tentative", "not run", "not tested", "untested", "unverified", "missing", "required", "optional", "gap",
		"未开始", "尚未开始", "没有开始", "未启动", "未完成", "未实现", "未做", "待办", "待开始", "待执行", "待处理", "待做", "待实现", "待开发", "待启动", "待规划", "待定", "待完成", "计划中", "计划", "规划中", "规划", "新建", "草稿", "排队", "未处理", "待修复", "待实施", "待补充", "待测试", "待设计", "待配置", "未着手", "尚未", "無", "无", "待分配", "待领取", "待排期", "準備", "未", "待",
	}},
	{Blocked, []string{
		"blocked", "block", "on hold", "on-hold", "hold", "waiting", "stuck", "paused", "deferred", "postponed", "cancelled", "canceled", "skipped", "skip", "wontfix", "won't do", "dropped", "abandoned", "failed", "fail", "rejected", "at risk", "obsolete", "superseded", "removed",
		"阻塞", "被阻塞", "受阻", "卡住", "挂起", "暂停", "搁置", "延期", "推迟", "已取消", "取消", "失败", "跳过", "放弃", "已废弃", "废弃", "不通过", "已拒绝",
	}},
	{Doing, []string{
		"in progress", "in-progress", "in_progress", "inprogress", "wip", "doing", "active", "ongoing", "on going", "underway", "started", "in development", "in review", "in-review", "review", "reviewing", "testing", "in testing", "in qa", "qa", "partial", "partially", "partly", "mostly", "ready", "ready to integrate",
		"claimed", "working", "implementing", "current", "now", "verifying", "awaiting", "needs", "rework", "reopened", "to be modify", "executing", "running", "continuing", "ready to check", "almost", "assigned", "designed", "specified", "prototype", "prototyped", "investigating", "research", "coded", "code complete", "dev complete", "static evidence", "measured", "limited", "conditional", "evolving", "experimental", "monitoring", "observing",
		"进行中", "实现中", "开发中", "执行中", "处理中", "实施中", "测试中", "审阅中", "评审中", "验证中", "修复中", "待验收", "待评审", "待审", "待验证", "待合并", "部分完成", "部分", "正在", "已开始", "基本完成", "推进中", "進行中", "返工", "需要修改", "联调中", "收尾",
	}},
	{Done, []string{
		"done", "completed", "complete", "verified", "finished", "shipped", "landed", "merged", "closed", "resolved", "accepted", "passed", "passes", "pass", "met", "implemented", "delivered", "released", "approved", "fixed", "yes", "integrated", "built", "ok", "success", "satisfied", "deployed", "archived", "live", "green", "finish", "certified", "validated", "qualified", "tested", "unit tested", "device verified", "evaluated", "locked", "confirmed", "published", "obtained", "recorded", "established", "signed off", "signed-off", "written", "reviewed", "applied", "enabled", "supported", "available", "frozen", "adopted", "migrated",
		"已完成", "完成", "已验证", "已验收", "验收通过", "已通过", "通过", "已交付", "已上线", "已发布", "已实现", "已修复", "已关闭", "已合并", "已解决", "已结束", "已落地", "已归档", "已部署", "結束", "已达成", "达成", "合格", "是", "全绿", "已锁定", "已确认", "已实施", "已合入", "已具备", "已支持", "已应用", "已提交", "已冻结", "已采用", "已测试", "已建立", "已更新", "已写入",
	}},
}

var stateMarks = map[rune]State{
	'✅': Done, '✔': Done, '☑': Done, '✓': Done, '🟢': Done, '🎉': Done, '●': Done, '√': Done, '💚': Done, '🏁': Done,
	'🚧': Doing, '🔄': Doing, '🟡': Doing, '⏳': Doing, '◐': Doing, '🔨': Doing, '🏗': Doing, '🔵': Doing, '▶': Doing, '🛠': Doing, '⚙': Doing, '🟠': Doing, '👀': Doing, '🏃': Doing, '⌛': Doing, '🔃': Doing, '◑': Doing, '◒': Doing, '🔧': Doing, '🚀': Doing,
	'⬜': Todo, '☐': Todo, '📋': Todo, '🔲': Todo, '⚪': Todo, '○': Todo, '🆕': Todo, '💤': Todo, '📅': Todo, '◯': Todo, '📝': Todo, '⭕': Todo, '⏸': Blocked, '□': Todo, '🗓': Todo, '🔜': Todo, '◻': Todo,
	'⛔': Blocked, '🚫': Blocked, '❌': Blocked, '🔴': Blocked, '🛑': Blocked, '⚠': Blocked, '✗': Blocked, '✘': Blocked, '🔒': Blocked, '⏭': Blocked,
}

var checkStates = map[rune]State{
	' ': Todo, 'x': Done, 'X': Done, 'v': Done, 'V': Done, '✓': Done, '✔': Done, '✅': Done, '√': Done, 'o': Doing, 'O': Doing, '~': Doing, '-': Doing, '/': Doing, '>': Doing, '.': Doing, '*': Doing,
	'!': Blocked, '?': Blocked, '❌': Blocked, '✗': Blocked,
}

var (
	percent   = compile(`^(\d{1,3})\s*[%％]`)
	fraction  = compile(`^(\d{1,4})\s*/\s*(\d{1,4})\b`)
	checkText = compile(`^\[(.)\]$`)
)

// stateOf says what a status word comes down to; ok is false where it is none, or names more than one as a template does.
func stateOf(s string) (State, bool) {
	w := strings.ToLower(plainText(s))
	if m := checkText.get().FindStringSubmatch(strings.TrimSpace(s)); m != nil {
		r, _ := utf8.DecodeRuneInString(m[1])
		state, ok := checkStates[r]
		return state, ok
	}
	if several(w) {
		return "", false
	}
	if m := percent.get().FindStringSubmatch(w); m != nil {
		return ofShare(m[1], "100"), true
	}
	if m := fraction.get().FindStringSubmatch(w); m != nil {
		return ofShare(m[1], m[2]), true
	}
	letters := strings.TrimLeftFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if letters == "" || !knownStart(letters) {
		for _, r := range w {
			if state, ok := stateMarks[r]; ok {
				return state, true
			}
		}
		if letters == "" {
			letters = strings.TrimSpace(w)
		}
	}
	letters = strings.ReplaceAll(letters, "_", " ")
	best, bestState := 0, State("")
	for _, list := range stateWords {
		for _, word := range list.words {
			if len(word) > best && strings.HasPrefix(letters, word) && wordEnds(letters, word) {
				best, bestState = len(word), list.state
			}
		}
	}
	if best > 0 {
		return bestState, true
	}
	return within(letters)
}

func knownStart(letters string) bool {
	letters = strings.ReplaceAll(letters, "_", " ")
	for _, list := range stateWords {
		for _, word := range list.words {
			if strings.HasPrefix(letters, word) && wordEnds(letters, word) {
				return true
			}
		}
	}
	return false
}

// within finds a status word that stands further on: "代码完成", "M1 done", "mostly done, 2 left".
func within(s string) (State, bool) {
	best, bestState := 0, State("")
	for _, list := range stateWords {
		for _, word := range list.words {
			if utf8.RuneCountInString(word) < 2 || len(word) < 4 || len(word) <= best {
				continue
			}
			for from := 0; ; {
				i := strings.Index(s[from:], word)
				if i < 0 {
					break
				}
				at := from + i
				if (at == 0 || word[0] >= utf8.RuneSelf || !isASCIIWord(s[at-1])) && wordEnds(s[at:], word) {
					best, bestState = len(word), list.state
					break
				}
				from = at + len(word)
			}
		}
	}
	return bestState, best > 0
}

func isASCIIWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func wordEnds(s, word string) bool {
	if last := word[len(word)-1]; !isASCIIWord(last) {
		return true
	}
	return len(s) == len(word) || !isASCIIWord(s[len(word)])
}

// several reports that a value lists what could stand there, as a template does: TODO | DOING | DONE.
func several(w string) bool {
	fields := strings.FieldsFunc(w, func(r rune) bool { return r == '|' || r == '/' || r == '｜' || r == '、' })
	known := 0
	for _, f := range fields {
		f = strings.Trim(strings.ReplaceAll(f, "_", " "), " <>[]()`.")
		if f != "" && knownStart(f) {
			known++
		}
	}
	return known >= 3
}

func ofShare(part, whole string) State {
	a, errA := strconv.Atoi(part)
	b, errB := strconv.Atoi(whole)
	switch {
	case errA != nil || errB != nil || a == 0:
		return Todo
	case a >= b:
		return Done
	}
	return Doing
}

// together is the status of a task that several stages claim one of: done when all are, todo when none has begun.
func together(all []Status) Status {
	if len(all) == 0 {
		return Status{State: Todo}
	}
	count := map[State]int{}
	for _, s := range all {
		count[s.State]++
	}
	want := Doing
	switch {
	case count[Blocked] > 0:
		want = Blocked
	case count[Done] == len(all):
		return all[len(all)-1]
	case count[Todo] == len(all):
		want = Todo
	}
	for _, s := range all {
		if s.State == want {
			return s
		}
	}
	for _, s := range all {
		if s.State != Done {
			return Status{State: Doing, Word: s.Word, Line: s.Line}
		}
	}
	return all[0]
}
