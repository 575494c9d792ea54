"""Header blocks of HTTP/2 by encoders that share no code with the server (HPACK, RFC 7541).

What the server has read is seen in what it answers: a GET is refused with 405, and the text of a
refused gRPC call quotes its path, its `grpc-encoding` or its `grpc-timeout`.
"""

import gzip
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import hpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelflow import Server
from accelflow.settings import Observability
from conftest import ROOT

INTERFACE = """
syntax = "proto3";
package shop;
message Item { string text = 1; }
service Shop { rpc Echo(Item) returns (Item); }
"""

HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 1, 3, 4, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4

#: The request blocks of RFC 7541, appendices C.3 (plain) and C.4 (Huffman), of one connection each.
RFC_7541 = {
    "C.3": [
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ],
    "C.4": [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828684be5886a8eb10649cbf",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ],
}

#: Published cases, of requests, if they are at hand: github.com/http2jp/hpack-test-case (MIT).
PUBLISHED = Path(os.environ.get("ACCELFLOW_PUBLISHED", ROOT.parent / "shared" / "data")) / "hpack"
STORIES = ["story_00", "story_01", "story_05"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("hpack") / "shop.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    server = Server(path, observability=Observability(verbose_errors=True))
    server.handle("Echo", lambda arguments: arguments)
    with server:
        yield server


class Connection:
    """A client's end: frames by hand, blocks by the library with the tables of what was sent."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.stream = -1
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, b""))

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @staticmethod
    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return (
            struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload
        )

    def ask(self, block: bytes, *, piece: int = 16_384) -> dict[str, str]:
        """Send a block, in frames of `piece` bytes; the head of the response, or `reset`."""
        self.stream += 2
        pieces = [block[at : at + piece] for at in range(0, len(block), piece)]
        sent = b""
        for number, part in enumerate(pieces):
            kind = CONTINUATION if number else HEADERS
            flags = END_HEADERS if number == len(pieces) - 1 else 0
            flags |= 0 if number else END_STREAM
            sent += self.frame(kind, flags, self.stream, part)
        self.socket.sendall(sent)
        while True:
            kind, flags, stream, payload = self.read()
            assert kind != GOAWAY, payload
            if kind == RST_STREAM:
                return {":status": "reset"}
            if kind == SETTINGS and not flags & ACK:
                self.socket.sendall(self.frame(SETTINGS, ACK, 0, b""))
            if kind == HEADERS:
                head = dict(self.decoder.decode(payload))
                assert stream == self.stream
                assert flags & END_HEADERS
                return {str(name): str(value) for name, value in head.items()}

    def read(self) -> tuple[int, int, int, bytes]:
        head = self.exactly(9)
        length = int.from_bytes(head[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        return kind, flags, stream, self.exactly(length)

    def exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            assert more, "the connection has ended"
            found += more
        return found

    def call(self, headers: list[tuple[str, str]], **options: Any) -> str:
        """The reason that a refused call of gRPC is given."""
        answer = self.ask(self.encoder.encode([*POST, *headers]), **options)
        assert answer[":status"] == "200"
        return unquote(answer["grpc-message"])


POST = [(":method", "POST"), (":scheme", "http")]
GRPC = ("content-type", "application/grpc")
ECHO = (":path", "/shop.Shop/Echo")


def check_calls(connection: Connection, seed: str) -> None:
    """Calls whose answers quote what the server has read, new and out of the dynamic table."""
    for _ in range(3):
        why = connection.call([(":path", f"/shop.Shop/{seed}"), GRPC])
        assert why.startswith(f"method = 'shop.Shop.{seed}'")
        why = connection.call([ECHO, GRPC, ("grpc-encoding", f"code-{seed}"), ("x-more", seed * 3)])
        assert why.startswith(f"grpc-encoding = 'code-{seed}'")
        why = connection.call([ECHO, GRPC, ("grpc-timeout", f"late-{seed}")])
        assert why.startswith(f"grpc-timeout = 'late-{seed}'")


def follow(connection: Connection, block: bytes) -> list[tuple[str, str]]:
    """Bring the encoder's dynamic table to where the block leaves it; what the block says."""
    follower = hpack.Decoder()
    follower.header_table = connection.encoder.header_table
    return [(str(name), str(value)) for name, value in follower.decode(block)]


@pytest.mark.parametrize("name", RFC_7541)
def test_blocks_of_the_standard_are_read(server: Server, name: str) -> None:
    with Connection(server.port) as connection:
        for text in RFC_7541[name]:
            block = bytes.fromhex(text)
            assert dict(follow(connection, block))[":authority"] == "www.example.com"
            assert connection.ask(block)[":status"] == "405"
        check_calls(connection, "after")


@pytest.mark.parametrize("story", STORIES)
def test_published_blocks_are_read(server: Server, story: str) -> None:
    path = PUBLISHED / "nghttp2" / f"{story}.json.gz"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    cases = json.loads(gzip.decompress(path.read_bytes()))["cases"]
    with Connection(server.port) as connection:
        for case in cases:
            expected = [next(iter(header.items())) for header in case["headers"]]
            block = bytes.fromhex(case["wire"])
            assert follow(connection, block) == expected
            # RFC 9113 forbids `connection`, which some requests have kept from HTTP/1.1.
            status = "reset" if "connection" in dict(expected) else "405"
            assert connection.ask(block)[":status"] == status, expected
        check_calls(connection, story)


WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=20)
FIELDS = st.lists(st.tuples(NAMES.map("x-".__add__), WORDS), max_size=6)


@settings(max_examples=30)
@given(
    requests=st.lists(
        st.tuples(FIELDS, WORDS, st.booleans(), st.sampled_from([40, 16_384])), max_size=8
    ),
    size=st.sampled_from([0, 100, 4_096]),
)
def test_blocks_of_another_encoder_are_read(
    server: Server, requests: list[tuple[Any, str, bool, int]], size: int
) -> None:
    with Connection(server.port) as connection:
        connection.encoder.header_table_size = size  # announced in the first block
        for fields, word, huffman, piece in requests:
            headers = [*POST, ECHO, GRPC, *fields, ("grpc-encoding", word)]
            answer = connection.ask(
                connection.encoder.encode(headers, huffman=huffman), piece=piece
            )
            found = unquote(answer["grpc-message"])
            quoted = word.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
            accepted = word in ("gzip", "identity")
            assert accepted or found.startswith(f"grpc-encoding = '{quoted}'"), found


@pytest.mark.parametrize(
    "block",
    ["be", "80", "ff80ffffffff0f", "00", "0085f2b24a84ff84", "3fffffffff0f", "828684bf", "0f"],
    ids=["beyond", "zero", "huge", "cut", "padding", "size", "second", "name"],
)
def test_blocks_that_are_none_end_the_connection(server: Server, block: str) -> None:
    with Connection(server.port) as connection:
        sent = bytes.fromhex(block)
        frame = connection.frame(HEADERS, END_HEADERS | END_STREAM, 1, sent)
        connection.socket.sendall(frame)
        while True:
            kind, _, _, payload = connection.read()
            if kind == GOAWAY:
                break
        # COMPRESSION_ERROR, for which the server's library says PROTOCOL_ERROR.
        assert struct.unpack(">I", payload[4:8])[0] in (9, 1)
    with Connection(server.port) as connection:
        check_calls(connection, "next")
