#!/usr/bin/env python3
"""Generate crates/accel/tests/golden/*.json with libraries that share no code with the crate.

    python -m venv venv && venv/bin/pip install thrift==0.25.0 thriftpy2==0.7.1 zstandard==0.25.0 \
        cramjam==2.14.0 cryptography==50.0.2 pymongo==4.20.0
    venv/bin/python scripts/make_golden_vectors.py [--corpora DIR]

Thrift bytes come from the Apache Thrift library's protocols and are compared with thriftpy2's. With
--corpora DIR (holding bson_corpus/ and json/JSONTestSuite_test_parsing.tgz) a few published cases
are copied too; without it those files stay unchanged.
"""

import argparse
import base64
import json
import pathlib
import tarfile

import bson
import cramjam
import thriftpy2
import zstandard
from bson import json_util
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TTransport import TFramedTransport, TMemoryBuffer
from thriftpy2.protocol.binary import TBinaryProtocol as OtherBinary
from thriftpy2.protocol.compact import TCompactProtocol as OtherCompact
from thriftpy2.thrift import TType
from thriftpy2.transport import TMemoryBuffer as OtherBuffer

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "accel"
GOLDEN = CRATE / "tests" / "golden"
MESSAGE_TYPES = {"call": 1, "reply": 2, "exception": 3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=pathlib.Path)
    corpora = parser.parse_args().corpora
    write("thrift", thrift_cases())
    write("envelope", envelope_cases())
    write("tls", tls_cases())
    write("compression", compression_cases())
    write("bson", bson_cases())
    if corpora:
        write("bson_corpus", bson_corpus_cases(corpora))
        write("json_suite", json_suite_cases(corpora))


def write(name, cases):
    path = GOLDEN / f"{name}.json"
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=True) + "\n")
    print(f"{path.relative_to(ROOT)}: {len(cases['cases'])} cases")


# Thrift


def thrift_cases():
    social = thriftpy2.load(str(CRATE / "idl/social_network.thrift"), "social_thrift")
    kinds = thriftpy2.load(str(GOLDEN / "kinds.thrift"), "kinds_thrift")
    cases = []
    for module, idl, service, method, kind, value in thrift_messages():
        holder = getattr({"social": social, "kinds": kinds}[module], service)
        suffix = "_args" if kind == "call" else "_result"
        spec = getattr(holder, method + suffix).thrift_spec
        for protocol in ("binary", "compact"):
            frame = apache_frame(protocol, method, kind, spec, value)
            other = other_struct(protocol, getattr(holder, method + suffix), spec, value)
            assert frame.endswith(other), (method, protocol)
            cases.append(
                {
                    "interface": idl,
                    "method": method,
                    "kind": kind,
                    "protocol": protocol,
                    "sequence": 7,
                    "json": value,
                    "frame": frame.hex(),
                }
            )
    return {
        "source": "Apache Thrift 0.25.0 for Python, compared with thriftpy2 0.7.1",
        "cases": cases,
    }


def thrift_messages():
    carrier = {"uber-trace-id": "00000000000000a1:00000000000000b2:00000000000000c3:1"}
    creator = {"user_id": 17, "username": "username_17"}
    post = {
        "post_id": 2**62 + 1,
        "creator": creator,
        "req_id": -5,
        "text": 'h\u00e9llo "w\\orld"\n\u2603',
        "user_mentions": [creator, {"user_id": 961, "username": "username_961"}],
        "media": [{"media_id": 999999999999999999, "media_type": "png"}] * 16,
        "urls": [],
        "timestamp": 1695947455229,
        "post_type": 3,
    }
    base = {"req_id": 9223372036854775807, "carrier": carrier}
    social = ("social", "social_network")
    yield (
        *social,
        "UniqueIdService",
        "ComposeUniqueId",
        "call",
        {"req_id": 1, "post_type": 0, "carrier": carrier},
    )
    yield *social, "UniqueIdService", "ComposeUniqueId", "reply", {"success": -9223372036854775808}
    yield (
        *social,
        "ComposePostService",
        "ComposePost",
        "call",
        {
            "req_id": 12,
            "username": "username_3",
            "user_id": 3,
            "text": "t" * 300,
            "media_ids": [1, -1, 2**40],
            "media_types": ["png", "", "jpeg"],
            "post_type": 1,
            "carrier": {},
        },
    )
    yield *social, "ComposePostService", "ComposePost", "reply", {}
    yield (
        *social,
        "ComposePostService",
        "ComposePost",
        "reply",
        {"se": {"errorCode": 2, "message": "no"}},
    )
    yield (
        *social,
        "PostStorageService",
        "StorePost",
        "call",
        {"req_id": 4, "post": post, "carrier": carrier},
    )
    yield *social, "HomeTimelineService", "ReadHomeTimeline", "reply", {"success": [post, post]}
    yield (
        *social,
        "UserService",
        "Login",
        "call",
        {"req_id": base["req_id"], "username": "u", "password": "", "carrier": carrier},
    )
    yield *social, "UserService", "Login", "reply", {"success": "token"}
    yield *social, "UrlShortenService", "ComposeUrls", "reply", {"success": []}
    point = {"x": 1.5, "y": -0.0, "label": "p"}
    yield (
        "kinds",
        "kinds",
        "KindsService",
        "echo",
        "call",
        {
            "kinds": {
                "yes": True,
                "no": False,
                "tiny": -128,
                "small": -32768,
                "medium": 2147483647,
                "large": -1,
                "real": 1e-300,
                "text": "\u0000\U0001f600",
                "blob": base64.b64encode(bytes(range(256))).decode(),
                "colour": 7,
                "flags": [True, False, True],
                "numbers": list(range(-8, 8)),
                "names": ["one"],
                "counts": {"a": 1, "": -300},
                "points": [[-7, point], [8, {"x": 0.0, "y": 2.0}]],
                "nested": [[], ["x"], ["y", "z"]],
                "point": point,
                "path": [point] * 3,
                "empty": {},
            }
        },
    )
    yield "kinds", "kinds", "KindsService", "echo", "reply", {"success": {"no": True, "path": []}}


