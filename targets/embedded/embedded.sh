#!/bin/bash
# The TAP server inside tapstat, in one shape or another, on loopback.
#
#   embedded.sh start NAME PORT DIR [FLAG…]   serve the corpus in DIR at
#                                             http://localhost:PORT/tap; the flags
#                                             are those of `tapstat serve`
#   embedded.sh stop NAME                     stop it
#   embedded.sh status                        say which of them run; exit with 1 if
#                                             none does
#
# Environment:
#   EMBEDDED_HOME   folder of the pid files and logs [/tmp/tapstat-embedded]
#   TAPSTAT         the program [tapstat, from the PATH]
#
# What runs already is left as it is.

set -euo pipefail
umask 022

home=${EMBEDDED_HOME:-/tmp/tapstat-embedded}
program=${TAPSTAT:-tapstat}

say() { printf 'embedded.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# The process id of the server of that name, or nothing and 1.
pid() {
	local pid
	pid=$(cat "$home/$1.pid" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] &&
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ' serve ' && echo "$pid"
}

start() {
	local name=$1 port=$2 corpus=$3 i
	shift 3
	command -v "$program" >/dev/null || fail "there is no $program: put it on the PATH, or name it by TAPSTAT"
	mkdir -p "$home"
	if ! pid "$name" >/dev/null; then
		nohup "$program" serve --corpus "$corpus" --port "$port" "$@" \
			>"$home/$name.url" 2>"$home/$name.log" </dev/null &
		echo $! >"$home/$name.pid"
	fi
	# It prints its URL once it answers.
	for ((i = 0; i < 600; i++)); do
		if [[ -s $home/$name.url ]]; then
			echo "$(cat "$home/$name.url"): $name, process $(pid "$name")"
			return
		fi
		pid "$name" >/dev/null || fail "$name ended: $(cat "$home/$name.log")"
		sleep 0.1
	done
	fail "$name does not answer: see $home/$name.log"
}

stop() {
	local pid i
	pid=$(pid "$1") || return 0
	kill -TERM "$pid"
	for ((i = 0; i < 100; i++)); do
		if ! kill -0 "$pid" 2>/dev/null; then
			rm -f "$home/$1.pid" "$home/$1.url"
			say "$1 stopped (process $pid)"
			return
		fi
		sleep 0.1
	done
	fail "$1 (process $pid) does not end"
}

status() {
	local file name found=1
	for file in "$home"/*.pid; do
		[[ -e $file ]] || continue
		name=$(basename "$file" .pid)
		if pid "$name" >/dev/null; then
			echo "$(cat "$home/$name.url"): $name, process $(pid "$name")"
			found=0
		fi
	done
	return "$found"
}

case ${1-} in
start) (($# >= 4)) || usage; start "${@:2}" ;;
stop) (($# == 2)) || usage; stop "$2" ;;
status) (($# == 1)) || usage; status ;;
*) usage ;;
esac
