#!/bin/sh
# git, with which the program that called it dies at a move of a ref that begins with CHAOS_REF, as CHAOS_KILL says: "lose" before the
# move that records something new, "keep" after it, before the program hears of it, "lost" after any first move.
# A move that only records that a worker did not come back is none for the first two, or no run would get any further.
case "$CHAOS_KILL $* " in *?" "*" update-ref "*" --create-reflog --stdin "*) ;; *) exec "$CHAOS_GIT" "$@" ;; esac
block=
while read -r line; do
	block="$block$line
"
	if test "$line" != commit; then continue; fi
	kill=
	case $block in
	*"update $CHAOS_REF"*)
		new=${block#*"update $CHAOS_REF"} kill=$CHAOS_KILL
		new=${new#* }
		case $kill$("$CHAOS_GIT" log -1 --format=:%s "${new%% *}") in lose:*': lost' | keep:*': lost') kill= ;; esac ;;
	esac
	if test "$kill" = lose; then kill -9 $PPID; exit 1; fi
	answer=$(printf %s "$block" | "$CHAOS_GIT" "$@")
	if test -n "$kill"; then kill -9 $PPID; exit 1; fi
	echo "$answer"
	block=
done