def apache_frame(protocol, method, kind, spec, value):
    memory = TMemoryBuffer()
    framed = TFramedTransport(memory)
    out = {"binary": TBinaryProtocol, "compact": TCompactProtocol}[protocol](framed)
    out.writeMessageBegin(method, MESSAGE_TYPES[kind], 7)
    apache_struct(out, spec, value)
    out.writeMessageEnd()
    framed.flush()
    return memory.getvalue()


def envelope_cases():
    """Return cases of compressed bodies, in which thriftpy2 must skip both unknown fields."""
    social = thriftpy2.load(str(CRATE / "idl/social_network.thrift"), "social_thrift")
    arguments = social.UserService.Login_args
    text = json.dumps({"req_id": 5, "username": "username_5", "password": "x" * 50, "carrier": {}})
    blobs = {
        1: zstandard.ZstdCompressor(level=1).compress(text.encode()),
        2: bytes(cramjam.snappy.compress_raw(text.encode())),
    }
    spec = {32000: (TType.BYTE, "codec", False), 32001: (TType.BINARY, "data", False)}
    cases = []
    for codec, blob in blobs.items():
        for protocol in ("binary", "compact"):
            value = {"codec": codec, "data": base64.b64encode(blob).decode()}
            frame = apache_frame(protocol, "Login", "call", spec, value)
            memory = OtherBuffer(frame[4:])
            other = {"binary": OtherBinary, "compact": OtherCompact}[protocol](memory)
            assert other.read_message_begin() == ("Login", 1, 7)
            read = arguments()
            other.read_struct(read)
            assert read == arguments(), read
            cases.append({"protocol": protocol, "codec": codec, "json": text, "frame": frame.hex()})
    return {"source": "Apache Thrift 0.25.0 for Python; skipped by thriftpy2 0.7.1", "cases": cases}


def field_of(entry):
    """Return the type, the name and the parameters of a thriftpy2 spec entry."""
    return entry[0], entry[1], entry[2] if len(entry) == 4 else None


def apache_struct(out, spec, value):
    out.writeStructBegin("")
    for number in sorted(spec):
        ttype, name, parameters = field_of(spec[number])
        if name in value:
            wire = TType.STRING if ttype == TType.BINARY else ttype
            out.writeFieldBegin(name, wire, number)
            apache_value(out, ttype, parameters, value[name])
            out.writeFieldEnd()
    out.writeFieldStop()
    out.writeStructEnd()


def split(parameters):
    """Return the type and the parameters of a container's element."""
    return parameters if isinstance(parameters, tuple) else (parameters, None)


def wire_type(ttype):
    return TType.STRING if ttype == TType.BINARY else ttype


