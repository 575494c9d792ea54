"""Estimate of whether one simulation on several cores can beat independent replications.

Usage: .venv/bin/python benches/parallel_run/run.py [--requests 100] [--networks 12,50,200]

A conservative parallel run divides servers over cores, since inside a server everything depends on
everything within nanoseconds. Cores may be ahead of each other by no more than the shortest time
between servers, the lookahead: in each window of that length every core simulates its servers, and
then waits for the others at a barrier. This program simulates benches/large_system.py (200
services, 20 servers) and counts the changes of elements, dispatchers and cores by server and window
in the timeline. From these counts follow two speedups:

- the bound, if barriers were free: all changes over those of the busiest core, window by window;
- the forecast: the same with the time of a change (the time of the run over its changes) and a
  barrier in each window. A barrier between two threads is measured (barrier.rs, the fastest of 400
  batches); for more threads it is assumed to cost no more.

Both favour the parallel run: messages between cores, caches and imbalances of real time cost
nothing. The speedup of independent replications is the number of cores. Needs rustc and the package
perfetto.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

sys.path.insert(0, str(Path(__file__).parents[1]))
import large_system

from accelflow import simulation, watching
from accelflow.scenario import Scenario

CORES = (2, 4, 8, 20)
SERVERS = 20
CHANGES = (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END)
#: The rows of a timeline whose changes count as events: elements, dispatchers and cores.
ROWS = re.compile(r"element \d+|dispatcher|core \d+")


def scenario(requests: int, network_us: float) -> Scenario:
    """Return the scenario of the system, with `network_us` between servers."""
    options = argparse.Namespace(graph="drawn", services=200, servers=SERVERS, copies=1)
    made = large_system.workload(options, "round_robin")
    made.defaults["network"] = {"constant_us": network_us}
    asked = Scenario(
        workload=made,
        orchestrators=["accelflow"],
        requests=requests,
        rate_rps=large_system.RATES_RPS["drawn"],
        slo_factor=None,
    )
    return simulation.loaded(asked)


def changes(file: Path, window_ns: float) -> Counter[tuple[int, str]]:
    """Return the number of changes in the timeline `file`, by window and server."""
    names: dict[int, str] = {}
    above: dict[int, int] = {}
    found: Counter[tuple[int, str]] = Counter()
    counted: dict[int, str] = {}
    for packet in Trace.FromString(file.read_bytes()).packet:
        if packet.HasField("track_descriptor"):
            row = packet.track_descriptor
            named = row.process.process_name if row.HasField("process") else row.name
            names[row.uuid] = named
            if row.HasField("parent_uuid"):
                above[row.uuid] = row.parent_uuid
            if ROWS.fullmatch(named):
                top = row.uuid
                while top in above:
                    top = above[top]
                counted[row.uuid] = names[top]
        elif packet.track_event.type in CHANGES and packet.track_event.track_uuid in counted:
            server = counted[packet.track_event.track_uuid]
            found[int(packet.timestamp / window_ns), server] += 1
    return found


def busiest(found: Counter[tuple[int, str]], cores: int) -> int:
    """Return the changes of each window's busiest core, summed; servers are divided evenly."""
    servers: Counter[str] = Counter()
    for (_, server), count in found.items():
        servers[server] += count
    load = [0] * cores
    core_of = {}
    for server, count in servers.most_common():
        core_of[server] = load.index(min(load))
        load[core_of[server]] += count
    by_core: Counter[tuple[int, int]] = Counter()
    for (window, server), count in found.items():
        by_core[window, core_of[server]] += count
    most: Counter[int] = Counter()
    for (window, _), count in by_core.items():
        most[window] = max(most[window], count)
    return most.total()


def barrier_ns(folder: Path) -> float:
    """Return the measured time of a barrier between two threads, in ns."""
    binary = folder / "barrier"
    source = Path(__file__).with_name("barrier.rs")
    compiler = shutil.which("rustc") or sys.exit("rustc is needed")
    subprocess.run([compiler, "-O", "-o", binary, source], check=True)
    done = subprocess.run([binary, "2"], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--networks", default="12,50,200")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wait_ns = barrier_ns(Path(folder))
        print(f"a barrier of two threads: {wait_ns:,.0f} ns")
        print(
            f"{'network us':>10}{'windows':>9}{'changes':>11}{'ns each':>9}"
            f"{'a window and server':>21}{'cores':>7}{'bound':>7}{'forecast':>10}"
        )
        for network_us in map(float, options.networks.split(",")):
            asked = scenario(options.requests, network_us)
            begin = time.process_time()
            simulation.run(asked, threads=1)
            took_ns = (time.process_time() - begin) * 1e9
            file = Path(folder) / "timeline"
            watching.write_timeline(asked, file)
            found = changes(file, network_us * 1e3)
            every, windows = found.total(), len({window for window, _ in found})
            each_ns = took_ns / every
            for cores in CORES:
                most = busiest(found, cores)
                parallel_ns = most * each_ns + windows * wait_ns
                print(
                    f"{network_us:10g}{windows:9,}{every:11,}{each_ns:9,.0f}"
                    f"{every / windows / SERVERS:21.1f}{cores:7}{every / most:7.2f}"
                    f"{took_ns / parallel_ns:10.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
