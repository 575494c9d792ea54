"""`Execution(rpc=...)`: parts of an RPC processor in the place of the RPC accelerator."""

import threading
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from accelflow import (
    AccelflowError,
    CallError,
    Client,
    InputError,
    Pools,
    RpcProcessor,
    Server,
    Steering,
)
from accelflow.client import CallLimits
from accelflow.settings import Execution
from thrift_client import INTERFACE, PROTOCOLS, connect

#: fbthrift's number; Apache Thrift's library takes any.
LOADSHEDDING = 11


@pytest.fixture
def interface(tmp_path: Path) -> Path:
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


def add(arguments: dict[str, Any]) -> int:
    return int(arguments["a"] + arguments["b"])


@pytest.mark.parametrize(
    "execution",
    [
        Execution(rpc=RpcProcessor(split_schema=True, arena_bytes=1 << 20)),
        Execution(rpc=RpcProcessor(arena_bytes=1), workers=Pools(workers_of={"Dser": 2})),
        Execution(workers=Pools(core_workers=2, pinned=True)),
        Execution(rpc=RpcProcessor(arena_bytes=1 << 20, patience_s=1e-12)),
    ],
)
def test_stock_clients_see_no_difference(interface: Path, execution: Execution) -> None:
    server = Server(interface, execution=execution)
    server.handle("add", add)
    with server:
        for protocol in PROTOCOLS:
            with connect(server.port, protocol, None) as client:
                assert client.call("add", a=40, b=2) == 42


def test_a_call_without_memory_may_be_repeated(interface: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(_: dict[str, Any]) -> int:
        begun.set()
        assert go.wait(60)
        return 7

    server = Server(interface, execution=Execution(rpc=RpcProcessor(arena_bytes=100)))
    server.handle("slow", slow)
    server.handle("add", add)
    with server:
        address = f"127.0.0.1:{server.port}"
        blocker = threading.Thread(
            target=Client(interface, address).call, args=("slow", {"a": 1}), daemon=True
        )
        blocker.start()
        assert begun.wait(60)
        with connect(server.port) as stock:
            with pytest.raises(TApplicationException) as told:
                stock.call("add", a=40, b=2)
            assert told.value.type == LOADSHEDDING
            once = Client(interface, address, limits=CallLimits(max_attempts=1))
            with pytest.raises(CallError) as refused:
                once.call("add", {"a": 40, "b": 2})
            assert (refused.value.reason, refused.value.executed) == ("unprocessed", "no")
            go.set()
            blocker.join(60)
            # The same connection goes on.
            assert stock.call("add", a=40, b=2) == 42
        assert 'result="no_memory"} 2' in server.metrics()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Execution(rpc=RpcProcessor(arena_bytes=0)), "arena_bytes = 0: must be a whole"),
        (lambda: Execution(rpc=RpcProcessor(reservation_ratio=0)), "reservation_ratio = 0"),
        (
            lambda: Execution(rpc=RpcProcessor(patience_s=-1.0)),
            "patience_s = -1: must be a number from 0",
        ),
        (lambda: Execution(rpc=RpcProcessor(split_schema=1)), "split_schema = 1: must be True"),  # type: ignore[arg-type]
        (lambda: Execution(rpc=True), "rpc = True: must be an RpcProcessor"),  # type: ignore[arg-type]
        (lambda: Execution(steering=Steering(function_map_depth=0)), "function_map_depth = 0"),
        (lambda: Execution(workers=Pools(core_workers=0)), "core_workers = 0"),
        (lambda: Execution(workers=Pools(workers_of={"TCP": 0})), r"workers_of.TCP = 0"),
        (lambda: Execution(workers=Pools(pinned=1)), "pinned = 1: must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_settings_out_of_range_are_refused(make: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        make()


def test_accelerators_are_named_as_they_are(interface: Path) -> None:
    execution = Execution(workers=Pools(workers_of={"Deser": 2}))
    with pytest.raises(AccelflowError, match="did you mean Dser"):
        Server(interface, execution=execution)
