"""Thrift interfaces, and values through the protocols of the Apache Thrift library.

For comparison with the project's own reader, of which nothing is used: this one knows just what
the project's two interface files have.
"""

import re
from pathlib import Path
from typing import Any

from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TType

#: Field number to name and type of each struct; a function has `NAME_args` and `NAME_result`.
Interface = dict[str, dict[int, tuple[str, str]]]

#: The type on the wire, and the suffix of the methods of the library that read and write it.
BASIC = {
    "bool": (TType.BOOL, "Bool"),
    "byte": (TType.BYTE, "Byte"),
    "i32": (TType.I32, "I32"),
    "i64": (TType.I64, "I64"),
    "string": (TType.STRING, "String"),
    "binary": (TType.STRING, "Binary"),
}


def read_interface(file: Path) -> Interface:
    text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
    text = re.sub(r"enum (\w+) \{[^}]*\}", r"typedef i32 \1;", text)
    for name in re.findall(r"typedef i32 (\w+);", text):
        text = re.sub(rf"\b{name} (?=\w+\s*[,)}}\n])", "i32 ", text)
    interface: Interface = {}
    for name, body in re.findall(r"(?:struct|exception|union) (\w+) \{(.*?)\}", text, re.S):
        interface[name] = fields_of(body)
    function = r"([\w<>, ]+?) (\w+)\(([^)]*)\)\s*throws \(([^)]*)\)"
    for returned, name, arguments, thrown in re.findall(function, text):
        interface[f"{name}_args"] = fields_of(arguments)
        success = {} if returned.strip() == "void" else {0: ("success", returned.strip())}
        interface[f"{name}_result"] = success | fields_of(thrown)
    return interface


def fields_of(text: str) -> dict[int, tuple[str, str]]:
    field = r"(\d+): (?:required |optional )?([\w<>, ]+?) (\w+)\s*(?:,|$)"
    return {int(number): (name, kind) for number, kind, name in re.findall(field, text.strip())}


def arguments_of(kind: str) -> list[str]:
    """The types between the angle brackets of a container."""
    inner = kind[kind.index("<") + 1 : -1]
    return [part.strip() for part in inner.split(",", 1)] if kind.startswith("map") else [inner]


def wire_type(kind: str) -> int:
    container = {"list": TType.LIST, "map": TType.MAP}.get(kind.split("<", maxsplit=1)[0])
    return container or BASIC.get(kind, (TType.STRUCT, ""))[0]


def write_value(out: TProtocolBase, interface: Interface, kind: str, value: Any) -> None:
    if kind in BASIC:
        getattr(out, f"write{BASIC[kind][1]}")(value)
    elif kind.startswith("list<"):
        (element,) = arguments_of(kind)
        out.writeListBegin(wire_type(element), len(value))
        for item in value:
            write_value(out, interface, element, item)
        out.writeListEnd()
    elif kind.startswith("map<"):
        key, element = arguments_of(kind)
        out.writeMapBegin(wire_type(key), wire_type(element), len(value))
        for name, item in value.items():
            write_value(out, interface, key, name)
            write_value(out, interface, element, item)
        out.writeMapEnd()
    else:
        out.writeStructBegin(kind)
        for number, (name, field) in interface[kind].items():
            if name in value:
                out.writeFieldBegin(name, wire_type(field), number)
                write_value(out, interface, field, value[name])
                out.writeFieldEnd()
        out.writeFieldStop()
        out.writeStructEnd()


def read_value(source: TProtocolBase, interface: Interface, kind: str) -> Any:
    if kind in BASIC:
        return getattr(source, f"read{BASIC[kind][1]}")()
    if kind.startswith("list<"):
        (element,) = arguments_of(kind)
        found, size = source.readListBegin()
        assert found == wire_type(element) or size == 0
        items = [read_value(source, interface, element) for _ in range(size)]
        source.readListEnd()
        return items
    if kind.startswith("map<"):
        key, element = arguments_of(kind)
        _, _, size = source.readMapBegin()
        pairs = [
            (read_value(source, interface, key), read_value(source, interface, element))
            for _ in range(size)
        ]
        source.readMapEnd()
        return dict(pairs)
    return read_struct(source, interface, kind)


def read_struct(source: TProtocolBase, interface: Interface, name: str) -> dict[str, Any]:
    value = {}
    source.readStructBegin()
    while True:
        _, found, number = source.readFieldBegin()
        if found == TType.STOP:
            break
        field, kind = interface[name][number]
        assert found == wire_type(kind), field
        value[field] = read_value(source, interface, kind)
        source.readFieldEnd()
    source.readStructEnd()
    return value