def apache_value(out, ttype, parameters, value):
    simple = {
        TType.BOOL: "writeBool",
        TType.BYTE: "writeByte",
        TType.I16: "writeI16",
        TType.I32: "writeI32",
        TType.I64: "writeI64",
        TType.DOUBLE: "writeDouble",
        TType.STRING: "writeString",
    }
    if ttype in simple:
        getattr(out, simple[ttype])(value)
    elif ttype == TType.BINARY:
        out.writeBinary(base64.b64decode(value))
    elif ttype == TType.STRUCT:
        apache_struct(out, parameters.thrift_spec, value)
    elif ttype in (TType.LIST, TType.SET):
        element, inner = split(parameters)
        begin, end = (
            ("writeListBegin", "writeListEnd")
            if ttype == TType.LIST
            else ("writeSetBegin", "writeSetEnd")
        )
        getattr(out, begin)(wire_type(element), len(value))
        for item in value:
            apache_value(out, element, inner, item)
        getattr(out, end)()
    else:
        (key, key_inner), (element, inner) = map(split, parameters)
        pairs = list(value.items()) if isinstance(value, dict) else value
        out.writeMapBegin(wire_type(key), wire_type(element), len(pairs))
        for name, item in pairs:
            apache_value(out, key, key_inner, name)
            apache_value(out, element, inner, item)
        out.writeMapEnd()


def other_struct(protocol, cls, spec, value):
    memory = OtherBuffer()
    out = {"binary": OtherBinary, "compact": OtherCompact}[protocol](memory)
    out.write_struct(other_value(TType.STRUCT, cls, value))
    return memory.getvalue()


def other_value(ttype, parameters, value):
    if ttype == TType.BINARY:
        return base64.b64decode(value)
    if ttype == TType.STRUCT:
        made = parameters()
        for number in parameters.thrift_spec:
            inner, name, more = field_of(parameters.thrift_spec[number])
            if name in value:
                setattr(made, name, other_value(inner, more, value[name]))
        return made
    if ttype in (TType.LIST, TType.SET):
        element, inner = split(parameters)
        return [other_value(element, inner, item) for item in value]
    if ttype == TType.MAP:
        (key, key_inner), (element, inner) = map(split, parameters)
        pairs = value.items() if isinstance(value, dict) else value
        return {other_value(key, key_inner, k): other_value(element, inner, v) for k, v in pairs}
    return value


# TLS 1.3 records


def expand_label(algorithm, secret, label, length):
    label = b"tls13 " + label
    info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
    return HKDFExpand(algorithm, length, info).derive(secret)


def protect(suite, secret, sequence, plaintext, padding=0, content_type=23):
    algorithm, key_bytes = {"aes128": (hashes.SHA256(), 16), "aes256": (hashes.SHA384(), 32)}[suite]
    key = expand_label(algorithm, secret, b"key", key_bytes)
    iv = int.from_bytes(expand_label(algorithm, secret, b"iv", 12), "big")
    inner = plaintext + bytes([content_type]) + bytes(padding)
    header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2, "big")
    return header + AESGCM(key).encrypt((iv ^ sequence).to_bytes(12, "big"), inner, header)


def tls_cases():
    cases = []
    for suite, size in (("aes128", 32), ("aes256", 48)):
        secret = bytes(range(7, 7 + size))
        for sequence, text, padding in (
            (0, b"", 0),
            (0, b"ping", 0),
            (1, b"padded", 13),
            (2**40 + 5, bytes(200), 0),
        ):
            record = protect(suite, secret, sequence, text, padding)
            cases.append(
                {
                    "suite": suite,
                    "secret": secret.hex(),
                    "sequence": sequence,
                    "padding": padding,
                    "plaintext": text.hex(),
                    "record": record.hex(),
                }
            )
    # RFC 8448, section 3: the server's first application data record.
    secret = bytes.fromhex("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643")
    record = protect("aes128", secret, 1, bytes(range(50)))
    assert record.hex().startswith(
        "17030300432e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36"
    ), record.hex()
    cases.append(
        {
            "suite": "aes128",
            "secret": secret.hex(),
            "sequence": 1,
            "padding": 0,
            "plaintext": bytes(range(50)).hex(),
            "record": record.hex(),
            "note": "RFC 8448, section 3",
        }
    )
    alert = protect("aes128", bytes(32), 0, b"\x01\x00", content_type=21)
    refused = [
        {
            "suite": "aes128",
            "secret": bytes(32).hex(),
            "record": alert.hex(),
            "reason": "unexpected_content_type",
        }
    ]
    return {"source": "Python cryptography 50.0.2", "cases": cases, "refused": refused}


# Compression


