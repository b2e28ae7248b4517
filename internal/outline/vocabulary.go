package outline

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

// words are what people call the fields, in lower case, without a plural s at the end of English words.
func words() map[key][]string {
	return map[key][]string{
		keyStatus: {
			"status", "state", "task status", "current status", "st", "状态", "当前状态", "任务状态", "完成状态", "执行状态", "实现状态", "进展状态",
			"完成情况", "当前进度", "状态标记", "statu", "stage status", "implementation status", "overall status", "狀態", "目前狀態",
		},
		keyAcceptance: {
			"acceptance", "acceptance criteria", "acceptance criterion", "acceptance condition", "acceptance check", "acceptance command",
			"acceptance test", "acceptance gate", "acceptance standard", "accept", "accepted when", "accept when", "ac", "success criteria",
			"success criterion", "success metric", "exit criteria", "exit criterion", "exit condition", "done when", "done if",
			"definition of done", "dod", "done criteria", "completion criteria", "complete when", "criteria", "criterion", "acceptance criteria (dod)",
			"验收", "验收标准", "验收条件", "验收命令", "验收方式", "验收方法", "验收点", "验收依据", "验收准则", "验收要求", "验收项", "验收指标", "验收用例",
			"验收测试", "验收清单", "验收条目", "完成标准", "完成定义", "完成条件", "完成判据", "成功标准", "成功判据", "成功条件", "退出标准", "退出条件",
			"出口标准", "通过标准", "通过条件", "判定标准", "交付标准", "达成标准", "验收内容", "驗收", "驗收標準", "验收阈值", "完成准则", "质量标准", "量化标准", "驗收條件", "完成條件",
		},
		keyVerify: {
			"verify", "verification", "verified by", "verify by", "verify command", "verification command", "verification step", "verify with",
			"verification method", "validation", "validate", "validation command", "validated by", "check", "checks", "gate", "quality gate",
			"demo command", "required command", "test command", "how to verify", "how to test", "automated command", "test",
			"验证", "验证方式", "验证命令", "验证标准", "验证方法", "验证步骤", "验证手段", "测试命令", "测试", "测试方法", "门禁", "阶段门禁", "检查命令", "检查", "自测", "自测命令",
			"自检", "校验", "校验命令",
		},
		keyEvidence: {
			"evidence", "proof", "evidence ref", "evidence required", "required evidence", "evidence collected", "result", "test result", "actual",
			"证据", "证明", "验收证据", "完成证据", "验证证据", "验证结果", "验收结果", "验收记录", "测试结果", "证据链接", "实际结果", "證據", "佐证", "凭证", "完成记录",
		},
		keyDeliverable: {
			"deliverable", "output", "artifact", "artefact", "output file", "required artifact", "delivers", "deliver", "produces", "product", "outcome",
			"交付物", "交付", "产出", "产出物", "输出", "输出文件", "产物", "目标文件", "交付件", "成果物", "成果", "交付内容", "交付文件",
		},
		keyFiles: {
			"file", "files to change", "files to modify", "files to create", "file touched", "touched file", "touches", "changed file", "modified file", "owned path",
			"文件", "涉及文件", "关键文件", "改动文件", "修改文件", "相关文件", "负责文件", "影响文件", "files to fix", "path", "location", "路径",
		},
		keyDepends: {
			"depends on", "depend on", "depends", "dependency", "dependencies", "dependencie", "dep", "needs", "need", "blocked by", "blocker task", "requires", "prerequisite", "prereq",
			"after", "依赖", "依赖任务", "依赖项", "依赖于", "前置", "前置任务", "前置依赖", "依赖关系", "前序任务", "前置项", "上游依赖", "依賴",
		},
		keyEstimate: {
			"estimate", "estimated", "effort", "estimated effort", "estimated time", "time estimate", "estimation", "est", "est.", "duration", "estimated duration",
			"person day", "person-day", "man-day", "workload", "time", "size estimate",
			"预估", "预计", "工时", "工期", "预计工时", "预估工时", "估算", "估时", "人日", "人天", "工作量", "预计时间", "预估时间", "预估工作量", "预计工作量", "预计工期", "预计周期",
			"耗时", "预计耗时", "周期", "时间",
		},
		keyCovers: {
			"requirement ref", "covers", "cover", "traces to", "trace", "traceability", "satisfies", "fulfils", "fulfills", "spec ref", "req",
			"对应需求", "覆盖需求", "覆盖", "关联需求", "需求编号", "满足需求", "需求追溯", "对应要求",
		},
		keyDescription: {
			"description", "desc", "goal", "objective", "purpose", "summary", "what", "why", "context", "scope", "detail", "intent", "problem", "user story", "background",
			"描述", "目标", "任务目标", "任务描述", "说明", "内容", "目的", "范围", "详情", "任务说明", "任务内容", "背景", "概述", "工作内容", "详细描述", "需求描述", "关键要求",
		},
		keySteps: {
			"step", "implementation step", "plan", "how", "action", "approach", "implementation", "task detail", "change", "sub-step", "to do", "procedure", "implementation note",
			"步骤", "实施步骤", "详细步骤", "执行步骤", "实现步骤", "操作步骤", "实现", "做法", "改动", "关键行动", "实现要点", "技术方案", "方案", "实现方式", "工作项", "具体步骤",
		},
		keyRequire: {
			"requirement", "functional requirement", "must have", "need to have", "top-level requirement", "overall acceptance", "overall acceptance criteria", "global acceptance criteria",
			"需求", "要求", "功能需求", "总体要求", "需求清单", "总需求", "总体验收标准", "整体验收标准", "总体验收", "需求列表", "核心需求", "功能要求", "用户需求",
		},
		keyTitle: {"title", "name", "task", "task name", "task title", "item", "标题", "名称", "任务名称", "任务名", "任务标题", "任务", "task item", "work item", "story", "feature", "功能", "事项", "项目", "项", "子任务", "任务项"},
		keyID:    {"id", "task id", "key", "#", "no", "no.", "nr", "编号", "序号", "任务id", "任务编号", "任务号", "ref", "标识"},
		keyGroup: {"milestone", "phase", "stage", "sprint", "epic", "里程碑", "阶段", "所属里程碑", "迭代", "related milestone", "所属阶段", "slice", "wave", "step no"},
		keyCommand: {
			"command", "cmd", "run", "exec", "shell", "命令", "执行命令", "运行", "执行", "运行命令", "指令",
		},
		keyExpect: {
			"expect", "expected", "expectation", "threshold", "expected output", "expected result", "pass condition", "pass criteria", "pass if", "pass when", "passes if", "passes when", "target",
			"阈值", "期望", "预期", "期望结果", "预期结果", "预期输出", "期望输出", "通过阈值", "标准", "指标", "目标值",
		},
		keyOther: {
			"priority", "owner", "assignee", "assigned", "assigned to", "assigned agent", "agent", "note", "notes", "risk", "risk level", "blocker", "block", "blocks", "blocked reason", "next", "next step", "next action",
			"completed", "created", "updated", "started", "branch", "commit", "tag", "label", "parallel", "size", "complexity", "severity", "category", "type", "area", "due", "due date", "deadline", "start date", "end date",
			"target date", "review", "reviewer", "known gap", "gap", "rollback", "track", "signal", "source", "reference", "link", "non-goal", "non-goals", "out of scope", "constraint", "assumption", "test plan", "expected test",
			"input", "read", "last updated", "version", "author", "date", "progress", "verification_status", "verification status", "comment", "remark", "security", "mode", "role", "model", "in scope", "allowed file", "forbidden", "iteration",
			"优先级", "负责人", "负责", "执行人", "备注", "注", "注意", "注意事项", "风险", "风险等级", "阻塞", "阻塞项", "阻塞原因", "下一步", "完成时间", "创建时间", "更新时间", "开始时间", "结束时间", "截止", "截止时间", "截止日期", "分支",
			"提交", "标签", "复杂度", "预估复杂度", "类型", "分类", "参考", "链接", "限制", "约束", "假设", "输入", "回滚", "回滚方案", "遗留问题", "审阅", "评审", "版本", "日期", "非目标", "禁止", "进度", "为什么", "角色", "里程碑目标", "建议 commit", "问题", "指派", "执行者",
		},
	}
}

