"""Samples the stacks of real Thrift and gRPC servers, for tests/data/stacks/captured-*.folded.

    .venv/bin/python benches/stacks/capture.py [--seconds 3] [--out tests/data/stacks] [KIND...]

Each server of benches/stacks runs on this machine and answers clients in Python. Servers in C++ are
sampled by `perf record -e cpu-clock --call-graph dwarf`, servers in Python by py-spy; only threads
that run are sampled. Needs Debian's thrift-compiler, libthrift-dev, libgrpc++-dev, libprotobuf-dev,
protobuf-compiler-grpc, g++ and linux-perf, and `pip install py-spy==0.4.3` or `--py-spy PROGRAM`.

Functions have the names that the tools write, without the folder of generated code.
"""

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport

from accelflow.profiles import read

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent
CLIENTS = 4
THRIFT, GRPC = SOURCES / "users.thrift", SOURCES / "users.proto"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=list(SERVERS))
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--py-spy", default="py-spy", metavar="PROGRAM")
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "data" / "stacks")
    options = parser.parse_args()
    unknown = set(options.kinds) - set(SERVERS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(SERVERS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder)
        for kind in options.kinds:
            capture(kind, folder, options)


def generate(folder: Path) -> None:
    """Generate the code of both interfaces for C++, and Thrift's for Python."""
    for language in ("cpp:no_skeleton", "py"):
        run("thrift", "--gen", language, "-o", folder, THRIFT)
    plugin = shutil.which("grpc_cpp_plugin")
    outputs = [f"--cpp_out={folder}", f"--grpc_out={folder}", f"--plugin=protoc-gen-grpc={plugin}"]
    run("protoc", "-I", SOURCES, *outputs, GRPC)


def run(*command: Any) -> None:
    subprocess.run([str(word) for word in command], check=True)


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def cpp(program: str, *packages: str) -> Callable[[Path], list[str]]:
    """Return a function that compiles a server of benches/stacks and returns its command."""

    def make(folder: Path) -> list[str]:
        made = folder / program
        if not made.exists():
            is_thrift = program.startswith("thrift")
            code = folder / "gen-cpp" if is_thrift else folder
            generated = sorted({*code.glob("[Uu]sers*.cpp"), *code.glob("users*.cc")})
            includes = ["-I", code, "-I", SOURCES]
            sources = [SOURCES / f"{program}.cpp", *generated]
            libraries = output("pkg-config", "--libs", *packages).split()
            run("g++", "-std=c++17", "-O2", "-g", *includes, "-o", made, *sources, *libraries)
        return [str(made)]

    return make


def python(_: Path) -> list[str]:
    return [sys.executable, str(SOURCES / "python_servers.py")]


#: For each server: the function that makes its command, its argument, and its protocol.
SERVERS: dict[str, tuple[Callable[[Path], list[str]], str, str]] = {
    "thrift-cpp-threaded": (cpp("thrift_server", "thrift"), "threaded", "thrift"),
    "thrift-cpp-pool": (cpp("thrift_server", "thrift"), "pool", "thrift"),
    "grpc-cpp-sync": (cpp("grpc_server", "grpc++", "protobuf"), "sync", "grpc"),
    "grpc-cpp-callback": (cpp("grpc_server", "grpc++", "protobuf"), "callback", "grpc"),
    "thrift-python": (python, "thrift", "thrift"),
    "grpc-python": (python, "grpc", "grpc"),
    "grpc-aio-python": (python, "grpc_aio", "grpc"),
}


def capture(kind: str, folder: Path, options: argparse.Namespace) -> None:
    """Sample one server under load and write its stacks."""
    make, argument, protocol = SERVERS[kind]
    sample = py_spy if make is python else perf
    stacks, how = sample([*make(folder), argument], protocol, folder, options)
    lines = [
        f"# {kind}: benches/stacks/capture.py on {platform.machine()}, {how}",
        *(f"{';'.join(frames)} {weight}" for frames, weight in sorted(stacks.items())),
    ]
    path = options.out / f"captured-{kind}.folded"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {stacks.total()} samples, {len(stacks)} stacks, {path.stat().st_size} bytes")


@contextmanager
def server(command: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a server; yield its process and its port."""
    paths = [str(folder / "gen-py"), str(SOURCES)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=SOURCES
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def load(protocol: str, port: int, folder: Path) -> Iterator[None]:
    """Call Login without a pause, on several connections."""
    ended = threading.Event()
    begun = threading.Barrier(CLIENTS + 1)
    client = thrift_client(folder) if protocol == "thrift" else grpc_client

    def work() -> None:
        with client(port) as call:
            call("ada", "x" * 200)
            begun.wait(60)
            while not ended.is_set():
                call("ada", "x" * 200)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(60)


def thrift_client(folder: Path) -> Callable[[int], Any]:
    if str(folder / "gen-py") not in sys.path:
        sys.path.insert(0, str(folder / "gen-py"))
    from users import Users  # noqa: PLC0415 (generated just now)

    @contextmanager
    def connected(port: int) -> Iterator[Callable[[str, str], str]]:
        transport = TFramedTransport(TSocket("127.0.0.1", port))
        transport.open()
        yield Users.Client(TBinaryProtocol(transport)).Login
        transport.close()

    return connected


@contextmanager
def grpc_client(port: int) -> Iterator[Callable[[str, str], bytes]]:
    def encode(name: str, password: str) -> bytes:
        def field(number: int, text: str) -> bytes:
            return bytes([number << 3 | 2]) + varint(len(text)) + text.encode()

        return field(1, name) + field(2, password)

    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        login = channel.unary_unary("/users.Users/Login", None, None)
        yield lambda name, password: login(encode(name, password))


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def perf(
    command: list[str], protocol: str, folder: Path, options: argparse.Namespace
) -> tuple[Counter[Any], str]:
    data, script = folder / "perf.data", folder / "perf.txt"
    event = ["-e", "cpu-clock", "-F", "199", "--call-graph", "dwarf,32768"]
    # perf starts the server, since it does not follow threads that begin later otherwise.
    record = ["perf", "record", "-q", "-D", "1000", *event, "-o", str(data), "--"]
    with server([*record, *command], folder) as (process, port):
        with load(protocol, port, folder):
            time.sleep(options.seconds)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    with script.open("w", encoding="utf-8") as out:
        printed = ["perf", "script", "--no-inline", "-i", str(data)]
        subprocess.run(printed, stdout=out, stderr=subprocess.DEVNULL, check=True)
    # The clock's period is constant, so that all samples have the same weight.
    period = 1_000_000_000 // 199
    stacks: Counter[Any] = Counter()
    for frames, weight in read(script).stacks.items():
        stacks[tuple(frame.replace(";", ",") for frame in frames)] += round(weight / period)
    return +stacks, f"{output('perf', '--version')} record {' '.join(event)}"


def py_spy(
    command: list[str], protocol: str, folder: Path, options: argparse.Namespace
) -> tuple[Counter[Any], str]:
    out = folder / "py-spy.folded"
    flags = ["--format", "raw", "--rate", "199", "--duration", str(max(round(options.seconds), 1))]
    with server(command, folder) as (process, port), load(protocol, port, folder):
        record = [options.py_spy, "record", *flags, "--pid", str(process.pid), "--output", str(out)]
        subprocess.run(record, check=True, capture_output=True)
    stacks: Counter[Any] = Counter()
    for line in out.read_text(encoding="utf-8").splitlines():
        stack, _, weight = line.rpartition(" ")
        stacks[tuple(stack.replace("gen-py/", "").split(";"))] += int(weight)
    return stacks, f"{output(options.py_spy, '--version')} record {' '.join(flags)}"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
