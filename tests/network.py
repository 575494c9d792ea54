"""TCP/IP packets and TLS 1.3 records, independently of the project's own.

The demo's connections are documented at `accelflow.trace.demo_secrets`.
"""

import struct
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from accelflow.trace import demo_secrets

SEGMENT_BYTES = 1460
RECORD_BYTES = 1 << 14


@dataclass(frozen=True)
class Keys:
    """What one end of a connection protects records with (RFC 8446, section 7.3)."""

    key: bytes
    iv: bytes

    @staticmethod
    def of(connection: int, *, from_client: bool) -> "Keys":
        secret = demo_secrets(connection)[0 if from_client else 1]
        return Keys(expand(secret, b"key", 16), expand(secret, b"iv", 12))

    def nonce(self, number: int) -> bytes:
        return bytes(a ^ b for a, b in zip(self.iv, number.to_bytes(12, "big"), strict=True))


def expand(secret: bytes, label: bytes, size: int) -> bytes:
    full = b"tls13 " + label
    info = struct.pack(">HB", size, len(full)) + full + b"\0"
    return HKDFExpand(hashes.SHA256(), size, info).derive(secret)


def is_summed(data: bytes) -> bool:
    """Whether the ones' complement sum is all ones: modulo 0xffff that is zero."""
    return int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF == 0


def message_of(packets: bytes) -> tuple[int, bool, bytes]:
    """The connection's number, whether its client sent, and the message of whole packets."""
    ends, message = set(), b""
    while packets:
        version, length, _, protocol, source, target = struct.unpack_from(">BxH4xBB2x4s4s", packets)
        packet, packets = packets[:length], packets[length:]
        assert (version, protocol) == (0x45, 6)
        assert is_summed(packet[:20])
        segment = packet[20:]
        assert is_summed(source + target + struct.pack(">HH", 6, len(segment)) + segment)
        sequence, offset, flags = struct.unpack_from(">4xI4xBB", segment)
        assert sequence == 1 + len(message)
        assert offset >> 4 == 5
        message += segment[20:]
        assert bool(flags & 8) == (not packets), "PSH marks the last segment alone"
        ends.add((source, target))
    ((source, target),) = ends
    client, server = sorted([source, target])
    assert (client[:2], server[:2]) == (b"\x0a\x00", b"\x0a\x01")
    assert client[2:] == server[2:]
    return int.from_bytes(client[2:], "big"), source == client, message


def plaintext_of(packets: bytes) -> bytes:
    connection, from_client, records = message_of(packets)
    keys = Keys.of(connection, from_client=from_client)
    plain, number = b"", 0
    while records:
        kind, version, length = struct.unpack_from(">BHH", records)
        assert (kind, version) == (23, 0x0303)
        header, body, records = records[:5], records[5 : 5 + length], records[5 + length :]
        inner = AESGCM(keys.key).decrypt(keys.nonce(number), body, header)
        assert inner[-1] == 23
        plain += inner[:-1]
        number += 1
    return plain


def packets_from_client(plain: bytes) -> bytes:
    """What the demo's client would send: connection 0, to its server."""
    keys, records = Keys.of(0, from_client=True), b""
    for number, start in enumerate(range(0, len(plain), RECORD_BYTES)):
        inner = plain[start : start + RECORD_BYTES] + b"\x17"
        header = struct.pack(">BHH", 23, 0x0303, len(inner) + 16)
        records += header + AESGCM(keys.key).encrypt(keys.nonce(number), inner, header)
    starts = range(0, len(records), SEGMENT_BYTES)
    return b"".join(packet(records, start) for start in starts)


def packet(message: bytes, start: int) -> bytes:
    payload = message[start : start + SEGMENT_BYTES]
    source, target = bytes([10, 0, 0, 0]), bytes([10, 1, 0, 0])
    flags = 0x18 if start + SEGMENT_BYTES >= len(message) else 0x10
    head = struct.pack(">HHIIBBHHH", 32768, 9090, 1 + start, 1, 0x50, flags, 512, 0, 0)
    pseudo = source + target + struct.pack(">HH", 6, len(head) + len(payload))
    head = head[:16] + checksum(pseudo + head + payload) + head[18:]
    length = 20 + len(head) + len(payload)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 7, 0x4000, 64, 6, 0, source, target)
    return ip[:10] + checksum(ip) + ip[12:] + head + payload


def checksum(data: bytes) -> bytes:
    padded = data + b"\0" * (len(data) % 2)
    return (0xFFFF - int.from_bytes(padded, "big") % 0xFFFF).to_bytes(2, "big")
