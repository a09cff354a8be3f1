#!/bin/bash
# GAVO DaCHS as a target: the packages of Debian 12, a corpus made by
# `tapstat corpus`, TAP at http://localhost:8080/tap, on loopback only.
#
#   dachs.sh start DIR    install what is missing, load DIR/obscore.csv, serve
#   dachs.sh stop         stop the server, and PostgreSQL if `start` started it
#   dachs.sh status       say what runs; exit with 1 where nothing answers
#
# Environment:
#   DACHS_PORT     port of the server [8080]
#   DACHS_MEMORY   memory that the whole target may count on, in MiB
#                  [what the control group allows, else what the machine has]
#
# `start` and `stop` need root. What is there already is left as it is: a second
# `start` with the same corpus does nothing but check. README.md says what it
# changes on the machine and how to take it back.

set -euo pipefail
umask 022
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${DACHS_PORT:-8080}
url=http://localhost:$port/tap
postgres=15
resource=/var/gavo/inputs/tapstat
pid_file=/var/gavo/state/web.pid
we_started=/run/tapstat-started-postgresql
settings=/etc/postgresql/$postgres/main/conf.d/tapstat.conf
mark='# Written by targets/dachs/dachs.sh of tapstat.'
must_restart=

say() { printf 'dachs.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }

# As a user, with an environment that holds nothing of the caller's.
as() {
	local user=$1
	shift
	runuser -u "$user" -- env -i LANG=C.UTF-8 HOME=/nonexistent \
		PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

# One statement in DaCHS's database; its error is the caller's to read.
sql() { as postgres psql -XAtq -v ON_ERROR_STOP=1 -p 5432 -d gavo -c "$1"; }

is_installed() {
	[[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]
}

install_missing() {
	local package missing=()
	for package; do is_installed "$package" || missing+=("$package"); done
	((${#missing[@]})) || return 0
	say "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -y update >&2
	apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" >&2
}

# Waits up to a number of seconds for a command to succeed.
wait_for() {
	local seconds=$1 i
	shift
	for ((i = 0; i < 5 * seconds; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.2
	done
	return 1
}

# ---- PostgreSQL

memory_mib() {
	local limit total
	total=$(($(awk '$1 == "MemTotal:" {print $2}' /proc/meminfo) / 1024))
	limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
	if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1048576 < total)); then
		total=$((limit / 1048576))
	fi
	echo "${DACHS_MEMORY:-$total}"
}

# Sizes follow from the memory by one rule, so that a larger tier is a larger
# server, and nobody tuned one of them by hand.
write_sizes() {
	local memory new
	memory=$(memory_mib)
	((memory >= 256)) || fail "DACHS_MEMORY is $memory MiB: expected 256 or more"
	new="$mark
# $memory MiB of memory: a quarter of it for shared buffers.
shared_buffers = $((memory / 4))MB
effective_cache_size = $((memory / 2))MB
maintenance_work_mem = $((memory / 16))MB
work_mem = $((memory / 256))MB"
	[[ $(cat "$settings" 2>/dev/null) == "$new" ]] && return
	install -d -o postgres -g postgres "$(dirname "$settings")"
	printf '%s\n' "$new" >"$settings"
	if is_online; then
		pg_ctlcluster $postgres main restart
		must_restart=yes
	fi
	say "PostgreSQL has $((memory / 4)) MiB of shared buffers"
}

cluster() { pg_lsclusters -h | awk -v version=$postgres '$1 == version && $2 == "main"'; }
is_online() { [[ $(cluster) == *online* ]]; }

start_postgres() {
	[[ -n $(cluster) ]] || pg_createcluster $postgres main >&2
	[[ $(cluster | awk '{print $3}') == 5432 ]] ||
		fail "the cluster $postgres/main is not at port 5432, where DaCHS looks for it"
	write_sizes
	if ! is_online; then
		pg_ctlcluster $postgres main start
		touch "$we_started"
	fi
	wait_for 60 pg_isready -q -h localhost -p 5432 || fail 'PostgreSQL does not answer'
}

# Debian's pgSphere declares the operator @> of smoc and bigint, and of smoc and
# spoint, as the commutator of one that has another already. PostgreSQL 15 from
# 15.20 on looks, and refuses the extension. Nothing uses these operators: where
# it is refused, it is installed from a copy without the two declarations.
add_pgsphere() {
	local folder=/usr/share/postgresql/$postgres/extension version
	[[ $(sql "SELECT 1 FROM pg_extension WHERE extname = 'pg_sphere'") != 1 ]] || return 0
	sql 'CREATE EXTENSION pg_sphere' 2>/dev/null && return
	version=$(sql "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_sphere'")
	python3 - "$folder/pg_sphere--$version.sql" "$folder/pg_sphere--${version}tapstat.sql" <<-'END'
		import re, sys
		text = open(sys.argv[1], encoding="utf-8").read()
		def mend(found):
		    block = found.group()
		    if not re.search(r"RIGHTARG\s*=\s*smoc", block):
		        return block
		    return re.sub(r"\n\s*(COMMUTATOR|NEGATOR)[^\n]*", "", block)
		text = re.sub(r"CREATE OPERATOR @ \(\n.*?\n\);", mend, text, flags=re.S)
		open(sys.argv[2], "w", encoding="utf-8").write(text)
	END
	sql "CREATE EXTENSION pg_sphere VERSION '${version}tapstat'"
	say 'pgSphere was mended for this PostgreSQL'
}

# ---- DaCHS

# Before the package is installed, whose own script reads it. Without an
# authority nothing can be published.
write_gavo_rc() {
	local new="$mark
[general]
maintainerAddress: nobody@tapstat.example

[web]
bindAddress: 127.0.0.1
serverPort: $port
serverURL: http://localhost:$port
sitename: tapstat target

[ivoa]
authority: tapstat.example"
	[[ $(cat /etc/gavo.rc 2>/dev/null) == "$new" ]] && return
	if [[ -e /etc/gavo.rc ]] && ! grep -qxF "$mark" /etc/gavo.rc; then
		mv /etc/gavo.rc /etc/gavo.rc.before-tapstat
		say 'the former /etc/gavo.rc is /etc/gavo.rc.before-tapstat now'
	fi
	printf '%s\n' "$new" >/etc/gavo.rc
	must_restart=yes
}

install_dachs() {
	as postgres createdb -p 5432 --encoding=UTF-8 --template template0 gavo 2>/dev/null || true
	add_pgsphere
	if ! is_installed gavodachs2-server; then
		# One that failed half-way, for want of a database, is finished first.
		dpkg --configure -a >&2
		install_missing gavodachs2-server
	fi
	if ! sql 'SELECT 1 FROM dc.rdmeta LIMIT 1' >/dev/null 2>&1; then
		as postgres createuser -p 5432 -s dachsroot 2>/dev/null || true
		as dachsroot dachs init >&2
	fi
}

count() { sql "SELECT count(*) FROM $1" 2>/dev/null || echo none; }

load() {
	local corpus=$1 rows sum stamp=$resource/loaded
	sum=$(cat "$corpus" "$home/obscore.rd" | sha256sum | cut -d' ' -f1)
	rows=$(cat "$stamp" 2>/dev/null || true)
	if [[ $rows == "$sum "* && $(count ivoa.obscore) == "${rows#* }" ]]; then
		say "the corpus of ${rows#* } rows is loaded already"
	else
		rm -f "$stamp"
		say 'loading the corpus'
		install -d -o dachsroot -g gavo -m 2775 "$resource" "$resource/data"
		install -o dachsroot -g gavo -m 664 "$home/obscore.rd" "$resource/q.rd"
		install -o dachsroot -g gavo -m 664 "$corpus" "$resource/data/obscore.csv"
		sql 'SELECT 1 FROM ivoa._obscoresources LIMIT 1' >/dev/null 2>&1 ||
			as dachsroot dachs imp //obscore >&2
		as dachsroot dachs imp tapstat/q >&2
		sql 'ANALYZE tapstat.observations'
		[[ $(count ivoa.obscore) == "$(count tapstat.observations)" ]] ||
			fail "ivoa.obscore holds other tables than the corpus: see README.md"
		echo "$sum $(count ivoa.obscore)" >"$stamp"
		must_restart=yes
	fi
	if [[ $(sql "SELECT count(*) FROM dc.resources WHERE sourcerd = '__system__/tap' AND NOT deleted") == 0 ]]; then
		as dachsroot dachs pub //tap >&2
		must_restart=yes
	fi
}

# The process id of the server that runs, or nothing and 1.
dachs_pid() {
	local pid
	pid=$(cat "$pid_file" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] &&
		grep -qs dachs "/proc/$pid/cmdline" && echo "$pid"
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }
answers() { curl -fs -m 5 -o /dev/null "$url/capabilities"; }
is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }

stop_dachs() {
	local pid
	pid=$(dachs_pid) || return 0
	# It ignores an interrupt where it runs in the background.
	kill -TERM "$pid"
	wait_for 30 is_gone "$pid" || fail "DaCHS (process $pid) does not end"
	rm -f "$pid_file"
	say "DaCHS stopped (process $pid)"
}

start_dachs() {
	if dachs_pid >/dev/null; then
		[[ -n $must_restart ]] || return 0
		stop_dachs
	fi
	is_taken && fail "another program listens at port $port"
	rm -f "$pid_file"
	as gavo dachs serve start </dev/null >/dev/null 2>&1
	if ! wait_for 120 answers; then
		tail -n 20 /var/gavo/logs/server.stderr /var/gavo/logs/dcErrors >&2 || true
		fail "DaCHS does not answer at $url/capabilities"
	fi
}

# What the loaded table says of itself, asked as a client asks.
check() {
	local expected answer
	expected=$(cut -d' ' -f2 "$resource/loaded")
	answer=$(curl -sS -m 60 "$url/sync" -d LANG=ADQL -d RESPONSEFORMAT=csv \
		--data-urlencode 'QUERY=SELECT COUNT(*) AS n FROM ivoa.obscore' | tr -d '\r' | tail -n 1)
	[[ $answer == "$expected" ]] ||
		fail "ivoa.obscore should have $expected rows, but the server says: $answer"
	echo "$url: $answer rows in ivoa.obscore, process $(dachs_pid)"
}

# ---- commands

start() {
	local corpus=$1/obscore.csv
	[[ -r $corpus ]] || fail "$corpus: cannot be read: expected a folder made by \`tapstat corpus\`"
	corpus=$(realpath "$corpus")
	cd /
	install_missing postgresql-$postgres postgresql-$postgres-pgsphere postgresql-$postgres-q3c curl
	start_postgres
	write_gavo_rc
	install_dachs
	load "$corpus"
	start_dachs
	check
}

stop() {
	stop_dachs
	if [[ -e $we_started ]]; then
		pg_ctlcluster $postgres main stop -m fast || true
		rm -f "$we_started"
		say 'PostgreSQL stopped'
	fi
}

status() {
	local pid
	if pid=$(dachs_pid) && answers; then
		echo "$url: answers, process $pid"
	else
		echo "$url: does not answer"
		return 1
	fi
}

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

as_root() { [[ $(id -u) == 0 ]] || fail 'only root can start and stop it'; }

case ${1:-} in
start) [[ $# == 2 ]] || usage; as_root; start "$2" ;;
stop) [[ $# == 1 ]] || usage; as_root; stop ;;
status) [[ $# == 1 ]] || usage; status ;;
*) usage ;;
esac
