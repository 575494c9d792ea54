"""Profiles as protocol buffers: the format of pprof (perftools.profiles.Profile)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from accelflow.errors import InputError
from accelflow.profiles.frames import UNKNOWN, marked

#: What is read of the published profile.proto: number, name and type of each field; a list repeats.
#: Other fields are skipped. Texts are bytes here, since some writers do not keep to UTF-8.
_SCHEMA: Final[dict[str, tuple[tuple[int, str, Any], ...]]] = {
    "ValueType": ((1, "type", "INT64"), (2, "unit", "INT64")),
    "Sample": ((1, "location_id", ["UINT64"]), (2, "value", ["INT64"])),
    "Mapping": ((1, "id", "UINT64"), (5, "filename", "INT64")),
    "Line": ((1, "function_id", "UINT64"),),
    "Location": ((1, "id", "UINT64"), (2, "mapping_id", "UINT64"), (4, "line", ["Line"])),
    "Function": ((1, "id", "UINT64"), (2, "name", "INT64"), (3, "system_name", "INT64")),
    "Profile": (
        (1, "sample_type", ["ValueType"]),
        (2, "sample", ["Sample"]),
        (3, "mapping", ["Mapping"]),
        (4, "location", ["Location"]),
        (5, "function", ["Function"]),
        (6, "string_table", ["BYTES"]),
        (14, "default_sample_type", "INT64"),
    ),
}
_PACKAGE: Final = "perftools.profiles"


def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="profile.proto", package=_PACKAGE, syntax="proto3"
    )
    for message, fields in _SCHEMA.items():
        described = file.message_type.add(name=message)
        for number, name, kind in fields:
            one = kind[0] if isinstance(kind, list) else kind
            field = described.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if isinstance(kind, list) else field.LABEL_OPTIONAL
            if one in _SCHEMA:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{one}"
            else:
                field.type = field.Type.Value(f"TYPE_{one}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Profile"))


_Message: Final = _message_class()


@dataclass(frozen=True)
class Weighed:
    """The stacks of a pprof profile by one of its sample types."""

    #: Such as ``cpu/nanoseconds``.
    sample_type: str
    #: All that the profile has.
    sample_types: tuple[str, ...]
    #: Frames from the root to the leaf, and their weight, for each sample.
    stacks: Iterator[tuple[tuple[str, ...], int]]


def parse(data: bytes, place: str, sample_type: str | None = None) -> Weighed:
    """Read an uncompressed profile, weighed by `sample_type`.

    That is a type (``cpu``) or a type and its unit (``cpu/nanoseconds``); by default the one that
    the profile says, else its last, as pprof does. Raises InputError, also while the stacks are
    taken, for bytes that are no profile, references to what is not there, negative weights, and a
    type that the profile has not.
    """
    message = _Message()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise InputError(f"{place}: no pprof profile: {error}") from error
    return _Reader(message, place).weighed(sample_type)


class _Reader:
    def __init__(self, message: Any, place: str) -> None:
        self.message = message
        self.place = place
        self.texts: list[str] = [text.decode(errors="replace") for text in message.string_table]
        if not self.texts or self.texts[0]:
            raise self.error("string_table", "must begin with an empty text")
        self.binaries = {
            it.id: self.text(it.filename, "mapping", it.id) for it in self.by_id("mapping")
        }
        self.functions = {it.id: self.function(it) for it in self.by_id("function")}
        self.frames = {it.id: self.location(it) for it in self.by_id("location")}

    def error(self, where: str, what: str) -> InputError:
        return InputError(f"{self.place}: {where}: {what}")

    def by_id(self, kind: str) -> Sequence[Any]:
        found: Sequence[Any] = getattr(self.message, kind)
        known = set[int]()
        for number, it in enumerate(found):
            if it.id == 0 or it.id in known:
                raise self.error(f"{kind} {number}", f"id = {it.id}: must be unique, and not 0")
            known.add(it.id)
        return found

    def text(self, index: int, kind: str, number: int) -> str:
        if not 0 <= index < len(self.texts):
            raise self.error(f"{kind} {number}", f"no text {index}; there are {len(self.texts)}")
        return self.texts[index]

    def function(self, it: Any) -> str:
        names = [self.text(index, "function", it.id) for index in (it.name, it.system_name)]
        return names[0] or names[1] or UNKNOWN

    def location(self, it: Any) -> tuple[str, ...]:
        """The frames of one address, the outermost first: what was inlined has a line each."""
        where = f"location {it.id}"
        if it.mapping_id and it.mapping_id not in self.binaries:
            raise self.error(where, f"no mapping {it.mapping_id}")
        binary = self.binaries.get(it.mapping_id, "")
        for line in it.line:
            if line.function_id not in self.functions:
                raise self.error(where, f"no function {line.function_id}")
        names = [self.functions[line.function_id] for line in reversed(it.line)] or [UNKNOWN]
        return tuple(marked(name, binary) for name in names)

    def weighed(self, asked: str | None) -> Weighed:
        pairs = [
            tuple(self.text(index, "sample_type", number) for index in (it.type, it.unit))
            for number, it in enumerate(self.message.sample_type)
        ]
        names = tuple("/".join(pair) for pair in pairs)
        if not names:
            raise self.error("sample_type", "there is none")
        default = self.text(self.message.default_sample_type, "default_sample_type", 0)
        wanted = asked or default
        index = len(names) - 1
        if wanted:
            fits = [n for n, pair in enumerate(pairs) if wanted in {names[n], pair[0]}]
            if asked and not fits:
                known = ", ".join(names)
                raise InputError(f"{self.place}: sample type '{asked}': must be one of {known}")
            index = fits[0] if fits else index
        return Weighed(names[index], names, self.samples(index, len(names)))

    def samples(self, index: int, types: int) -> Iterator[tuple[tuple[str, ...], int]]:
        for number, sample in enumerate(self.message.sample):
            where = f"sample {number}"
            if len(sample.value) != types:
                told = f"{len(sample.value)} values; must be {types}, as there are sample types"
                raise self.error(where, told)
            weight = sample.value[index]
            if weight < 0:
                told = f"value {weight}; must be from 0: a difference of profiles has no shares"
                raise self.error(where, told)
            frames: list[str] = []
            for location in reversed(sample.location_id):
                if location not in self.frames:
                    raise self.error(where, f"no location {location}")
                frames.extend(self.frames[location])
            if weight:
                yield tuple(frames or [UNKNOWN]), weight