var keyOf = sync.OnceValue(func() map[string]key { return reverse(words()) })

func reverse(m map[key][]string) map[string]key {
	out := map[string]key{}
	for _, k := range []key{
		keyOther, keyExpect, keyCommand, keyGroup, keyID, keyTitle, keyRequire, keySteps, keyDescription, keyCovers, keyEstimate, keyDepends,
		keyFiles, keyDeliverable, keyEvidence, keyVerify, keyAcceptance, keyStatus,
	} {
		for _, w := range m[k] {
			out[w] = k
		}
	}
	return out
}

var parenthesis = pattern.Compile(`\s*[（(\[【][^（()）\[\]【】]*[）)\]】]\s*`)

// lookup finds the field that a word stands for: "" if it is none. Case, emphasis, symbols around it, a remark in
// parentheses, a number before it and a plural do not matter.
func lookup(word string) key {
	w := strings.ToLower(plainText(word))
	if utf8.RuneCountInString(w) > 60 {
		return ""
	}
	w = strings.TrimFunc(w, func(r rune) bool {
		return r != '#' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ')' && r != '）'
	})
	if k := exact(w); k != "" {
		return k
	}
	if bare := strings.TrimSpace(parenthesis.Get().ReplaceAllString(w, " ")); bare != w && bare != "" {
		if k := exact(bare); k != "" {
			return k
		}
	}
	if at := strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Han, r) }); at > 0 && w[at-1] == ' ' {
		if ka, kb := exact(w[:at]), exact(w[at:]); ka != "" && kb != "" {
			return ka
		}
	}
	// Two names for one thing: "acceptance / verification", "验收标准 Acceptance".
	for _, sep := range []string{"/", "／", " & ", " and ", "与", "和", "及"} {
		if a, b, ok := strings.Cut(w, sep); ok {
			ka, kb := exact(strings.TrimSpace(a)), exact(strings.TrimSpace(b))
			if ka != "" && kb != "" {
				return ka
			}
		}
	}
	return ""
}

func exact(w string) key {
	w = strings.TrimSuffix(strings.TrimSpace(w), ".")
	w = strings.ReplaceAll(w, "_", " ")
	for _, try := range []string{w, strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es"), strings.ReplaceAll(w, "-", " "), strings.ReplaceAll(w, " ", "")} {
		if k, ok := keyOf()[try]; ok && try != "" {
			return k
		}
	}
	return ""
}