def compression_cases():
    text = json.dumps({"text": "accelerators " * 40, "numbers": list(range(100))}).encode()
    cases = []
    for name, data in (("empty", b""), ("one", b"x"), ("text", text)):
        for level in (1, 19):
            frame = zstandard.ZstdCompressor(level=level).compress(data)
            cases.append(
                {
                    "codec": "zstd",
                    "name": f"{name} level {level}",
                    "data": data.hex(),
                    "compressed": frame.hex(),
                }
            )
        unsized = zstandard.ZstdCompressor(
            level=3, write_content_size=False, write_checksum=True
        ).compressobj()
        frame = unsized.compress(data) + unsized.flush()
        cases.append(
            {
                "codec": "zstd",
                "name": f"{name} without size, with checksum",
                "data": data.hex(),
                "compressed": frame.hex(),
            }
        )
        block = bytes(cramjam.snappy.compress_raw(data))
        cases.append(
            {"codec": "snappy", "name": name, "data": data.hex(), "compressed": block.hex()}
        )
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 22))
    streamed = zstandard.ZstdCompressor(level=19, write_content_size=False).compressobj()
    bombs = [
        {"codec": "zstd", "compressed": bomb.hex()},
        {
            "codec": "zstd",
            "compressed": (streamed.compress(bytes(1 << 22)) + streamed.flush()).hex(),
        },
        {"codec": "snappy", "compressed": "ffffffff07"},
    ]
    return {"source": "Python zstandard 0.25.0, cramjam 2.14.0", "cases": cases, "bombs": bombs}


# BSON and JSON


def bson_cases():
    documents = [
        {},
        {"a": 1, "b": -1, "c": 2**40, "d": 1.5, "e": "t\u00e9xt", "f": None, "g": True},
        {"list": [1, "two", [3.25], {"four": 4}], "doc": {"inner": {"deep": []}}},
        {"post_id": 2**62, "text": "x" * 200, "media": [{"media_id": 1, "media_type": "png"}]},
    ]
    options = json_util.RELAXED_JSON_OPTIONS
    cases = [
        {"bson": bson.encode(d).hex(), "json": json_util.dumps(d, json_options=options)}
        for d in documents
    ]
    return {"source": "PyMongo 4.20.0", "cases": cases}


def bson_corpus_cases(corpora):
    names = (
        "array",
        "binary",
        "boolean",
        "datetime",
        "document",
        "double",
        "int32",
        "int64",
        "null",
        "oid",
        "string",
        "timestamp",
        "regex",
        "top",
    )
    cases, refused = [], []
    for name in names:
        data = json.loads((corpora / "bson_corpus" / f"{name}.json").read_text())
        for case in data.get("valid", [])[:3]:
            relaxed = case.get("relaxed_extjson", case["canonical_extjson"])
            canonical_only = "relaxed_extjson" not in case and "$number" in relaxed
            if canonical_only or case.get("lossy") or "NaN" in relaxed or "Infinity" in relaxed:
                continue
            cases.append(
                {
                    "name": f"{name}: {case['description']}",
                    "bson": case["canonical_bson"].lower(),
                    "json": relaxed,
                }
            )
        for case in data.get("decodeErrors", [])[:3]:
            refused.append({"name": f"{name}: {case['description']}", "bson": case["bson"].lower()})
    return {
        "source": "mongodb/bson-rust 27166baa, src/tests/spec/json/bson-corpus (MIT)",
        "cases": cases,
        "refused": refused,
    }


def json_suite_cases(corpora):
    wanted = (
        "y_array_heterogeneous",
        "y_number_real_exponent",
        "y_object_duplicated_key",
        "y_string_unicode_U+2064_invisible_plus",
        "y_string_surrogates_U+1D11E_MUSICAL_SYMBOL_G_CLEF",
        "y_structure_lonely_null",
        "y_number_0e+1",
        "n_array_extra_comma",
        "n_number_-01",
        "n_number_NaN",
        "n_object_trailing_comma",
        "n_string_unescaped_tab",
        "n_string_single_quote",
        "n_structure_unclosed_array_partial_null",
        "n_structure_null-byte-outside-string",
        "n_string_invalid_utf8_after_escape",
        "n_structure_double_array",
        "n_number_hex_1_digit",
    )
    cases = []
    with tarfile.open(corpora / "json" / "JSONTestSuite_test_parsing.tgz") as archive:
        members = {pathlib.PurePath(member.name).stem: member for member in archive.getmembers()}
        for name in wanted:
            data = archive.extractfile(members[name]).read()
            cases.append({"name": name, "valid": name.startswith("y_"), "text": data.hex()})
    return {"source": "nst/JSONTestSuite 1ef36fa0, test_parsing (MIT)", "cases": cases}


if __name__ == "__main__":
    main()
