"""`Server(steering=...)`: which thread runs which function's handler."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import AccelflowError, Server, Steering
from accelflow.operations import SteeringPolicy
from accelflow.settings import Execution
from thrift_client import INTERFACE, connect

CALLS = 6


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


def threads_of(
    interface: Path, steering: SteeringPolicy | Steering | None, connections: int = 1
) -> dict[str, list[int]]:
    """The threads that run the handler of each function, called in turn over each connection."""
    seen: dict[str, list[int]] = {"slow": [], "unhandled": []}

    def note(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
        def call(_: dict[str, Any]) -> Any:
            seen[name].append(threading.get_native_id())
            return value

        return call

    server = Server(interface, execution=Execution(steering=steering))
    server.handle("slow", note("slow", 7))
    server.handle("unhandled", note("unhandled", "x"))
    with server:
        for _ in range(connections):
            with connect(server.port) as client:
                for _ in range(CALLS):
                    assert client.call("slow", a=1) == 7
                    assert client.call("unhandled") == "x"
    return seen


def test_handlers_run_on_threads_of_connections_unless_steered(interface: Path) -> None:
    seen = threads_of(interface, None)
    assert set(seen["slow"]) == set(seen["unhandled"])
    assert len(set(seen["slow"])) == 1


@pytest.mark.parametrize(
    "steering",
    [
        "affinity",
        Steering(workers=2, pinned=True),
        Steering(policy="function_map", workers=2, function_map_depth=2),
    ],
)
def test_affinity_gives_each_function_one_worker(
    interface: Path, steering: SteeringPolicy | Steering
) -> None:
    seen = threads_of(interface, steering, connections=3)
    for threads in seen.values():
        assert (len(threads), len(set(threads))) == (3 * CALLS, 1)


def test_round_robin_takes_the_workers_in_turn(interface: Path) -> None:
    seen = threads_of(interface, Steering(policy="round_robin", workers=3))
    # Calls of the two functions alternate, and three is odd.
    assert len(set(seen["slow"])) == 3
    assert seen["slow"][:3] == seen["slow"][3:]
    assert seen["slow"][:2] == seen["unhandled"][1:3]


def test_no_worker_is_an_error_and_so_is_an_unknown_policy(interface: Path) -> None:
    with pytest.raises(AccelflowError, match="workers = 0: must be a whole number from 1"):
        Server(interface, execution=Execution(steering=Steering(workers=0))).start()
    with pytest.raises(
        AccelflowError, match="'fair': must be affinity, function_map, round_robin or"
    ):
        Server(interface, execution=Execution(steering="fair"))  # type: ignore[arg-type]


def test_a_server_that_is_dropped_while_it_runs_ends_its_workers(tmp_path: Path) -> None:
    (tmp_path / "c.thrift").write_text("service Calculator { i64 add(1: i64 a, 2: i64 b) }")
    script = (
        "import accelflow\n"
        "from accelflow.settings import Execution\n"
        "def dropped():\n"
        "    execution = Execution(steering='affinity')\n"
        "    server = accelflow.Server('c.thrift', execution=execution)\n"
        "    server.handle('add', lambda a, b: a + b)\n"
        "    server.start()\n"
        "dropped()\n"
        "print('end of the program')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "end of the program\n"), done.stderr
