"""Metadata and status details of gRPC responses, with gRPC's own clients and servers at one end."""

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from accelflow import AccelflowError, CallError, DeclaredError, GrpcClient, Server
from accelflow.requests import Request
from accelflow.settings import Execution, Observability

INTERFACE = """
syntax = "proto3";
package rich;
import "google/protobuf/wrappers.proto";
message Asked { string text = 1; }
message Reason { string reason = 1; map<string, string> metadata = 2; int64 count = 3; }
// As google.rpc.Status.
message Any { string type_url = 1; bytes value = 2; }
message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
message Wrapped { google.protobuf.Int32Value number = 1; }
service Rich { rpc Ask(Asked) returns (Asked); rpc Later(Asked) returns (Asked); }
"""

REASON = {"reason": "QUOTA", "metadata": {"a": "b"}, "count": "5"}
URL = "type.googleapis.com/rich.Reason"
UNKNOWN = {"@type": "type.googleapis.com/other.Type", "value": "CAE="}
DETAILS = [
    {"@type": URL, **REASON},
    {"@type": "type.googleapis.com/google.protobuf.Int32Value", "value": 7},
    UNKNOWN,
]
STATUS = "grpc-status-details-bin"


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rich") / "accelflow_rich.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stubs(interface: Path) -> Iterator[tuple[Any, Any]]:
    sys.path.insert(0, str(interface.parent))
    try:
        yield grpc.protos_and_services(interface.name)
    finally:
        sys.path.remove(str(interface.parent))


def ask(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    request.add_initial_metadata("x-begun", "now")
    request.add_initial_metadata("x-key-bin", b"\x00\xff")
    request.add_trailing_metadata("x-cost", "3")
    request.add_trailing_metadata("x-cost", "4")
    request.add_trailing_metadata("x-sum-bin", b"\x01\x02\x03")
    match arguments["text"]:
        case "fail":
            raise DeclaredError("RESOURCE_EXHAUSTED", {"message": "no ü", "details": DETAILS})
        case "bad":
            raise DeclaredError("ABORTED", {"details": [{"@type": URL, "count": "x"}]})
        case "large":
            raise DeclaredError("ABORTED", {"details": [{"@type": URL, "reason": "x" * 5000}]})
        case "unknown":
            raise DeclaredError("ABORTED", {"details": [{"@type": "a/b.C", "x": 1}]})
    return arguments


async def later(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    return ask(arguments, request)


@pytest.fixture(params=[64, 0])
def server(request: pytest.FixtureRequest, interface: Path) -> Iterator[Server]:
    made = Server(
        interface,
        observability=Observability(verbose_errors=True),
        execution=Execution(handler_threads=request.param),
    )
    made.handle("Ask", ask)
    made.handle("Later", later)
    with made:
        yield made


INITIAL = [("x-begun", "now"), ("x-key-bin", b"\x00\xff")]
TRAILING = [("x-cost", "3"), ("x-cost", "4"), ("x-sum-bin", b"\x01\x02\x03")]


@pytest.mark.parametrize("method", ["Ask", "Later"])
def test_grpcs_client_receives_what_handlers_add(
    server: Server, stubs: tuple[Any, Any], method: str
) -> None:
    messages, services = stubs
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = getattr(services.RichStub(channel), method)
        value, done = call.with_call(messages.Asked(text="x"), timeout=60)
        assert value.text == "x"
        assert list(done.initial_metadata()) == INITIAL
        assert list(done.trailing_metadata()) == TRAILING
        with pytest.raises(grpc.RpcError) as raised:
            call(messages.Asked(text="fail"), timeout=60)
    failed = raised.value
    assert failed.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert failed.details() == "no ü"
    assert list(failed.initial_metadata()) == INITIAL
    trailing = list(failed.trailing_metadata())
    assert [entry for entry in trailing if entry[0] != STATUS] == TRAILING
    status = messages.Status.FromString(dict(trailing)[STATUS])
    assert (status.code, status.message) == (8, "no ü")
    assert [detail.type_url for detail in status.details] == [each["@type"] for each in DETAILS]
    reason = messages.Reason.FromString(status.details[0].value)
    assert (reason.reason, dict(reason.metadata), reason.count) == ("QUOTA", {"a": "b"}, 5)
    assert [detail.value for detail in status.details][1:] == [b"\x08\x07", b"\x08\x01"]


def test_coroutines_receive_metadata(server: Server, interface: Path) -> None:
    client = GrpcClient(interface, f"127.0.0.1:{server.port}")

    async def call(method: str) -> None:
        response = await client.call_with_metadata_async(method, {"text": "x"}, timeout_s=60.0)
        assert response == ({"text": "x"}, INITIAL, TRAILING)
        assert await client.call_async(method, {"text": "x"}, timeout_s=60.0) == {"text": "x"}
        with pytest.raises(CallError) as raised:
            await client.call_with_metadata_async(method, {"text": "fail"}, timeout_s=60.0)
        assert raised.value.trailing_metadata == TRAILING

    async def both() -> None:
        await asyncio.gather(call("Ask"), call("Later"))

    asyncio.run(both())


def test_details_that_cannot_be_sent_are_named(server: Server, interface: Path) -> None:
    client = GrpcClient(interface, f"127.0.0.1:{server.port}")
    for text, said in (
        ("bad", "'details' of ABORTED: .*"),
        ("large", "'message' and 'details' of ABORTED = 50.. bytes: must be at most 4096"),
        ("unknown", "detail 0 'a/b.C': must be a message type of the interface"),
    ):
        with pytest.raises(CallError, match=said) as raised:
            client.call("Ask", {"text": text})
        assert raised.value.code == "INTERNAL"


NUMBER = "type.googleapis.com/google.protobuf.Int32Value"
TWO = f"detail 1 '{NUMBER}': must have two members, '@type' and 'value', which has the type's form"


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ({"@type": NUMBER, "value": 7, "secret": "hidden"}, TWO),
        ({"@type": NUMBER}, TWO),
        ({"value": "hidden"}, "detail 1: must be an object with the text '@type'"),
        ("hidden", "detail 1: must be an object with the text '@type'"),
    ],
)
def test_details_of_another_form_are_named_without_their_values(
    interface: Path, detail: Any, said: str
) -> None:
    def fail(_: dict[str, Any]) -> Any:
        raise DeclaredError("ABORTED", {"details": [UNKNOWN, detail]})

    server = Server(interface, observability=Observability(verbose_errors=True))
    server.handle("Ask", fail)
    with server:
        client = GrpcClient(interface, f"127.0.0.1:{server.port}")
        with pytest.raises(CallError, match="'details' of ABORTED") as raised:
            client.call("Ask")
    assert said in str(raised.value)
    assert "hidden" not in str(raised.value)
    assert "line" not in str(raised.value)


