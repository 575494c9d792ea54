"""Health checks and reflection of gRPC servers, with the standard clients of both protocols."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from accelflow import GrpcClient, InputError, Server
from accelflow.settings import Execution, Observability, Timeouts
from accelflow.tenants import Control, Shaping, Slo, Tenant
from test_recorded_coroutines import recording

BASE = """
syntax = "proto2";
package base;
message Item { optional string name = 1; extensions 100 to 199; }
extend Item { optional int32 weight = 101; optional int32 size = 100; }
"""

INTERFACE = """
syntax = "proto3";
package told;
import "base.proto";
import "google/protobuf/timestamp.proto";
message Asked {
  string text = 1;
  base.Item item = 2;
  google.protobuf.Timestamp at = 3;
  Kind kind = 4;
  oneof choice { int32 number = 5; }
}
enum Kind { UNKNOWN = 0; LARGE = 1; }
service Teller { rpc Tell(Asked) returns (Asked); }
"""

V1 = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
CHECK = "/grpc.health.v1.Health/Check"
HEALTH = health_pb2.HealthCheckResponse


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    (folder / "base.proto").write_text(BASE, encoding="utf-8")
    path = folder / "told.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@contextmanager
def serving(interface: Path, **settings: Any) -> Iterator[tuple[Server, grpc.Channel]]:
    settings.setdefault("observability", Observability(reflection=True))
    server = Server(interface, **settings)
    server.handle("Tell", lambda asked: asked)
    port = server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield server, channel
    finally:
        server.stop(grace_s=5)


@pytest.fixture(params=[64, 0])
def served(
    request: pytest.FixtureRequest, interface: Path
) -> Iterator[tuple[Server, grpc.Channel]]:
    with serving(interface, execution=Execution(handler_threads=request.param)) as both:
        yield both


@pytest.fixture
def channel(served: tuple[Server, grpc.Channel]) -> grpc.Channel:
    return served[1]


def ask(channel: grpc.Channel, *questions: dict[str, Any]) -> list[Any]:
    requests = [reflection_pb2.ServerReflectionRequest(**question) for question in questions]
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    return list(stub.ServerReflectionInfo(iter(requests), timeout=60))


def files(response: Any) -> list[str]:
    encoded = response.file_descriptor_response.file_descriptor_proto
    return [FileDescriptorProto.FromString(file).name for file in encoded]


def test_a_client_without_the_interface_calls_a_method(channel: grpc.Channel) -> None:
    database = ProtoReflectionDescriptorDatabase(channel)
    assert list(database.get_services()) == ["told.Teller"]
    pool = DescriptorPool(database)
    method = pool.FindMethodByName("told.Teller.Tell")
    kind = GetMessageClass(method.input_type)
    message = kind(text="grüße", kind=1, number=7)
    message.item.name = "a"
    message.at.seconds = 5
    call = channel.unary_unary(
        "/told.Teller/Tell",
        request_serializer=kind.SerializeToString,
        response_deserializer=kind.FromString,
    )
    assert call(message, timeout=60) == message
    assert sorted(database.FindAllExtensionNumbers("base.Item")) == [100, 101]


def test_an_extension_is_found_by_its_number(channel: grpc.Channel) -> None:
    extension = {"containing_type": "base.Item", "extension_number": 101}
    (response,) = ask(channel, {"file_containing_extension": extension})
    assert files(response) == ["base.proto"]


@pytest.mark.parametrize(
    ("symbol", "file"),
    [
        ("told.Teller", "told.proto"),
        ("told.Teller.Tell", "told.proto"),
        ("told.Asked", "told.proto"),
        ("told.Asked.text", "told.proto"),
        ("told.Asked.choice", "told.proto"),
        ("told.Kind", "told.proto"),
        ("told.LARGE", "told.proto"),
        ("base.Item", "base.proto"),
        ("base.weight", "base.proto"),
        ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
        ("told.Teller.Other", None),
        ("told.Kind.LARGE", None),
        ("told", None),
        ("", None),
        (".told.Asked", "told.proto"),
        ("x" * 3000, None),
    ],
)
def test_a_symbol_is_found_in_its_file(
    served: tuple[Server, grpc.Channel], symbol: str, file: str | None
) -> None:
    (response,) = ask(served[1], {"file_containing_symbol": symbol})
    assert response.original_request.file_containing_symbol == symbol
    if file is None:
        assert response.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
        assert response.error_response.error_message == f"symbol '{symbol}': not found"
    else:
        assert files(response)[0] == file


def test_imports_come_once_on_a_stream(channel: grpc.Channel) -> None:
    question = {"file_by_filename": "told.proto"}
    first, second, imported = ask(channel, question, question, {"file_by_filename": "base.proto"})
    assert files(first)[0] == "told.proto"
    assert sorted(files(first)) == ["base.proto", "google/protobuf/timestamp.proto", "told.proto"]
    assert files(second) == ["told.proto"]
    assert files(imported) == ["base.proto"]


def test_what_is_not_there_is_an_answer_and_the_stream_goes_on(channel: grpc.Channel) -> None:
    extension = {"containing_type": "base.Item", "extension_number": 150}
    responses = ask(
        channel,
        {"file_by_filename": "../told.proto"},
        {"file_containing_extension": extension},
        {"all_extension_numbers_of_type": "told.Nothing"},
        {},
        {"list_services": "", "host": "here"},
    )
    errors = [
        (told.error_response.error_code, told.error_response.error_message) for told in responses
    ]
    assert errors == [
        (5, "file '../told.proto': not found"),
        (5, "extension 150 of 'base.Item': not found"),
        (5, "message 'told.Nothing': not found"),
        (12, "the request has no question that this server knows"),
        (0, ""),
    ]
    assert responses[-1].valid_host == "here"
    assert [service.name for service in responses[-1].list_services_response.service] == [
        "told.Teller"
    ]


def raw(channel: grpc.Channel, path: str, *messages: bytes, **options: Any) -> list[bytes]:
    return list(channel.stream_stream(path)(iter(messages), timeout=60, **options))


@pytest.mark.parametrize(
    ("messages", "options", "code"),
    [
        ((b"\x1a\x05ab",), {}, grpc.StatusCode.INTERNAL),
        ((b"\x1a\xff\x7f" + b"x" * 16_383,), {}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (
            (b"\x3a\x00" * 2_049,),
            {"compression": grpc.Compression.Gzip},
            grpc.StatusCode.RESOURCE_EXHAUSTED,
        ),
    ],
)
def test_a_bad_message_ends_the_stream(
    channel: grpc.Channel,
    messages: tuple[bytes, ...],
    options: dict[str, Any],
    code: grpc.StatusCode,
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        raw(channel, V1, *messages, **options)
    assert caught.value.code() is code
    assert len(raw(channel, V1, b"\x3a\x00")) == 1


def test_compressed_messages_are_taken(interface: Path) -> None:
    # The shaper counts the bytes on the wire, which tell that the client does compress.
    tenants = [Tenant(name="a", networks=["127.0.0.1"])]
    observed = Observability(reflection=True)
    with serving(interface, tenants=tenants, observability=observed) as (server, channel):
        gzip = {"compression": grpc.Compression.Gzip}
        assert raw(channel, CHECK, UNKNOWN_FIELD, **gzip) == [b"\x08\x01"]
        question = b"\x3a\x00" * 50
        assert raw(channel, V1, question, **gzip) == raw(channel, V1, b"\x3a\x00")
        received = count(server, 'accelflow_tenant_request_bytes_total{tenant="a"}')
        assert received < len(UNKNOWN_FIELD)


def test_reflection_is_off_by_default(interface: Path) -> None:
    with serving(interface, observability=Observability()) as (server, channel):
        for path in (V1, V1.replace("v1", "v1alpha")):
            with pytest.raises(grpc.RpcError) as caught:
                raw(channel, path, b"\x3a\x00")
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "ServerReflectionInfo" not in server.metrics()
    with pytest.raises(InputError, match="reflection = 'yes': must be True or False"):
        Observability(reflection="yes")  # type: ignore[arg-type]


def health(channel: grpc.Channel, service: str) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service=service)
    return int(stub.Check(request, timeout=60).status)


def test_health_is_that_of_the_server_and_of_its_services(
    served: tuple[Server, grpc.Channel],
) -> None:
    server, channel = served
    assert health(channel, "") == HEALTH.SERVING
    assert health(channel, "told.Teller") == HEALTH.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        health(channel, "told.Other")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert caught.value.details() == "service = 'told.Other': unknown"
    for messages in [(), (b"", b"")]:
        with pytest.raises(grpc.RpcError) as caught:
            raw(channel, CHECK, *messages)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    label = 'accelflow_requests_total{function="grpc.health.v1.Health.Check",result='
    counts = [line for line in server.metrics().splitlines() if line.startswith(label)]
    assert f'{label}"ok"}} 2' in counts
    assert f'{label}"unknown_service"}} 1' in counts


def test_a_watch_tells_that_the_server_stops(interface: Path) -> None:
    with serving(interface) as (server, channel):
        stub = health_pb2_grpc.HealthStub(channel)
        known, unknown, left = (
            stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=60)
            for name in ("told.Teller", "told.Other", "")
        )
        assert next(known).status == HEALTH.SERVING
        assert next(unknown).status == HEALTH.SERVICE_UNKNOWN
        assert next(left).status == HEALTH.SERVING
        left.cancel()
        stopping = threading.Thread(target=server.stop, args=(60,))
        stopping.start()
        assert next(known).status == HEALTH.NOT_SERVING
        for watch in (known, unknown):
            with pytest.raises(grpc.RpcError) as caught:
                next(watch)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert caught.value.details() == "the server is stopping"
        stopping.join(60)
        assert not stopping.is_alive()


#: A request for the server's health with a field that no version of the protocol has.
UNKNOWN_FIELD = b"\x7a\x64" + b"x" * 100


def count(server: Server, metric: str) -> float:
    lines = [line for line in server.metrics().splitlines() if line.startswith(f"{metric} ")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def wait_for(server: Server, metric: str, value: float) -> None:
    deadline = time.monotonic() + 60
    while count(server, metric) != value:
        assert time.monotonic() < deadline, (metric, server.metrics())
        time.sleep(0.01)


def test_a_request_that_does_not_come_is_given_up(interface: Path) -> None:
    with serving(interface, timeouts=Timeouts(message_timeout_s=0.2)) as (server, channel):
        end = threading.Event()

        def nothing() -> Iterator[bytes]:
            end.wait(60)
            yield from ()

        with pytest.raises(grpc.RpcError) as caught:
            list(channel.stream_stream(CHECK)(nothing(), timeout=60))
        end.set()
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert caught.value.details() == "the request was not complete in time"
        function = "grpc.health.v1.Health.Check"
        slow = f'accelflow_requests_total{{function="{function}",result="slow"}}'
        assert count(server, slow) == 1


def test_health_checks_count_for_the_limits_of_their_tenant(interface: Path) -> None:
    # One request at once, and the next one after a quarter of an hour.
    shaping = Shaping(requests_per_s=0.001, burst_requests=1)
    tenants = [Tenant(name="a", networks=["127.0.0.1"], shaping=shaping)]
    with serving(interface, tenants=tenants) as (server, channel):
        assert raw(channel, CHECK, UNKNOWN_FIELD) == [b"\x08\x01"]
        assert count(server, 'accelflow_tenant_requests_total{tenant="a"}') == 1
        size = 5 + len(UNKNOWN_FIELD)
        assert count(server, 'accelflow_tenant_request_bytes_total{tenant="a"}') == size
        waiting = 'accelflow_tenant_waiting{tenant="a"}'
        for path in (CHECK, V1):
            call = channel.stream_stream(path)(iter([UNKNOWN_FIELD]), timeout=60)
            wait_for(server, waiting, 1)
            call.cancel()
            wait_for(server, waiting, 0)


def test_health_checks_are_no_requests_of_a_promise(interface: Path) -> None:
    slo = Slo(requests_per_s=1_000, request_us=100)
    tenants = [Tenant(name="a", networks=["127.0.0.1"], slo=slo)]
    control = Control(capacity_s_per_s=1, period_s=0.01)
    with serving(interface, tenants=tenants, control=control) as (server, channel):
        for _ in range(5):
            health(channel, "")
        client = GrpcClient(interface, f"127.0.0.1:{server.port}")
        client.call("Tell", {"text": "a"})
        wait_for(server, 'accelflow_tenant_charged_total{tenant="a"}', 1)
        assert count(server, 'accelflow_tenant_requests_total{tenant="a"}') == 6


def steps_of(channel: grpc.Channel, server: Server, questions: int) -> list[tuple[str, float]]:
    """The accelerators and bytes of the recorded steps of a call, in order."""
    for _ in range(questions):
        ask(channel, {"file_by_filename": "told.proto"})
    channel.unary_unary("/told.Teller/Tell")(b"\x0a\x01a", timeout=60)
    (service,) = json.loads(recording(server, {"told.Teller.Tell": "Tell"}))["services"]
    chains = [chain for phase in service["phases"] for chain in phase.get("chains", [])]
    return [(step["accelerator"], step["input_bytes"]) for c in chains for step in c["steps"]]


def test_recorded_requests_do_not_pay_for_questions_before_them(interface: Path) -> None:
    seen = []
    for questions in (0, 20):
        observed = Observability(reflection=True, record=True)
        with serving(interface, observability=observed) as (server, channel):
            seen.append(steps_of(channel, server, questions))
    alone, after = seen
    assert [name for name, _ in alone] == [name for name, _ in after]
    # A frame or two of HTTP/2 may come in the same segment.
    assert all(size <= expected + 40 for (_, expected), (_, size) in zip(alone, after, strict=True))


def test_a_connection_with_waiting_streams_alone_is_idle(interface: Path) -> None:
    with serving(interface, timeouts=Timeouts(idle_timeout_s=0.2)) as (_, channel):
        watch = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=60
        )
        assert next(watch).status == HEALTH.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert health(channel, "") == HEALTH.SERVING


OWN = """
syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse { int32 status = 1; }
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
"""


def test_a_service_that_the_interface_declares_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.proto"
    path.write_text(OWN, encoding="utf-8")
    server = Server(path)
    server.handle("Check", lambda asked: {"status": len(asked["service"])})
    port = server.start()
    try:
        client = GrpcClient(path, f"127.0.0.1:{port}")
        assert client.call("Check", {"service": "four"}) == {"status": 4}
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            watch = health_pb2_grpc.HealthStub(channel).Watch(
                health_pb2.HealthCheckRequest(), timeout=60
            )
            with pytest.raises(grpc.RpcError) as caught:
                next(watch)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    finally:
        server.stop(grace_s=5)
