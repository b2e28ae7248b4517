#!/bin/sh
# usage: plumbing.sh REF TASKS
#
# Carries out the tasks of the file TASKS (directory, task id, command, check; columns divided by tabs) and records two
# commits for each on REF: the version that the command made, and its review. The tree is that of docs/format.md, the
# files have the same content as git wf's. One index is kept for the whole run, and git is started only where it has
# something to do.
set -eu

ref=$1
tasks=$2
repo=$(git rev-parse --show-toplevel)
index=$(git rev-parse --absolute-git-dir)/plumbing-index
tip=$(git rev-parse --verify "$ref^{commit}")
head=$(git rev-parse --verify HEAD)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out
candidate=$scratch/candidate
artifact=$scratch/artifact.json
review=$scratch/review.json
verdict=$scratch/APPROVED.md
mkdir "$scratch/work"
export GIT_INDEX_FILE="$index"
git read-tree "$tip"

if command -v sha256sum >/dev/null; then
	sha256() { sha256sum; }
else
	sha256() { shasum -a 256; }
fi

# record AUTHOR: commits what is in the index, with the message from standard input.
record() {
	root=$(git write-tree)
	commit=$(GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$1@agents.git-wf.invalid git commit-tree "$root" -p "$tip")
	git update-ref -m "$1" "$ref" "$commit" "$tip"
	tip=$commit
}

write_artifact() {
	cat >"$artifact" <<EOF
{
  "task_id": "$id",
  "artifact_id": "v1",
  "tree": "$files",
  "agent": "exec",
  "session": "plumbing-$$",
  "created_at": "$now",
  "source_commit": "$head",
  "inputs": [],
  "files": [
    {
      "path": "out.txt",
      "mode": "100644",
      "oid": "$blob",
      "sha256": "$sum",
      "size": $size
    }
  ],
  "size": $size
}
EOF
}

write_review() {
	cat >"$review" <<EOF
{
  "review_id": "r1",
  "task_id": "$id",
  "check_task_id": "CHECK-$id",
  "reviewed_artifact_id": "v1",
  "tree": "$files",
  "verdict": "APPROVED",
  "score": 100,
  "min_score": 90,
  "reviewer": "checks",
  "session": "plumbing-$$",
  "created_at": "$now",
  "criteria": [
    {
      "id": "A1",
      "statement": "out.txt contains at least 1 line.",
      "severity": "MUST",
      "result": "pass",
      "evidence": "exit 0, no output",
      "by": "checks",
      "exit_code": 0
    }
  ],
  "reason": "All 1 criteria passed."
}
EOF
	cat >"$verdict" <<EOF
# APPROVED: $id v1

| | |
| --- | --- |
| Verdict | **APPROVED** |
| Score | 100 of 100, at least 90 needed |
| Reviewer | checks |
| Review | r1, by task CHECK-$id |
| Version | v1, tree \`$files\` |
| Date | $now |

## Criteria

| | criterion | severity | result | evidence |
| --- | --- | --- | --- | --- |
| A1 | out.txt contains at least 1 line. | MUST | pass (exit 0) | exit 0, no output |

## Reasons

> All 1 criteria passed.
EOF
}

tab=$(printf '\t')
while IFS=$tab read -r dir id run check; do
	# The version.
	rm -rf "$out" "$candidate"
	mkdir "$out" "$candidate"
	(
		unset GIT_INDEX_FILE
		cd "$scratch/work"
		export WF_OUT="$out" WF_REPO="$repo" WF_TASK="$id"
		exec sh -c "$run"
	)
	now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	blob=$(git hash-object -w "$out/out.txt")
	git update-index --add --cacheinfo "100644,$blob,$dir/artifacts/v1/files/out.txt"
	files=$(git write-tree --prefix="$dir/artifacts/v1/files/")
	sum=$(sha256 <"$out/out.txt")
	sum=${sum%% *}
	size=$(($(wc -c <"$out/out.txt")))
	write_artifact
	json=$(git hash-object -w "$artifact")
	git update-index --add --cacheinfo "100644,$json,$dir/artifacts/v1/artifact.json"
	record exec <<EOF
$id: v1 by exec

Wf-Event: artifact
Wf-Task: $id
Wf-Artifact: v1
Wf-Agent: exec
EOF

	# Its review, on a copy.
	cp "$out/out.txt" "$candidate"
	(
		unset GIT_INDEX_FILE
		cd "$candidate"
		export WF_REPO="$repo" WF_TASK="$id"
		exec sh -c "$check"
	)
	write_review
	{ read -r json && read -r text; } <<EOF
$(git hash-object -w "$review" "$verdict")
EOF
	git update-index --add \
		--cacheinfo "100644,$json,$dir/reviews/r1-v1-100-checks/review.json" \
		--cacheinfo "100644,$text,$dir/reviews/r1-v1-100-checks/APPROVED.md"
	record checks <<EOF
$id: approve v1 (score 100)

All 1 criteria passed.

Wf-Event: review
Wf-Task: $id
Wf-Artifact: v1
Wf-Review: r1
Wf-Verdict: APPROVED
Wf-Score: 100
Wf-Agent: checks
EOF
done <"$tasks"
