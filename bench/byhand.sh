# usage: byhand.sh each|together
#
# What the gate checks, as a pre-commit hook by hand: each file below deliverables/ that is staged has the content that the
# plan's own history says was approved, none is missing, none is added, and the manifest lists them with their sums. "each"
# reads and sums every file by itself, "together" all of them at once. Everything else starts git once for the whole bundle.
#
# It does less than the gate: it knows neither a policy nor waivers, relies on how git wf writes JSON, makes no manifest to
# compare, and asks neither for the score and the criteria of a review nor whether an artifact.json fits its tree.
set -eu

git diff --cached --quiet --no-ext-diff HEAD -- deliverables && exit 0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

sha256=sha256sum # two words where there is none
command -v sha256sum >/dev/null || sha256='shasum -a 256'

fail() {
	printf 'byhand: %s\n' "$*" >&2
	exit 1
}

# approved COMMIT: prints "commit:directory/artifacts/vN/artifact.json" of each task's newest approved version. Of each
# reviewer the newest review of a version counts; one that rejects is enough to reject.
approved() {
	git ls-tree -r --full-tree --name-only "$1" tasks | awk -F/ -v commit="$1" '
		$4 == "reviews" && $6 ~ /^(APPROVED|REJECTED)[.]md$/ && $3 !~ /^PLAN-/ {
			split($5, name, "-")
			number = substr(name[1], 2) + 0
			version = substr(name[2], 2) + 0
			who = $5
			sub(/^r[0-9]+-v[0-9]+-[0-9]+-/, "", who)
			key = $1 "/" $2 "/" $3 "\t" version "\t" who
			if (number >= newest[key]) { newest[key] = number; verdict[key] = $6 }
		}
		END {
			for (key in verdict) {
				split(key, k, "\t")
				if (verdict[key] == "REJECTED.md") rejected[k[1] "\t" k[2]] = 1
			}
			for (key in verdict) {
				split(key, k, "\t")
				if (!((k[1] "\t" k[2]) in rejected) && k[2] + 0 > best[k[1]] + 0) best[k[1]] = k[2]
			}
			for (dir in best) print commit ":" dir "/artifacts/v" best[dir] "/artifact.json"
		}'
}

# listed FILE PATHFIELD: prints "mode sum path" of each file that a JSON document of git wf lists.
listed() {
	awk -F'"' -v field="$1" '
		/^  "task_id"/ { task = $4 }
		$2 == field { path = $4 }
		$2 == "mode" { mode = $4 }
		$2 == "sha256" {
			if (field == "path") path = task "/" path
			print mode, $4, path
		}' "$2"
}

# A bundle names the directory of a task by its title and its id: here by the id alone.
by_task() { sed 's,^\([0-9]* [0-9a-f]*\) [^/]*_\([^/_]*/\),\1 \2,' | LC_ALL=C sort; }

for manifest in $(git ls-files --full-name ':(top,glob)deliverables/*/bundle/manifest.json'); do
	bundle=${manifest%/manifest.json}
	plan=${bundle#deliverables/}
	plan=${plan%/bundle}
	git show ":$manifest" >"$tmp/manifest"
	commit=$(sed -n 's/^  "plan_commit": "\([0-9a-f]*\)",$/\1/p' "$tmp/manifest")
	git merge-base --is-ancestor "$commit" "refs/workflow/$plan" || fail "$manifest: is not of $plan"

	approved "$commit" | git cat-file --batch >"$tmp/artifacts"
	listed path "$tmp/artifacts" | LC_ALL=C sort >"$tmp/want"
	listed dest_path "$tmp/manifest" | grep -v ' [.]gitattributes$' | by_task | cmp -s - "$tmp/want" || fail "$manifest: lists something else"

	# What is staged, in the same form. The sums come in the order of the paths.
	git ls-files --stage --full-name -- "$bundle" | grep -v -e '/manifest[.]json$' -e '/bundle/[.]gitattributes$' >"$tmp/index"
	cut -f2 "$tmp/index" >"$tmp/paths"
	git diff --cached --name-only --no-renames --diff-filter=d HEAD -- "$bundle" |
		grep -v -e '/manifest[.]json$' -e '/bundle/[.]gitattributes$' >"$tmp/changed" || :
	cmp -s "$tmp/paths" "$tmp/changed" || fail "$bundle: this script judges whole bundles"
	case $1 in
	each)
		# By object id: to find each path in the index anew would cost more than all the rest.
		while read -r _ oid _; do
			git cat-file blob "$oid" | $sha256
		done <"$tmp/index" >"$tmp/sums" ;;
	together)
		git checkout-index --stdin --prefix="$tmp/files/" <"$tmp/paths"
		# shellcheck disable=SC2086
		(cd "$tmp/files" && tr '\n' '\0' <"$tmp/paths" | xargs -0 $sha256) >"$tmp/sums" ;;
	esac
	paste -d' ' "$tmp/index" "$tmp/sums" | awk -F'[ \t]' -v cut="$((${#bundle} + 2))" '{ print $1, $5, substr($4, cut) }' |
		by_task >"$tmp/have"
	cmp -s "$tmp/have" "$tmp/want" || fail "$bundle: not what was approved"
done
