#!/bin/sh
# Builds git-wf and installs it with its manual page and completions.
#
#	sh install.sh                      below ~/.local
#	PREFIX=/usr/local sh install.sh    somewhere else
#	sh install.sh --uninstall          removes what was installed below the same PREFIX
#
# DESTDIR is put before PREFIX for whoever makes a package.
set -eu

die() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

case $#,${1-} in
0,) action=install ;;
1,--uninstall) action=uninstall ;;
1,-h | 1,--help)
	sed -n '2,8s/^# \{0,1\}//p' "$0"
	exit 0
	;;
*) die "usage: [PREFIX=DIR] [DESTDIR=DIR] sh install.sh [--uninstall]" ;;
esac

if [ -z "${PREFIX-}" ]; then
	[ -n "${HOME-}" ] || die "HOME is not set: say where to install with PREFIX=DIR"
	PREFIX=$HOME/.local
fi
case $PREFIX in
/*) ;;
*) PREFIX=$PWD/$PREFIX ;;
esac
case ${DESTDIR-} in
'' | /*) ;;
*) DESTDIR=$PWD/$DESTDIR ;;
esac
root=${DESTDIR-}$PREFIX

exe=
case $(uname -s) in
MINGW* | MSYS* | CYGWIN*) exe=.exe ;;
esac
program=bin/git-wf$exe
page=share/man/man1/git-wf.1
for_bash=share/bash-completion/completions/git-wf
for_zsh=share/zsh/site-functions/_git-wf
for_fish=share/fish/vendor_completions.d/git-wf.fish

if [ "$action" = uninstall ]; then
	for file in "$program" "$page" "$for_bash" "$for_zsh" "$for_fish"; do
		if [ -e "$root/$file" ]; then
			rm -f -- "$root/$file"
			printf 'removed %s\n' "$root/$file"
		fi
	done
	exit 0
fi

# at_least FOUND MAJOR MINOR compares the first two numbers of a version.
at_least() {
	major=${1%%.*}
	minor=${1#*.}
	minor=${minor%%[!0-9]*}
	[ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "${minor:-0}" -ge "$3" ]; }
}

command -v git >/dev/null 2>&1 || die "git was not found: install git 2.34 or later"
found=$(git version | sed -n 's/^git version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
at_least "${found:-0.0}" 2 34 || die "git 2.34 or later is needed, found $(git version)"
command -v go >/dev/null 2>&1 || die "go was not found: install Go 1.21 or later (it fetches the version that go.mod names)"
found=$(go version | sed -n 's/^go version go\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
# A version without a number is one built from Go's own development branch.
at_least "${found:-1.21}" 1 21 || die "Go 1.21 or later is needed, found $(go version)"

source=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
built=$(mktemp -d "${TMPDIR:-/tmp}/git-wf-install.XXXXXX")
trap 'rm -rf -- "$built"' EXIT
trap 'exit 130' INT TERM

# A GIT_DIR from a hook or an alias would have the version of another repository stamped.
# shellcheck disable=SC2046 # a list of names
unset $(git rev-parse --local-env-vars)
version=devel
if [ -e "$source/.git" ]; then
	version=$(git --no-optional-locks -C "$source" describe --tags --always --dirty 2>/dev/null) || version=devel
fi

printf 'building git-wf %s\n' "$version"
# The model services speak HTTP/1.1, too: the tag leaves out half a megabyte.
(cd -- "$source" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags nethttpomithttp2 \
	-ldflags "-s -w -X main.version=$version" -o "$built/git-wf$exe" ./cmd/git-wf)
for shell in bash zsh fish; do
	"$built/git-wf$exe" completion "$shell" >"$built/$shell"
done

# put MODE FILE PLACE replaces the file in one step, because a git-wf that is running may not be written to.
put() {
	mkdir -p -- "$(dirname -- "$root/$3")"
	cp -- "$2" "$root/$3.new"
	chmod "$1" "$root/$3.new"
	mv -f -- "$root/$3.new" "$root/$3"
	printf 'installed %s\n' "$root/$3"
}

put 755 "$built/git-wf$exe" "$program"
put 644 "$source/docs/git-wf.1" "$page"
put 644 "$built/bash" "$for_bash"
put 644 "$built/zsh" "$for_zsh"
put 644 "$built/fish" "$for_fish"

[ -z "${DESTDIR-}" ] || exit 0

case ":$PATH:" in
*":$PREFIX/bin:"*) ;;
*)
	# shellcheck disable=SC2016 # $PATH is for the reader's shell
	printf '\n%s is not on your PATH, where git looks for "wf". Add to your shell'\''s profile:\n  export PATH="%s:$PATH"\n' "$PREFIX/bin" "$PREFIX/bin"
	;;
esac
if command -v man >/dev/null 2>&1 && ! PATH=$PREFIX/bin:$PATH man -w git-wf >/dev/null 2>&1; then
	# shellcheck disable=SC2016 # as above
	printf '\nman does not search %s. For "git help wf", add to your shell'\''s profile:\n  export MANPATH="%s:${MANPATH-}"\n' "$PREFIX/share/man" "$PREFIX/share/man"
fi
if command -v zsh >/dev/null 2>&1 && ! zsh -fc 'print -rl -- $fpath' | grep -qxF -- "$PREFIX/share/zsh/site-functions"; then
	# shellcheck disable=SC2016 # as above
	printf '\nzsh does not search %s. For completion, add to ~/.zshrc, before compinit:\n  fpath=("%s" $fpath)\n' "$PREFIX/share/zsh/site-functions" "$PREFIX/share/zsh/site-functions"
fi
