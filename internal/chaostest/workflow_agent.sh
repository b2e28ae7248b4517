# Plays every role of the workflow $1. One first version in each has a fault that is sent back.
prompt=$(cat)
say() { # the reply of who may not write files
	text=$(echo "$2" | tr -d '\n\t' | sed 's/"/\\"/g')
	echo '{"schema_version": 1, "result_type": "ARTIFACT", "summary": "Made.",
		"files": [{"path": "'"$1"'", "content": "'"$text"'"}]}'
	exit
}
judge() {
	list=
	for pair in $(tr -d '\n ' < "$WF_CONTEXT" | grep -o '"task_id":"[A-Z]*-[0-9.]*","version":[0-9]*' |
		sed 's/"task_id":"//; s/","version":/=/'); do
		task=${pair%=*} version=v${pair#*=}
		case $task in BASE-* | TOOLS-* | DESIGN-* | SCHEME-*) continue ;; esac # which it is shown, too
		case $task in BRIEF-1) criteria=B1 ;; *) criteria= ;; esac
		criteria=${criteria:+'{"id": "'$criteria'", "pass": true, "evidence": "read"}'}
		v='"verdict": "APPROVED", "criteria": ['$criteria']'
		case $WF_TASK.$task.$version in
		REVIEW-1.DEV-1.1.v1 | REVIEW-1.IMPL-1.v1 | READY-1.ARCH-1.v1)
			v='"verdict": "REJECTED", "cause": "implementation", "criteria": ['$criteria'],
				"suggestions": [{"priority": "HIGH", "text": "Say it to all."}]' ;;
		esac
		list="$list${list:+, }{\"task_id\": \"$task\", \"artifact_id\": \"$version\", $1$v}"
	done
	say verdicts.json '{"schema_version": 1, "mode": "milestone", "verdicts": ['"$list"'], "summary": "judged"}'
}
if test "$WF_ROLE" = consult; then
	echo '{"schema_version": 1, "result_type": "ANSWER", "text": "Three."}'
	exit
fi
if test "$WF_ROLE" != action; then
	case $WF_TASK in IDEA-*) id=C1 ;; SYNTH-*) id=S1 ;; BRIEF-*) id=B1 ;; DESIGN-*) id=D3 ;; *) id= ;; esac
	verdict=APPROVED pass=true
	case $WF_TASK$prompt in *'second try'*) ;; IDEA-1*) verdict=REJECTED pass=false ;; esac
	ratings='"rating": 4'
	case $WF_TASK in IDEA-*) ratings='"critical": 0, "high": 0, "medium": 1, "low": 0' ;; esac
	criteria=${id:+'{"id": "'$id'", "pass": '$pass', "evidence": "seen"}'}
	echo '{"schema_version": 1, "result_type": "REVIEW", "verdict": "'$verdict'", "score": 90, "ratings": {'"$ratings"'},
		"criteria": ['"$criteria"'], "suggestions": []}'
	exit
fi
try=first
if test -n "$WF_FEEDBACK"; then try=second; fi
doc() { # with items, each of which comes from what is before it
	{
		printf -- '---\ndocument_type: %s\nversion: 1\ndependencies: []\n---\n%s try\n' "$1" $try
		for s in Vision Problem Personas Stack Diagram; do printf '## %s\nOne.\n' $s; done
		case $1 in
		product-brief) printf '### G-001 One\n### G-002 Two\n' ;;
		requirements) for n in 1 2 3; do printf '## REQ-00%s Do (Must)\nTraces: G-001, G-002\n- [ ] a\n- [ ] b\n' $n; done ;;
		architecture) for n in 1 2; do printf '## ADR-00%s So\nTraces: REQ-001, REQ-002, REQ-003\n- Option a\n- Option b\n' $n; done ;;
		epics)
			for n in 1 2 3; do
				printf '## EPIC-00%s Do (MVP)\nTraces: REQ-001, REQ-002, REQ-003, ADR-001, ADR-002\n' $n
				for k in 1 2; do printf '### STORY-EPIC-00%s-00%s Do (S)\nTraces: REQ-001, REQ-002, REQ-003\n' $n $k; done
			done ;;
		esac
	} > "$WF_OUT/$1.md"
}
part() { # a task, in the words of each workflow
	say='"Write something into it for the users."'
	echo '{"title": "'"$1"'", "change": '"$say"', "detail": '"$say"', "goal": '"$say"',
		"points": ["it is there"], "lane": "backend", "files": ["'"$1"'"],
		"done": ["what it says is there"], "complexity": "low", "after": [], "takes": []}'
}
case $1.$WF_TASK in
*.IDEA-*) echo "$try try" > "$WF_OUT/ideas.md" ;;
*.SYNTH-*)
	cat > "$WF_OUT/synthesis.md" <<-END
	---
	themes: [{name: Less, strength: 8, ideas: [One]}, {name: Later, strength: 5, ideas: [Two]}]
	conflicts: []
	coverage: [{aspect: time, covered: true}]
	proposals: [{title: Less, ideas: [One], answers: [], feasibility: 7, innovation: 6, benefits: [time], risks: [none]}]
	---
	END
	;;
