#!/usr/bin/env python3
"""Whose the time is by which a known delay is measured too long.

Usage: shares.py [TAPSTAT]      needs root, Linux, perf, and a quiet machine

A null target holds every answer back; one connection asks it, over each wire and for 1, 5
and 50 ms, with cores that do not sleep (0 in /dev/cpu_dma_latency), so that what is left is
work. perf notes when the kernel was called, with times of its own; every request is then cut
into what happened between them:

  to the target    from the generator's send to the target's timer being set: the kernel, the
                   target's reading
  from the target  from when the timer was due to the target's send: its waking and writing
  kernel           from there to the generator's waking
  generator        from there to its next send: it reads the answer, takes the time, and
                   builds the next request

The medians of all requests are printed, in µs.
"""

import contextlib
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENDS = "sys_enter_sendto", "sys_enter_writev", "sys_enter_sendmsg"
WAKES = "sys_exit_epoll_wait", "sys_exit_epoll_pwait", "sys_exit_epoll_pwait2"
PARTS = "to the target", "from the target", "kernel", "generator"
LINE = re.compile(r"\s*(.+?)\s+\d+ \[\d+\]\s+([\d.]+):\s+\w+:(\w+):\s*(.*)")


def trace(binary, wire, delay):
    """Events of two seconds of requests that are held back so many seconds."""
    flags = ["--insecure"] * ("--tls" in wire) + ["--http2"] * ("--http2" in wire)
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(subprocess.Popen(
            [binary, "null-target", *wire], stdout=subprocess.PIPE, text=True))
        stack.callback(target.terminate)
        data = stack.enter_context(tempfile.NamedTemporaryFile())
        url = f"{target.stdout.readline().strip()}/delay/{delay * 1e3:.0f}ms/bytes/100"
        load = stack.enter_context(subprocess.Popen(
            [binary, "load", url, "-c", "1", "-d", "4", "--warmup", "1", *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        events = [part for event in ("sys_enter_timerfd_settime", *SENDS)
                  for part in ("-e", f"syscalls:{event}")]
        # The target looks at its sockets all the time when a delay is nearly over.
        events += [part for event in WAKES
                   for part in ("-e", f"syscalls:{event}", "--filter", "ret > 0")]
        subprocess.run(["perf", "record", "-q", "-a", "-o", data.name, *events, "sleep", "3"], check=True)
        load.wait()
        said = subprocess.run(["perf", "script", "-i", data.name, "-F", "comm,tid,cpu,time,event,trace"],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    matches = filter(None, map(LINE.match, said.stdout.splitlines()))
    return [(who, float(at), event, more) for who, at, event, more in (m.groups() for m in matches)]


def requests(events, delay):
    """Each request of the trace, cut into parts."""
    asked = due = since = None
    parts, found = {}, []
    for who, at, event, more in events:
        target, generator = who.startswith("null-"), who.startswith("load-")
        if generator and event in SENDS:
            if len(parts) == 3:
                parts["generator"] = at - since
                found.append(parts)
            asked, due, parts = at, None, {}
        elif target and event == "sys_enter_timerfd_settime" and asked and not parts:
            # It is set for so much less as the target does not sleep to the end; the delay
            # counts from here all the same.
            parts["to the target"], due = at - asked, at + delay
        elif target and event in SENDS and len(parts) == 1:
            parts["from the target"], since = at - due, at
        elif generator and event in WAKES and len(parts) == 2:
            parts["kernel"], since = at - since, at
    return found


def main():
    default = os.environ.get("CARGO_TARGET_DIR", ROOT / "target") / pathlib.Path("release/tapstat")
    binary = sys.argv[1] if len(sys.argv) > 1 else default
    print(f"{'':<16}{'delay':>6}{'n':>6}" + "".join(f"{part:>17}" for part in PARTS))
    with open("/dev/cpu_dma_latency", "wb", buffering=0) as latency:
        latency.write(struct.pack("i", 0))
        for wire in [], ["--tls"], ["--http2"], ["--tls", "--http2"]:
            for delay in 0.001, 0.005, 0.05:
                found = requests(trace(binary, wire, delay), delay)
                cells = (statistics.median(1e6 * one[part] for one in found) for part in PARTS)
                print(f"{' '.join(wire) or 'HTTP/1.1':<16}{delay * 1e3:>3.0f} ms{len(found):>6}"
                      + "".join(f"{cell:>17.0f}" for cell in cells), flush=True)


main()
