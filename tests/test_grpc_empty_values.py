"""Well-known types without content: an `Any` without a type, and the JSON value null."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2

from accelflow import CallError, GrpcClient, Server
from accelflow.settings import Observability

INTERFACE = """
syntax = "proto3";
package empty;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
message Held {
  google.protobuf.Any one = 1;
  repeated google.protobuf.Any many = 2;
  map<string, google.protobuf.Any> by_name = 3;
  Held inner = 4;
  google.protobuf.Struct open = 5;
  google.protobuf.Value value = 6;
}
service Empty {
  rpc Hold(Held) returns (Held);
  rpc Get(google.protobuf.Value) returns (google.protobuf.Value);
  rpc Any(google.protobuf.Any) returns (google.protobuf.Any);
  rpc Nothing(google.protobuf.Value) returns (google.protobuf.Struct);
}
"""


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "accelflow_empty.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stubs(interface: Path) -> Iterator[tuple[Any, Any]]:
    sys.path.insert(0, str(interface.parent))
    try:
        yield grpc.protos_and_services(interface.name)
    finally:
        sys.path.remove(str(interface.parent))


def test_any_without_a_type_is_an_empty_object(interface: Path, stubs: tuple[Any, Any]) -> None:
    messages, services = stubs
    seen = []

    def hold(arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(arguments)
        return arguments

    server = Server(interface, observability=Observability(verbose_errors=True))
    server.handle("Hold", hold)
    server.handle("Any", lambda value: value)
    typed = {"@type": "x/empty.Held", "many": [], "byName": {}}
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub = services.EmptyStub(channel)
        held = messages.Held(open={"a": {}, "z": {}})
        held.one.SetInParent()
        held.many.add()
        held.many.add().Pack(messages.Held(), "x")
        held.by_name["k"].SetInParent()
        held.inner.one.SetInParent()
        assert stub.Hold(held, timeout=60) == held
        assert stub.Any(type(held.one)(), timeout=60) == type(held.one)()
        client = GrpcClient(interface, f"127.0.0.1:{server.port}")
        assert client.call("Any", {}) == {}
        assert client.call("Hold", {"one": {}, "by_name": {"k": {}}, "many": [typed, {}]}) == {
            "one": {},
            "byName": {"k": {}},
            "many": [typed, {}],
        }
        with pytest.raises(CallError, match="@type"):
            client.call("Hold", {"one": {"value": 1}})
        # Content without a type has no JSON.
        content = messages.Held()
        content.one.value = b"x"
        with pytest.raises(grpc.RpcError):
            stub.Hold(content, timeout=60)
    first = seen[0]
    assert first["one"] == first["inner"]["one"] == first["byName"]["k"] == {}
    assert first["many"] == [{}, typed]
    assert first["open"] == {"a": {}, "z": {}}


def test_none_is_the_value_null(interface: Path, stubs: tuple[Any, Any]) -> None:
    _, services = stubs
    seen = []

    async def get(value: Any) -> None:
        seen.append(value)

    server = Server(interface)
    server.handle("Get", get)
    server.handle("Nothing", lambda _: None)
    server.handle("Hold", lambda _: {"value": None})
    null = struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub = services.EmptyStub(channel)
        answer = stub.Get(null, timeout=60)
        assert answer == null
        assert answer.WhichOneof("kind") == "null_value"
        assert stub.Nothing(null, timeout=60) == struct_pb2.Struct()
        client = GrpcClient(interface, f"127.0.0.1:{server.port}")
        for request in (None, {}, {"a": None}, [None], 0):
            assert client.call("Get", request) is None
        assert client.call("Hold")["value"] is None
    assert seen == [None, None, {}, {"a": None}, [None], 0]
