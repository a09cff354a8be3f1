#!/usr/bin/env python3
"""Runs each load generator against nginx, and prints what it cost its host.

--wire http1 (all tools), tls (HTTP/1.1 over TLS) or http2 (over TLS, with --streams
requests at once on each connection): those that speak it. ab and hey speak no HTTP/2
over several streams, wrk none at all. --awake keeps idle cores from sleeping meanwhile (0
in /dev/cpu_dma_latency, which needs root): who waits for an answer is woken by the server,
and a core that sleeps costs the server more to wake.
"""

import argparse
import contextlib
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONNECTIONS = 8
BODIES = {"small": 1_024, "wide": 3_386_900}
CONFIG = """
worker_processes 1;
daemon off;
pid {root}/nginx.pid;
error_log {root}/error.log;
events {{ worker_connections 1024; }}
http {{
    log_format sent $body_bytes_sent;
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
    uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
    ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem;
    ssl_session_cache off;
    server {{
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls_port} ssl http2;
        root {root}/html;
        location = /status {{ stub_status; }}
        location = /wide {{ access_log {root}/sent.log sent; }}
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def status(port):
    """Open connections and requests that nginx has counted so far, this one included."""
    with socket.create_connection(("127.0.0.1", port)) as ask:
        ask.sendall(b"GET /status HTTP/1.0\r\n\r\n")
        text = b""
        while part := ask.recv(4096):
            text += part
    return (int(re.search(rb"connections: (\d+)", text).group(1)),
            int(re.search(rb"requests\s+\d+ \d+ (\d+)", text).group(1)))


class Served:
    """What nginx has sent since this was made, in responses.

    Wide ones by their bytes, as its log has them: a tool that breaks off at the end of its
    time leaves as many behind as it had under way, and nginx counts those from their start.
    """

    def __init__(self, root, port, body):
        self.port, self.size = port, BODIES[body]
        self.log = Path(root, "sent.log") if body == "wide" else None
        self.start = self.log.stat().st_size if self.log else status(port)[1]

    def count(self):
        for _ in range(200):
            connections, requests = status(self.port)
            if connections == 1:
                break
            time.sleep(0.02)
        if self.log is None:
            return requests - self.start - 1
        with self.log.open() as log:
            log.seek(self.start)
            return sum(map(int, log)) / self.size


def certificate(root):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", f"{root}/key.pem",
                    "-out", f"{root}/cert.pem"], check=True, stderr=subprocess.DEVNULL)


def commands(tapstat, url, seconds, wire="http1", streams=1):
    """How each tool is asked for the same: a closed loop of so many seconds."""
    c, s, m = str(CONNECTIONS), str(seconds), str(streams)
    own = [tapstat, "load", url, "-c", c, "-d", s, "--warmup", "0", "--guard-max", "9",
           "--format", "json"]
    if wire == "http2":
        return {
            "tapstat": [*own, "--insecure", "--http2", "--streams", m],
            "h2load": ["h2load", "-t", "1", "-c", c, "-m", m, "-D", s, url],
            "oha": ["oha", "--no-tui", "--insecure", "--http2", "-c", c, "-p", m, "-z", f"{s}s", url],
        }
    if wire == "tls":
        return {
            "tapstat": [*own, "--insecure"],
            "wrk": ["wrk", "-t", "1", "-c", c, "-d", f"{s}s", url],
            "h2load": ["h2load", "--h1", "-t", "1", "-c", c, "-D", s, url],
            "ab": ["ab", "-q", "-k", "-c", c, "-t", s, "-n", "100000000", url],
            "oha": ["oha", "--no-tui", "--insecure", "-c", c, "-z", f"{s}s", url],
        }
    return {
        "tapstat": own,
        "wrk": ["wrk", "-t", "1", "-c", c, "-d", f"{s}s", url],
        "h2load": ["h2load", "--h1", "-t", "1", "-c", c, "-D", s, url],
        "ab": ["ab", "-q", "-k", "-c", c, "-t", s, "-n", "100000000", url],
        "hey": ["hey", "-cpus", "1", "-c", c, "-z", f"{s}s", url],
        "oha": ["oha", "--no-tui", "-c", c, "-z", f"{s}s", url],
    }


def run(command, core):
    """CPU seconds and wall-clock seconds of a command on a core."""
    began = time.monotonic()
    child = subprocess.Popen(["taskset", "-c", str(core), *command],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode}:\n{output.decode()}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began


@contextlib.contextmanager
def cores(awake):
    """Keeps idle cores from sleeping for as long as the block does, if that is wanted."""
    if not awake:
        yield
        return
    with open("/dev/cpu_dma_latency", "wb", buffering=0) as latency:
        latency.write(struct.pack("i", 0))
        yield


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tapstat", required=True)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--wire", choices=["http1", "tls", "http2"], default="http1")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--tools", help="only these, by comma")
    parser.add_argument("--bodies", default=",".join(BODIES), help="only these, by comma")
    parser.add_argument("--awake", action="store_true")
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    args = parser.parse_args()
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if nginx is None:
        sys.exit("nginx is not installed")
    tools = {name: command[0] for name, command in commands(args.tapstat, "", 1, args.wire).items()}
    wanted = args.tools.split(",") if args.tools else tools
    tools = [name for name, program in tools.items() if name in wanted and shutil.which(program)]
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        port, tls_port = free_port(), free_port()
        certificate(root)
        html = Path(root, "html")
        html.mkdir()
        for name, size in BODIES.items():
            (html / name).write_bytes(bytes(at * 31 % 251 for at in range(size)))
        config = Path(root, "nginx.conf")
        config.write_text(CONFIG.format(root=root, port=port, tls_port=tls_port))
        server = subprocess.Popen(["taskset", "-c", str(args.server_core), nginx, "-c", str(config)])
        try:
            for _ in range(100):
                try:
                    status(port)
                    break
                except OSError:
                    time.sleep(0.05)
            with cores(args.awake):
                compare(args, tools, root, port, tls_port)
        finally:
            server.terminate()
            server.wait()


def compare(args, tools, root, port, tls_port):
    at = f"http://127.0.0.1:{port}" if args.wire == "http1" else f"https://127.0.0.1:{tls_port}"
    for body in args.bodies.split(","):
        size = BODIES[body]
        costs = {tool: [] for tool in tools}
        rates = {tool: [] for tool in tools}
        # Interleaved, so that a slow minute of the host hits all alike.
        for _ in range(args.repeats):
            for tool in tools:
                command = commands(args.tapstat, f"{at}/{body}", args.seconds, args.wire,
                                   args.streams)[tool]
                served = Served(root, port, body)
                cpu, wall = run(command, args.client_core)
                requests = served.count()
                costs[tool].append(cpu / requests)
                rates[tool].append(requests / wall)
        streams = f" of {args.streams} streams" if args.wire == "http2" else ""
        sleep = ", cores kept awake" if args.awake else ""
        print(f"{args.wire}, {body}: {size} bytes, {CONNECTIONS} connections{streams}, "
              f"median (least to most) of {args.repeats} × {args.seconds} s{sleep}")
        print(f"{'tool':<10}{'CPU/request':>14}{'CPU/MiB':>14}{'of tapstat':>12}"
              f"{'requests/s':>12}{'':>17}{'MiB/s':>8}")
        own = statistics.median(costs.get("tapstat", [float("nan")]))
        for tool in tools:
            cost, rate = statistics.median(costs[tool]), statistics.median(rates[tool])
            mib = size / 2**20
            spread = f"({min(rates[tool]):.0f} to {max(rates[tool]):.0f})"
            print(f"{tool:<10}{1e6 * cost:>11.2f} µs{1e3 * cost / mib:>11.4f} ms{cost / own:>11.2f}×"
                  f"{rate:>12.0f}{spread:>17}{rate * mib:>8.0f}")
        print(flush=True)


if __name__ == "__main__":
    main()
