"""What traces put on the wire, read by libraries that share no code with the project.

And the other way round: what those libraries write, traces understand. The libraries are
cryptography (records), Apache Thrift (messages), zstandard (bodies) and pymongo's bson (documents);
TCP/IP is tests/network.py.
"""

import json
import struct
from typing import Any

import bson
import pytest
import zstandard
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TTransport import TMemoryBuffer

from accelflow.errors import TraceError
from accelflow.trace import Library, Run, Trace, demo_request, run_trace, seq, trans
from conftest import ROOT
from network import message_of, packets_from_client, plaintext_of
from thrift_interface import read_interface, read_struct, write_value

IDL = ROOT / "crates" / "accel" / "idl"
STORAGE = read_interface(IDL / "storage.thrift")
#: Any body of an RPC message may be the envelope of docs/message-conventions.md instead.
ENVELOPE = {32000: ("codec", "byte"), 32001: ("data", "binary")}
SOCIAL = {
    name: fields | ENVELOPE if name.endswith(("_args", "_result")) else fields
    for name, fields in read_interface(IDL / "social_network.thrift").items()
}
PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
CALL, REPLY = 1, 2
CACHE_GET, CACHE_SET, DB_INSERT = 0, 1, 3
JSON, BSON = 1, 2
ZSTD = 1

CARRIER = {"uber-trace-id": "00000000000000a1:00000000000000b2:00000000000000c3:1"}
CREATOR = {"user_id": 17, "username": "username_17"}
POST = {
    "post_id": 2**62 + 1,
    "creator": CREATOR,
    "req_id": -5,
    "text": 'h\u00e9llo "w\\orld"\n\u2603 \U0001f600',
    "user_mentions": [CREATOR, {"user_id": 961, "username": ""}],
    "media": [{"media_id": 999999999999999999, "media_type": "png"}] * 16,
    "urls": [],
    "timestamp": 1695947455229,
    "post_type": 3,
}
#: Method and value: one that is empty, a nested one, and one of many segments and records.
REPLIES: list[tuple[str, dict[str, Any]]] = [
    ("ComposePost", {}),
    ("ComposePost", {"se": {"errorCode": 2, "message": "no"}}),
    ("ComposeUniqueId", {"success": -(2**63)}),
    ("ReadPosts", {"success": [POST, POST]}),
    ("Login", {"success": "t\u00f6ken" * 8_000}),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ComposeUniqueId", {"req_id": 1, "post_type": 0, "carrier": CARRIER}),
    ("StorePost", {"req_id": 2**63 - 1, "post": POST, "carrier": CARRIER}),
    ("ComposeUrls", {"req_id": 4, "urls": ["https://example.com/" + "x" * 40_000], "carrier": {}}),
]


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def unframed(plain: bytes) -> bytes:
    (length,) = struct.unpack_from(">i", plain)
    assert length == len(plain) - 4
    return plain[4:]


def read_rpc(plain: bytes, suffix: str) -> tuple[str, int, Any]:
    """Name, type and value of an RPC message in the binary protocol."""
    memory = TMemoryBuffer(unframed(plain))
    source = TBinaryProtocol(memory)
    name, kind, _ = source.readMessageBegin()
    value = read_struct(source, SOCIAL, name + suffix)
    assert memory.read(1) == b""
    return name, kind, value


def write_rpc(protocol: str, name: str, kind: int, value: Any) -> bytes:
    memory = TMemoryBuffer()
    out = PROTOCOLS[protocol](memory)
    out.writeMessageBegin(name, kind, 7)
    write_value(out, SOCIAL, name + ("_args" if kind == CALL else "_result"), value)
    out.writeMessageEnd()
    return framed(memory.getvalue())


def read_storage(plain: bytes) -> Any:
    memory = TMemoryBuffer(unframed(plain))
    value = read_struct(TCompactProtocol(memory), STORAGE, "Message")
    assert memory.read(1) == b""
    return value


def write_storage(value: Any) -> bytes:
    memory = TMemoryBuffer()
    write_value(TCompactProtocol(memory), STORAGE, "Message", value)
    return framed(memory.getvalue())


def inflated(envelope: dict[str, Any]) -> Any:
    assert envelope.keys() == {"codec", "data"}
    assert envelope["codec"] == ZSTD
    return json.loads(zstandard.ZstdDecompressor().decompress(envelope["data"]))


def deflated(value: Any) -> dict[str, Any]:
    return {"codec": ZSTD, "data": zstandard.ZstdCompressor(level=3).compress(as_json(value))}


def only_sent(run: Run) -> bytes:
    ((_, packets),) = run.sent
    return packets


# From the project to the libraries.


@pytest.mark.parametrize(("method", "value"), REPLIES, ids=lambda part: str(part)[:30])
def test_replies_of_t2_and_t3_say_what_they_should(method: str, value: dict[str, Any]) -> None:
    for trace in ("T2", "T3"):
        packets = only_sent(run_trace(trace, as_json(value), call=("reply", method)))
        assert message_of(packets)[:2] == (0, False)
        name, kind, read = read_rpc(plaintext_of(packets), "_result")
        assert (name, kind) == (method, REPLY)
        assert (read if trace == "T2" else inflated(read)) == value


@pytest.mark.parametrize("trace", ["T9", "T9+Cmp"])
@pytest.mark.parametrize(("method", "value"), CALLS, ids=lambda part: str(part)[:30])
def test_requests_of_t9_say_what_they_should(trace: str, method: str, value: Any) -> None:
    run = run_trace(trace, as_json(value), call=("rpc", method))
    connection, from_client, _ = message_of(only_sent(run))
    assert (connection, from_client) == (1, True)
    name, kind, read = read_rpc(plaintext_of(only_sent(run)), "_args")
    assert (name, kind) == (method, CALL)
    assert (read if trace == "T9" else inflated(read)) == value


