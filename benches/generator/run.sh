#!/bin/sh
# What a load generator costs its host: CPU per request and per MiB, side by side.
#
#   benches/generator/run.sh [SECONDS [REPEATS]]
#
# nginx with one worker on one core, the client on another, 8 connections, a body of
# 1 KB and one of 3.23 MiB. Tools that are not installed are left out: wrk, h2load,
# ab, hey (Debian: wrk, nghttp2-client, apache2-utils, hey), oha (cargo install oha).
# TAPSTAT names the binary, WIRE what is spoken (http1, tls or http2), SERVER_CORE and CLIENT_CORE the cores (0 and 1).
#
# CPU is user + system of the client's whole process, by the kernel (wait4); requests
# and bytes are nginx's own count, so that every tool is judged alike, its start and
# its connecting included.
set -eu

seconds=${1:-10}
repeats=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
tapstat=${TAPSTAT:-$here/../../target/release/tapstat}
server=${SERVER_CORE:-0}
client=${CLIENT_CORE:-1}
exec python3 "$here/compare.py" --tapstat "$tapstat" --seconds "$seconds" \
    --repeats "$repeats" --wire "${WIRE:-http1}" --server-core "$server" --client-core "$client"
