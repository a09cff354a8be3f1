#!/bin/bash
# nginx as a target of plain HTTP: three pages, one or two workers, on loopback.
#
#   nginx.sh start N     serve with N workers (1 or 2) at http://127.0.0.1:809N
#   nginx.sh stop N      stop it
#   nginx.sh status      say which of them answer; exit with 1 if none does
#   nginx.sh requests    print the corpus of requests for these pages
#
# Environment:
#   NGINX_HOME   folder of the pages, the logs and the pid files [/tmp/tapstat-nginx]
#   NGINX_PORT   port, for one at a time whatever its workers are [809N]
#
# It needs nginx (Debian: apt-get install nginx-light) and no rights. What runs
# already is left as it is.

set -euo pipefail
umask 022
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=${NGINX_HOME:-/tmp/tapstat-nginx}

say() { printf 'nginx.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

port() { echo "${NGINX_PORT:-809$1}"; }
url() { echo "http://127.0.0.1:$(port "$1")"; }
pid_file() { echo "$home/$1/nginx.pid"; }

# The process id of the master with so many workers, or nothing and 1.
pid() {
	local pid
	pid=$(cat "$(pid_file "$1")" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] &&
		grep -qs nginx "/proc/$pid/cmdline" && echo "$pid"
}

answers() { curl -fs -m 5 -o /dev/null "$(url "$1")/1k.txt"; }

# The same bytes on any machine: lines of 64 characters, numbered.
page() {
	local path=$home/pages/$1 bytes=$2
	[[ $(stat -c %s "$path" 2>/dev/null) == "$bytes" ]] && return
	awk -v lines=$((bytes / 64)) 'BEGIN {
		for (n = 1; n <= lines; n++)
			printf "%08d %s\n", n, "the same text on every line, so that all of it can be chec"
	}' | cut -c1-63 >"$path"
	[[ $(stat -c %s "$path") == "$bytes" ]] || fail "$path has $(stat -c %s "$path") bytes, not $bytes"
}

start() {
	local workers=$1 i
	command -v nginx >/dev/null || fail 'there is no nginx: apt-get install nginx-light'
	mkdir -p "$home/pages" "$home/$workers"
	page 1k.txt 1024
	page 64k.txt 65536
	page 1m.txt 1048576
	if ! pid "$workers" >/dev/null; then
		sed -e "s|@HOME@|$home|g" -e "s|@PORT@|$(port "$workers")|g" -e "s|@WORKERS@|$workers|g" "$here/nginx.conf" >"$home/$workers/nginx.conf"
		nginx -p "$home/$workers" -e "$home/$workers/error.log" -c "$home/$workers/nginx.conf"
	fi
	for ((i = 0; i < 50; i++)); do
		if answers "$workers"; then
			echo "$(url "$workers"): $workers worker(s), process $(pid "$workers")"
			return
		fi
		sleep 0.1
	done
	fail "nginx does not answer at $(url "$workers"): see $home/$workers/error.log"
}

stop() {
	local pid i
	pid=$(pid "$1") || return 0
	kill -QUIT "$pid"
	for ((i = 0; i < 100; i++)); do
		if ! kill -0 "$pid" 2>/dev/null; then
			say "stopped (process $pid)"
			return
		fi
		sleep 0.1
	done
	fail "nginx (process $pid) does not end"
}

status() {
	local workers found=1
	for workers in 1 2; do
		if pid "$workers" >/dev/null && answers "$workers"; then
			echo "$(url "$workers"): answers, process $(pid "$workers")"
			found=0
		else
			echo "$(url "$workers"): does not answer"
		fi
	done
	return $found
}

requests() {
	local name
	for name in 1k 64k 1m; do
		printf '{"query_id": "%s", "query_class": "static-%s", "method": "GET", "path": "/%s.txt"}\n' "$name" "$name" "$name"
	done
}

case ${1:-} in
start | stop) [[ $# == 2 && $2 =~ ^[12]$ ]] || usage; "$1" "$2" ;;
status | requests) [[ $# == 1 ]] || usage; "$1" ;;
*) usage ;;
esac