@pytest.mark.parametrize("compressed", [False, True])
def test_demo_request_is_what_t1_reads(compressed: bool) -> None:
    for method in ("ComposePost", "StorePost", "Login"):
        packets = demo_request(method, compressed=compressed)
        name, kind, value = read_rpc(plaintext_of(packets), "_args")
        assert (name, kind) == (method, CALL)
        (arrival,) = run_trace("T1", packets).arrivals
        assert json.loads(arrival.data) == (inflated(value) if compressed else value)


def test_a_read_of_the_cache_asks_for_its_key() -> None:
    packets = only_sent(run_trace("T4", b"{}", call=("cache_get", "posts", "k\u00e4y")))
    request = {"operation": CACHE_GET, "collection": "posts", "key": "k\u00e4y"}
    assert read_storage(plaintext_of(packets)) == {"request": request}


@pytest.mark.parametrize("operation", [CACHE_SET, DB_INSERT])
def test_writes_of_t8_carry_the_document(operation: int) -> None:
    call = ("cache_set" if operation == CACHE_SET else "db_insert", "posts", "9")
    head = {"operation": operation, "collection": "posts", "key": "9", "format": JSON}
    document = as_json(POST)
    plain = plaintext_of(only_sent(run_trace("T8", document, call=call)))
    expected = head | {"compressed": 0, "data": document}
    assert read_storage(plain) == {"request": expected}
    packed = plaintext_of(only_sent(run_trace("T8+Cmp", document, call=call)))
    request = read_storage(packed)["request"]
    frame = request.pop("data")
    assert request == head | {"compressed": 1, "codec": ZSTD}
    assert zstandard.ZstdDecompressor().decompress(frame) == document


def library_with(name: str, *steps: Any) -> Library:
    library = Library()
    trace = Trace(library=library)
    trace.build(seq(*steps))
    trace.register(name=name)
    return library


def test_documents_in_bson_are_those_of_mongodb() -> None:
    library = library_with("as_bson", "TCP", "Decr", "RPC", "Dser", trans("JSON", "BSON"), "LdB")
    for method, value in CALLS:
        packets = packets_from_client(write_rpc("compact", method, CALL, value))
        (arrival,) = run_trace("as_bson", packets, library=library).arrivals
        assert arrival.format == "BSON"
        assert bson.decode(arrival.data) == value


# From the libraries to the project.


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("method", "value"), CALLS, ids=lambda part: str(part)[:30])
def test_t1_understands_other_clients(protocol: str, method: str, value: Any) -> None:
    for body in (value, deflated(value)):
        packets = packets_from_client(write_rpc(protocol, method, CALL, body))
        (arrival,) = run_trace("T1", packets).arrivals
        assert json.loads(arrival.data) == value
        assert arrival.texts["method"] == method
        assert arrival.facts["seqid"] == 7


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("method", "value"),
    [case for case in REPLIES if "se" not in case[1]],
    ids=lambda part: str(part)[:30],
)
def test_t10_understands_other_servers(protocol: str, method: str, value: Any) -> None:
    for body in (value, deflated(value)):
        packets = packets_from_client(write_rpc(protocol, method, REPLY, body))
        (arrival,) = run_trace("T10", packets).arrivals
        assert json.loads(arrival.data) == value


def cache_answer(data: bytes, form: int, **more: int) -> bytes:
    response = {"operation": CACHE_GET, "hit": 1, "exception": 0, "format": form, "data": data}
    return packets_from_client(write_storage({"response": response | more}))


def test_t5_understands_other_caches() -> None:
    document = as_json(POST)
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(document)
    answers = [
        cache_answer(document, JSON, compressed=0),
        cache_answer(frame, JSON, compressed=1, codec=ZSTD),
    ]
    for packets in answers:
        (arrival,) = run_trace("T5", packets, call=("cache_response", "p", "1")).arrivals
        assert (arrival.trace, arrival.format, arrival.data) == ("T5", "JSON", document)


def test_bson_of_other_stores_is_the_same_json() -> None:
    steps = ("TCP", "Decr", "Dser", trans("JSON", "BSON"), trans("BSON", "JSON"), "LdB")
    library = library_with("read_bson", *steps)
    packets = cache_answer(bson.encode(POST), BSON)
    call = ("cache_response", "p", "1")
    (arrival,) = run_trace("read_bson", packets, call=call, library=library).arrivals
    assert arrival.format == "JSON"
    assert json.loads(arrival.data) == POST


# The decoders themselves find what is wrong.


def test_a_changed_byte_is_found_by_both_sides() -> None:
    packets = bytearray(demo_request("Login"))
    packets[-1] ^= 1
    with pytest.raises(AssertionError):
        message_of(bytes(packets))
    with pytest.raises(TraceError, match="checksum"):
        run_trace("T1", bytes(packets))


def test_the_interface_reader_sees_every_kind_of_field() -> None:
    assert SOCIAL["Post"][2] == ("creator", "Creator")
    assert SOCIAL["Post"][5] == ("user_mentions", "list<UserMention>")
    assert SOCIAL["Post"][9] == ("post_type", "i32")
    assert SOCIAL["ComposeUniqueId_args"][3] == ("carrier", "map<string, string>")
    assert SOCIAL["ComposePost_result"].keys() == {1, *ENVELOPE}
    assert SOCIAL["ReadPosts_result"][0] == ("success", "list<Post>")
    assert STORAGE["Response"].keys() == set(range(1, 11))
    assert STORAGE["Request"][1] == ("operation", "i32")