def test_types_without_a_special_form_have_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "sources.proto"
    path.write_text(
        """
syntax = "proto3";
import "google/protobuf/source_context.proto";
import "google/protobuf/empty.proto";
message Asked { google.protobuf.SourceContext context = 1; google.protobuf.Empty none = 2; }
service Sources { rpc Ask(Asked) returns (Asked); }
""",
        encoding="utf-8",
    )
    prefix = "type.googleapis.com/google.protobuf."
    details = [
        {"@type": f"{prefix}SourceContext", "fileName": "a.proto"},
        {"@type": f"{prefix}Empty", "value": {}},
    ]

    def fail(_: dict[str, Any]) -> Any:
        raise DeclaredError("ABORTED", {"details": details})

    server = Server(path)
    server.handle("Ask", fail)
    with server, pytest.raises(CallError) as raised:
        GrpcClient(path, f"127.0.0.1:{server.port}").call("Ask")
    assert raised.value.status_details == details


def test_metadata_that_is_not_allowed_is_named(interface: Path, tmp_path: Path) -> None:
    refused = []

    def wrong(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        for name, value in (("X", "a"), ("x-bin", "a"), ("x", b"a"), ("grpc-x", "a"), ("x", "ü")):
            with pytest.raises(AccelflowError) as raised:
                request.add_trailing_metadata(name, value)
            refused.append(str(raised.value))
        return arguments

    server = Server(interface)
    server.handle("Ask", wrong)
    with server:
        client = GrpcClient(interface, f"127.0.0.1:{server.port}")
        response = client.call_with_metadata("Ask", {"text": "y"})
    assert response == ({"text": "y"}, [], [])
    assert all(text.startswith("metadata ") for text in refused)
    assert len(refused) == 5


class Service:
    """A service of gRPC's own server."""

    def __init__(self, messages: Any) -> None:
        self.messages = messages

    def Ask(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        context.send_initial_metadata(INITIAL)
        trailing: list[tuple[str, str | bytes]] = list(TRAILING)
        if request.text == "fail":
            reason = self.messages.Reason(reason="QUOTA", metadata={"a": "b"}, count=5)
            details = [
                self.messages.Any(type_url=URL, value=reason.SerializeToString()),
                self.messages.Any(type_url=DETAILS[1]["@type"], value=b"\x08\x07"),
                self.messages.Any(type_url=UNKNOWN["@type"], value=b"\x08\x01"),
            ]
            status = self.messages.Status(code=8, message="no", details=details)
            context.set_trailing_metadata([*trailing, (STATUS, status.SerializeToString())])
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no")
        context.set_trailing_metadata(trailing)
        return request

    def Later(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        context.set_trailing_metadata([(STATUS, b"\xff no status")])
        context.abort(grpc.StatusCode.ABORTED, "no")


def test_clients_read_what_grpcs_server_sends(interface: Path, stubs: tuple[Any, Any]) -> None:
    messages, services = stubs
    grpcs = grpc.server(ThreadPoolExecutor(2))
    service = type("Rich", (Service, services.RichServicer), {})(messages)
    services.add_RichServicer_to_server(service, grpcs)
    port = grpcs.add_insecure_port("127.0.0.1:0")
    grpcs.start()
    try:
        client = GrpcClient(interface, f"127.0.0.1:{port}")
        response = client.call_with_metadata("Ask", {"text": "x"})
        assert response.value == {"text": "x"}
        assert response.initial_metadata == INITIAL
        assert response.trailing_metadata == TRAILING
        with pytest.raises(CallError) as raised:
            client.call("Ask", {"text": "fail"})
        failed = raised.value
        assert (failed.code, failed.details) == ("RESOURCE_EXHAUSTED", "no")
        assert failed.status_details == DETAILS
        assert failed.initial_metadata == INITIAL
        assert failed.trailing_metadata == TRAILING
        with pytest.raises(CallError) as raised:
            client.call("Later")
        assert (raised.value.code, raised.value.status_details) == ("ABORTED", [])
    finally:
        grpcs.stop(None).wait()


def answer_of_sizes(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    """Answer with trailing metadata, details and a message of the sizes in the text."""
    initial, metadata, details, message = map(int, arguments["text"].split())
    if initial:
        request.add_initial_metadata("x-begun", "now")
    request.add_trailing_metadata("x-long", "m" * (metadata - len("x-long") - 32))
    if message:
        rich = [{"@type": URL, "reason": "d" * details}] if details else []
        text = "\u00fc" * (message // 2) if message > 2_500 else "e" * message
        raise DeclaredError("NOT_FOUND", {"message": text, "details": rich})
    return arguments


@pytest.fixture
def sized(interface: Path, stubs: tuple[Any, Any]) -> Iterator[tuple[GrpcClient, Any]]:
    """Our client, and the call of gRPC's own, of a server that answers with the sizes in a text."""
    server = Server(interface)
    server.handle("Ask", answer_of_sizes)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = stubs[1].RichStub(channel).Ask.with_call
        yield (
            GrpcClient(interface, f"127.0.0.1:{server.port}"),
            lambda text: call(stubs[0].Asked(text=text), timeout=60),
        )


BOTH = "without the details of the status and the trailing metadata"


@pytest.mark.parametrize("initial", [0, 1])
@pytest.mark.parametrize(
    ("sizes", "lacks"),
    [
        ((7900, 500, 2000), BOTH),
        ((5000, 1500, 100), None),
        ((6000, 1500, 100), "without the details of the status"),
        ((8000, 0, 1000), "without the trailing metadata"),
        # Each byte of the message is three in the header.
        ((100, 100, 3000), "without the details of the status"),
        ((8100, 0, 0), None),
        ((8190, 0, 0), "without the trailing metadata"),
    ],
)
def test_what_ends_a_response_fits_what_clients_accept(
    sized: tuple[GrpcClient, Any],
    caplog: pytest.LogCaptureFixture,
    initial: int,
    sizes: tuple[int, int, int],
    lacks: str | None,
) -> None:
    ours, theirs = sized
    _, details, message = sizes
    text = " ".join(map(str, (initial, *sizes)))
    if message:
        with pytest.raises(CallError) as raised:
            ours.call("Ask", {"text": text})
        with pytest.raises(grpc.RpcError) as seen:
            theirs(text)
        error = raised.value
        assert error.code == seen.value.code().name == "NOT_FOUND"
        assert error.details == seen.value.details()
        assert error.details in {"e" * message, "\u00fc" * 1024}
        assert bool(error.status_details) == (details > 0 and lacks is None)
        arrived, names = error.trailing_metadata, dict(seen.value.trailing_metadata())
    else:
        arrived = ours.call_with_metadata("Ask", {"text": text}).trailing_metadata
        names = dict(theirs(text)[1].trailing_metadata())
    has_metadata = lacks is None or "metadata" not in lacks
    assert (bool(arrived), "x-long" in names) == (has_metadata, has_metadata)
    logged = [line for line in caplog.messages if "trailers_too_large" in line]
    assert len(logged) == (0 if lacks is None else 2), caplog.messages
    said = f"must be at most 8192; the response is sent {lacks}"
    assert all(line.endswith(said) for line in logged), logged
