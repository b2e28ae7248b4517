package outline

import "sync"

// stateWords are what people write for a state. What is none of them is refused, not guessed: a word is in here only if
// hardly anybody means something else by it.
var stateWords = []struct {
	state State
	words []string
}{
	{Todo, []string{
		"not started", "not yet started", "not begun", "not done", "not implemented", "incomplete", "unstarted", "to do", "to-do", "todo", "pending", "planned", "backlog", "open", "ready to start",
		"queued", "scheduled", "upcoming", "new", "next", "later", "to be done", "wait for start", "untouched",
		"未开始", "尚未开始", "没有开始", "未启动", "未完成", "未实现", "未做", "待办", "待开始", "待执行", "待处理", "待做", "待实现", "待开发", "待启动", "待完成", "计划中", "规划中", "排队", "排队中", "未处理", "待修复", "待实施", "待测试", "待设计",
		"未着手", "待排期", "未開始", "待辦",
	}},
	{Blocked, []string{
		"blocked", "on hold", "on-hold", "waiting", "stuck", "paused", "suspended",
		"阻塞", "被阻塞", "已阻塞", "阻塞中", "受阻", "卡住", "挂起", "已挂起", "暂停", "已暂停", "搁置", "已搁置", "等待中",
	}},
	{Doing, []string{
		"in progress", "in-progress", "inprogress", "wip", "work in progress", "doing", "active", "ongoing", "on going", "underway", "under way", "started", "in development", "in review", "in-review", "under review", "reviewing",
		"testing", "in testing", "in qa", "partial", "partially done", "partially complete", "partially completed", "claimed", "implementing", "verifying", "rework", "reopened", "to be modify", "executing", "running", "ready to check",
		"ready to integrate", "working", "working on it", "in work",
		"进行中", "实现中", "开发中", "执行中", "处理中", "实施中", "测试中", "审阅中", "评审中", "验证中", "修复中", "待验收", "待评审", "待审", "待验证", "待合并", "部分完成", "已开始", "推进中", "進行中", "返工", "返工中", "联调中", "正在进行",
	}},
	{Done, []string{
		"done", "completed", "complete", "verified", "finished", "shipped", "landed", "merged", "closed", "resolved", "accepted", "passed", "pass", "implemented", "delivered", "released", "approved", "fixed", "integrated", "deployed",
		"validated", "finish", "signed off", "signed-off",
		"已完成", "完成", "已验证", "已验收", "验收通过", "已通过", "通过", "已交付", "已上线", "已发布", "已实现", "已修复", "已关闭", "已合并", "已解决", "已结束", "已落地", "已部署", "已达成", "已完结", "完结", "已锁定", "已合入", "已測試", "已驗收",
	}},
}

// clearMarks are symbols that say a state wherever they stand; a title may have others for decoration.
var clearMarks = sync.OnceValue(func() map[rune]State {
	return map[rune]State{
		'✅': Done, '✔': Done, '☑': Done, '✓': Done, '√': Done,
		'🚧': Doing, '🔄': Doing, '⏳': Doing, '⌛': Doing, '🟡': Doing, '◐': Doing,
		'⬜': Todo, '☐': Todo, '🔲': Todo, '□': Todo, '◻': Todo, '⚪': Todo,
		'⛔': Blocked, '🚫': Blocked, '❌': Blocked, '🛑': Blocked, '⏸': Blocked, '🔴': Blocked, '✗': Blocked, '✘': Blocked, '🟢': Done,
	}
})

// loose are symbols that go with more than one state: a word beside them decides.
var looseMarks = sync.OnceValue(func() map[rune]bool {
	return map[rune]bool{'⏳': true, '⌛': true, '🟡': true, '🟢': true, '🔴': true, '⚪': true, '🔄': true}
})

// stateMarks are the symbols that stand for a state where a status is wanted.
var stateMarks = sync.OnceValue(func() map[rune]State {
	return map[rune]State{
		'✅': Done, '✔': Done, '☑': Done, '✓': Done, '🟢': Done, '🎉': Done, '●': Done, '√': Done, '💚': Done, '🏁': Done,
		'🚧': Doing, '🔄': Doing, '🟡': Doing, '⏳': Doing, '◐': Doing, '🔨': Doing, '🏗': Doing, '🔵': Doing, '▶': Doing, '🛠': Doing, '⚙': Doing, '🟠': Doing, '👀': Doing, '🏃': Doing, '⌛': Doing, '🔃': Doing, '◑': Doing, '◒': Doing, '🔧': Doing, '🚀': Doing,
		'⬜': Todo, '☐': Todo, '📋': Todo, '🔲': Todo, '⚪': Todo, '○': Todo, '🆕': Todo, '💤': Todo, '📅': Todo, '◯': Todo, '📝': Todo, '⭕': Todo, '⏸': Blocked, '□': Todo, '🗓': Todo, '🔜': Todo, '◻': Todo,
		'⛔': Blocked, '🚫': Blocked, '❌': Blocked, '🔴': Blocked, '🛑': Blocked, '⚠': Blocked, '✗': Blocked, '✘': Blocked, '🔒': Blocked, '⏭': Blocked,
	}
})

var checkStates = sync.OnceValue(func() map[rune]State {
	return map[rune]State{
		' ': Todo, 'x': Done, 'X': Done, 'v': Done, 'V': Done, '✓': Done, '✔': Done, '✅': Done, '√': Done, 'o': Doing, 'O': Doing, '~': Doing, '-': Doing, '/': Doing, '>': Doing, '.': Doing, '*': Doing,
		'!': Blocked, '?': Blocked, '❌': Blocked, '✗': Blocked,
	}
})