iterdev.DESIGN-*)
	printf '# Decision\n# Components\n# Tasks\n# Integration\n# Risks\n' > "$WF_OUT/design.md"
	echo '{"goal": "All of it.", "conflicts": [], "tasks": ['"$(part "part-$WF_TASK")"']}' > "$WF_OUT/task-breakdown.json" ;;
iterdev.DEV-*) echo $try > part-DESIGN-1 ;;
iterdev.RETRO-*)
	echo '{"velocity": 1, "percent": 100, "rounds": 1, "review": 80, "what_worked": [], "what_failed": [], "patterns": [],
		"settled": [], "items": [], "focus": "goal", "capacity": 3, "pace": "sprint", "next": "done"}' > "$WF_OUT/retro.json" ;;
iterdev.REVIEW-*) judge '"ratings": {"correctness": 8, "completeness": 8, "maintainability": 8, "security": 8}, ' ;;
lifecycle.EXPLORE-*)
	say exploration.json '{"angle": "patterns", "relevant_files": [], "patterns": [], "constraints": [], "questions": []}' ;;
lifecycle.SCHEME-1)
	echo '{"approach": "Each part is a file of its own that says something.", "contract": "none", "conflicts": [],
		"tasks": ['"$(part part-1), $(part part-2)"']}' > "$WF_OUT/plan.json" ;;
lifecycle.IMPL-*) echo $try > "part-${WF_TASK#IMPL-}" ;;
lifecycle.REVIEW-*) judge '"ratings": {"critical": 0, "high": 0, "medium": 0, "low": 0}, ' ;;
spec.RESEARCH-1)
	echo '{"problem": "Nobody knows what it is good for.", "target_users": ["all"], "domain": "any", "constraints": [],
		"dimensions": [1, 2, 3], "complexity": "simple", "codebase": null, "focus_areas": [], "risks": [],
		"open_questions": []}' > "$WF_OUT/discovery.json" ;;
spec.ASK-*)
	status=ready_for_confirmation
	if test "$WF_TASK" = ASK-1; then status=need_more_discussion; fi
	f='{"name": "one", "description": "It does one thing."}'
	echo '{"status": "'$status'", "completeness": 7, "missing": [], "areas": [], "log": [], "features": ['"$f, $f"'],
		"problem": "Nobody knows what this is to be good for."}' > "$WF_OUT/refined.json" ;;
spec.CONFIRM-1)
	f='{"name": "one", "description": "It does one thing.", "criteria": [], "edge_cases": [], "priority": "must"}'
	echo '{"source": "interview", "rounds": 2, "problem": "Nobody knows what this is to be good for.", "domain": "any",
		"users": [{"name": "all", "needs": [], "pains": []}], "features": ['"$f, $f"'], "nfrs": [], "log": [],
		"boundaries": {"in_scope": [], "out_of_scope": [], "constraints": []}, "integrations": [],
		"assumptions": []}' > "$WF_OUT/refined-requirements.json" ;;
spec.VIEW-*)
	printf '%s\n' '{"schema_version": 1, "result_type": "ARTIFACT", "summary": "Made.",
		"files": [{"path": "view.md", "content": "- one\n- two\n- three\n"}]}'
	exit ;;
spec.BRIEF-1) doc product-brief ;;
spec.REQ-1) doc requirements ;;
spec.ARCH-1) doc architecture ;;
spec.EPICS-1) doc epics ;;
spec.READY-1) judge '"ratings": {"completeness": 85, "consistency": 85, "traceability": 80, "depth": 90}, ' ;;
blackboard.SCHEME-1)
	say dev_plan.json '{"milestones": [{"title": "One", "tasks": ['"$(part part-1), $(part part-2)"']}]}' ;;
blackboard.TEST-*) mkdir -p tests && echo "test -s src/part-${WF_TASK#TEST-}" > "tests/${WF_TASK#TEST-}.sh" ;;
blackboard.DEV-*)
	mkdir -p src
	for t in tests/*.sh; do t=${t#tests/}; echo $try > "src/part-${t%.sh}"; done ;;
constructs.LIST-1)
	case $prompt in
	*Three.*) echo '{"parts": [{"name": "a", "after": []}, {"name": "b", "after": []}, {"name": "c", "after": [2]},
		{"name": "d", "after": [1, 2]}]}' > "$WF_OUT/parts.json" ;;
	*)
		echo '{"schema_version": 1, "result_type": "NEEDS_INPUT", "needs": [{"name": "parts", "kind": "text",
			"question": "How many parts?", "to": "architect"}]}'
		exit ;;
	esac ;;
constructs.JUDGE-1) judge '"ratings": {"critical": 0, "low": 1}, ' ;;
*) judge ;;
esac
echo '{"schema_version": 1, "result_type": "ARTIFACT", "summary": "Made."}'
