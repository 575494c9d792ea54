"""Measures this project's server in the form of the Accelerometer paper's services.

.venv/bin/python scripts/live_server.py [--seconds 20] [--rate 1500] [--summary]

The server of `benches/serve/bench_echo.rs` echoes items over TLS, once on a processor without AES
instructions (before) and once with them (after): the paper's first case study. The script writes

- examples/profiles/server-before.perf.gz and -after: samples of cycles and instructions;
- examples/accelerometer/server-sizes.bpftrace.txt: sizes of encryptions, compressions, copies and
  allocations;
- python/accelflow/experiments/live-server.json: the data that `accelflow companions accelerometer`
  shows of both (--summary writes only this).

Needs root, perf, bpftrace, valgrind and libc6-dbg (for the names of libc's own functions). A
virtual machine has no counters of cycles and instructions. There, cycles are perf's samples of
processor time (cpu-clock) times the nominal clock of /proc/cpuinfo, and instructions are counted by
valgrind's callgrind, in user space, for a smaller number of the same requests; each file says so.
"""

import argparse
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accelflow import _native, profiles
from accelflow.accelerometer.histograms import read_histogram
from accelflow.accelerometer.measured import WITHOUT, machine_name
from accelflow.client import CallLimits
from accelflow.companions.live_server import SCHEMA
from accelflow.files import write_whole
from accelflow.profiles.perf import samples

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benches"))

PROFILES = ROOT / "examples" / "profiles"
SIZES = ROOT / "examples" / "accelerometer" / "server-sizes.bpftrace.txt"
SUMMARY = ROOT / "python" / "accelflow" / "experiments" / "live-server.json"
INTERFACE = ROOT / "benches" / "server" / "bench.thrift"

#: Masks of processor capabilities for the server's cryptography. After: AES instructions, without
#: their wider forms (VAES), which neither the paper's processors nor valgrind have.
MASKS = {"before": WITHOUT["aes_128_gcm"], "after": "~0x0:~0x60000000000"}

#: The sizes of the echoed texts in bytes, and how many of a hundred texts have each. As in
#: DeathStarBench, most messages are small, and timelines have some kilobytes.
TEXTS = ((132, 60), (800, 30), (10_000, 10))

#: The number of requests under callgrind, which takes about fifty times as long, and the number
#: before it begins to count.
COUNTED, WARM_UP = 400, 100

#: The clients' limits, which are long since everything is slow under callgrind.
LIMITS = CallLimits(
    timeout_s=60.0, connect_timeout_s=60.0, idle_timeout_s=600.0, max_connections=8, max_attempts=1
)

#: The maps of bpftrace, each with the probe and the size that it counts; `{binary}` is the server.
PROBES = {
    "encryption": "uprobe:{binary}:*EVP_AEAD_CTX_seal_scatter {{ @encryption = hist(sarg2); }}",
    "compression": "uprobe:{binary}:ZSTD_compressCCtx {{ @compression = hist(arg4); }}",
    "copies": "uprobe:{libc}:{copy} {{ @copies = hist(arg2); }}",
    "allocations": "uprobe:{libc}:malloc {{ @allocations = hist(arg0); }}",
}

Stack = tuple[str, ...]


@dataclass(frozen=True)
class Load:
    """The load of a run: its rate and its duration."""

    rate_rps: float
    seconds: float

    @property
    def requests(self) -> int:
        """The number of requests."""
        return int(self.rate_rps * self.seconds)


def main() -> None:
    """Measure the server, and write the files."""
    parser = argparse.ArgumentParser(description="Characterise the live server.")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1_500.0)
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    if not given.summary:
        capture(Load(given.rate, given.seconds))
    text = json.dumps(summary(), indent=1) + "\n"
    write_whole(SUMMARY, lambda path: path.write_text(text, encoding="utf-8"))


def capture(load: Load) -> None:
    """Write the profiles and the sizes, measured under `load`."""
    from side_by_side import built, certificate  # noqa: PLC0415 (of the folder benches)

    binary = built("--profile", "extension", "-p", "accelflow-serve", "--example", "bench_echo")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificate(folder)
        sizes(binary, folder, load)
        for which, mask in MASKS.items():
            cycles = sampled(binary, folder, mask, load)
            instructions = counted(binary, folder, mask, load)
            write_profile(which, cycles, instructions, load)


@contextmanager
def served(
    command: list[str], folder: Path, mask: str
) -> Iterator[tuple[int, Mapping[bool, _native.Client]]]:
    """Start a server; yields its process ID, and its clients by whether they compress."""
    files = [str(INTERFACE), str(folder / "cert.pem"), str(folder / "key.pem")]
    process = subprocess.Popen(
        [*command, *files],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENSSL_ia32cap": mask},
    )
    try:
        if process.stdout is None:
            sys.exit("the server has no output")
        port = int(process.stdout.readline())
        yield process.pid, {packed: connected(folder, port, packed) for packed in (False, True)}
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def connected(folder: Path, port: int, packed: bool) -> _native.Client:
    """Return a client of the server, which compresses its calls if `packed`."""
    return _native.Client(
        str(INTERFACE),
        f"127.0.0.1:{port}",
        protocol="binary",
        ca=str(folder / "cert.pem"),
        server_name="localhost",
        idempotent=[],
        bounds={**asdict(LIMITS), "workers": None, "compress": packed},
    )


def drive(clients: Mapping[bool, _native.Client], requests: int, rate_rps: float | None) -> None:
    """Send `requests`, a third of them compressed, at a rate or one after the other."""
    stream = random.Random(1)
    texts = [
        {"value": {"text": words(stream, size), "numbers": list(range(4))}}
        for size, count in TEXTS
        for _ in range(count)
    ]
    stream.shuffle(texts)
    for packed, client in clients.items():
        share = requests // 3 if packed else requests - requests // 3
        due_s = [0.0] * share
        if rate_rps is not None:
            # Both clients one after the other, each at the whole rate.
            due_s = [number / rate_rps for number in range(share)]
        calls = client.drive("Bench.echo", texts, due_s, 4 if rate_rps else 1)
        if not all(fine for _, _, fine in calls):
            sys.exit("a call had no result")


def words(stream: random.Random, size: int) -> str:
    """Return a text of `size` bytes, which compresses like words of a language."""
    known = ("post", "user", "timeline", "media", "follow", "https://short/", "mention", "text")
    text = ""
    while len(text) < size:
        text += f"{stream.choice(known)}{stream.randrange(1_000)} "
    return text[:size]


def sampled(binary: str, folder: Path, mask: str, load: Load) -> Counter[Stack]:
    """Return the processor time in ns by stack, from perf's samples."""
    data = folder / "perf.data"
    with served([binary], folder, mask) as (process, clients):
        drive(clients, 200, None)
        record = "perf record -F 1999 -e cpu-clock --call-graph dwarf,16384"
        perf = subprocess.Popen(
            [*record.split(), "-p", str(process), "-o", str(data)],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(1.0)
        drive(clients, load.requests, load.rate_rps)
        perf.send_signal(2)
        perf.wait()
    script = subprocess.run(
        ["perf", "script", "-i", str(data)], capture_output=True, text=True, check=True
    )
    stacks: Counter[Stack] = Counter()
    for sample in samples(script.stdout.splitlines(), "perf"):
        stacks[sample.stack[1:]] += sample.weight
    return stacks


def counted(binary: str, folder: Path, mask: str, load: Load) -> Counter[Stack]:
    """Return the instructions in user space by stack, from callgrind, scaled to `load`."""
    out = folder / "callgrind.out"
    options = [
        *("--tool=callgrind", f"--callgrind-out-file={out}", "--instr-atstart=no"),
        *("--separate-callers=32", "--separate-recs=2", "--fair-sched=yes", "-q"),
    ]
    with served(["valgrind", *options, binary], folder, mask) as (process, clients):
        drive(clients, WARM_UP, None)
        control = ["callgrind_control", "-i"]
        subprocess.run([*control, "on", str(process)], check=True, stdout=subprocess.DEVNULL)
        drive(clients, COUNTED, None)
        subprocess.run([*control, "off", str(process)], check=True, stdout=subprocess.DEVNULL)
    scale = load.requests / COUNTED
    found = callgrind_stacks(out.read_text(encoding="utf-8", errors="replace"))
    return Counter({stack: round(count * scale) for stack, count in found.items()})


#: A name in callgrind's output: an ID, and the name itself where it occurs first.
_NAME = re.compile(r"^(?P<kind>fn|cfn)=\((?P<number>\d+)\)(?: (?P<name>.*))?$")


def callgrind_stacks(text: str) -> Counter[Stack]:
    """Return the instructions of each function in its context, from callgrind's output.

    A context is the function and its callers, innermost first, as ``write'send'handle``.
    """
    names: dict[str, str] = {}
    stacks: Counter[Stack] = Counter()
    stack: Stack = ()
    called = False
    for line in text.splitlines():
        if found := _NAME.match(line):
            if found["name"] is not None:
                names[found["number"]] = found["name"]
            if found["kind"] == "fn":
                parts = names[found["number"]].split("'")
                stack = tuple(reversed([part for part in parts if not part.isdigit()]))
        elif line.startswith("calls="):
            # The next line has the cost of the call, which the called function has itself.
            called = True
        elif line.startswith(tuple("0123456789+-*")):
            if not called and stack:
                stacks[stack] += int(line.split()[1])
            called = False
    return stacks


def sizes(binary: str, folder: Path, load: Load) -> None:
    """Write the histograms of sizes, as bpftrace prints them."""
    libc, copy = copying()
    program = " ".join(
        probe.format(binary=binary, libc=libc, copy=copy) for probe in PROBES.values()
    )
    with served([binary], folder, MASKS["after"]) as (process, clients):
        drive(clients, 200, None)
        trace = subprocess.Popen(
            ["bpftrace", "-p", str(process), "-e", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        time.sleep(5.0)
        drive(clients, min(load.requests, 6_000), None)
        trace.send_signal(2)
        printed, _ = trace.communicate()
    texts = ", ".join(f"{size:,} B ({share} %)" for size, share in TEXTS)
    about = [
        f"# {machine_name()}, {datetime.now(tz=UTC).date()}: bench_echo, texts of {texts}",
        f"# bpftrace -e '{program}'".replace(binary, "bench_echo"),
    ]
    write_whole(SIZES, lambda path: path.write_text("\n".join([*about, printed.strip(), ""])))


def copying() -> tuple[str, str]:
    """Return the path of the C library, and the name of its function for copies here."""
    code = (
        "import ctypes; lib = ctypes.CDLL(None);"
        "print(ctypes.cast(lib.memcpy, ctypes.c_void_p).value);"
        "print(open('/proc/self/maps').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    address, _, maps = done.stdout.partition("\n")
    mapped = [row.split() for row in maps.splitlines() if row.rstrip().endswith("libc.so.6")]
    libc = Path(mapped[0][-1]).resolve()
    base = min(int(row[0].partition("-")[0], 16) for row in mapped)
    return str(libc), f"0x{int(address) - base:x}"


def write_profile(
    which: str, cycles_ns: Counter[Stack], instructions: Counter[Stack], load: Load
) -> None:
    """Write a profile as `perf script` prints it, each stack once."""
    ghz = clock_ghz()
    lines = [
        f"# {machine_name()}, {datetime.now(tz=UTC).date()}: bench_echo {which} AES instructions,",
        f"# {load.requests} requests. cycles: samples of perf's cpu-clock times {ghz} GHz, the",
        "# nominal clock. instructions: valgrind's callgrind, in user space.",
        "",
    ]
    for event, stacks, scale in (("cycles", cycles_ns, ghz), ("instructions", instructions, 1.0)):
        for stack, weight in sorted(stacks.items()):
            lines.append(f"bench_echo 1 0.000: {max(1, round(scale * weight))} {event}:")
            lines += [frame(name) for name in reversed(stack)]
            lines.append("")
    path = PROFILES / f"server-{which}.perf.gz"
    # The file has no time, so that equal profiles give equal bytes.
    data = gzip.compress("\n".join(lines).encode(), mtime=0)
    write_whole(path, lambda place: place.write_bytes(data))


def frame(name: str) -> str:
    """Return a frame of a stack as perf prints it, marked if it is a function of the kernel."""
    if name.endswith("_[k]"):
        return f"\t0 {name.removesuffix('_[k]')} ([kernel.kallsyms])"
    return f"\t0 {name} (bench_echo)"


def clock_ghz() -> float:
    """Return the processor's nominal clock in GHz."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)", text, re.MULTILINE)
    if found is None:
        sys.exit("/proc/cpuinfo has no clock")
    return round(float(found[1]) / 1e3, 3)


def summary() -> dict[str, Any]:
    """Return the data that the page of results shows, from the files."""
    breakdowns = {
        which: profiles.breakdown(profiles.read(PROFILES / f"server-{which}.perf.gz"))
        for which in MASKS
    }
    head = SIZES.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return {
        "schema": SCHEMA,
        "about": head,
        "sizes": {name: distribution(f"@{name}") for name in PROBES},
        "profiles": breakdowns,
    }


def distribution(name: str) -> dict[str, Any]:
    """Return the map `name` of bpftrace as the distribution of sizes."""
    found = read_histogram(SIZES, name)
    return {
        "count": found.count,
        "bytes": list(found.sizes.bytes),
        "cumulative_ratio": list(found.sizes.cumulative_ratio),
    }


if __name__ == "__main__":
    for program in ("perf", "bpftrace", "valgrind", "callgrind_control"):
        if shutil.which(program) is None:
            sys.exit(f"{program}: must be installed")
    main()
