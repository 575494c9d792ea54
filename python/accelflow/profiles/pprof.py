"""A reader for pprof's protocol buffers (perftools.profiles.Profile)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from accelflow.errors import LEFT_OUT, InputError, refused
from accelflow.profiles.frames import UNKNOWN, marked

#: The fields that are read of the published profile.proto: number, name and type; a type in a list
#: is repeated. Other fields are skipped. Texts are bytes, since some writers violate UTF-8.
_SCHEMA: Final[dict[str, tuple[tuple[int, str, Any], ...]]] = {
    "ValueType": ((1, "type", "INT64"), (2, "unit", "INT64")),
    "Sample": ((1, "location_id", ["UINT64"]), (2, "value", ["INT64"]), (3, "label", ["Label"])),
    "Label": ((1, "key", "INT64"), (2, "str", "INT64")),
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
            kind_name = kind[0] if isinstance(kind, list) else kind
            field = described.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if isinstance(kind, list) else field.LABEL_OPTIONAL
            if kind_name in _SCHEMA:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind_name}"
            else:
                field.type = field.Type.Value(f"TYPE_{kind_name}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Profile"))


_Message: Final = _message_class()


@dataclass(frozen=True)
class Weighed:
    """The stacks of a pprof profile, weighed by one of its sample types."""

    #: Type and unit of the weights, such as ``cpu/nanoseconds``.
    sample_type: str
    #: All sample types of the profile.
    sample_types: tuple[str, ...]
    #: For each sample with a weight above 0, its frames from the root to the leaf, and the weight.
    stacks: Iterator[tuple[tuple[str, ...], int]]


def parse(
    data: bytes,
    place: str,
    sample_type: str | None = None,
    label: tuple[str, str] | None = None,
) -> Weighed:
    """Read `data`, an uncompressed pprof profile, weighed by `sample_type`.

    With `label`, a key and its text such as ``("service", "cart")``, only the samples with this
    label are read.

    `sample_type` is a type (``cpu``), or a type and its unit (``cpu/nanoseconds``). The default is
    the profile's own default, or its last type, as in pprof. `place`, the file's name, begins error
    messages. Raises InputError, also while the stacks are iterated, for malformed bytes, dangling
    references, negative weights, and a sample type that the profile does not have.
    """
    return _Reader(_message(data, place), place).weighed(sample_type, label)


def labels(data: bytes, place: str) -> set[tuple[str, str]]:
    """Return the text labels of the samples in the pprof profile `data`, as pairs (key, text).

    Numeric labels are left out.

    Raises InputError for malformed bytes and dangling references, as :func:`parse` does.
    """
    message = _message(data, place)
    reader = _Reader(message, place)
    found = set[tuple[str, str]]()
    for number, sample in enumerate(message.sample):
        found |= reader.labels(sample, f"sample {number}: label")
    return {label for label in found if label[1]}


def _message(data: bytes, place: str) -> Any:
    """Return the message in `data`; raises InputError for other bytes."""
    message = _Message()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise InputError(f"{place}: not a pprof profile: {error}") from error
    return message


class _Reader:
    def __init__(self, message: Any, place: str) -> None:
        self.message = message
        self.place = place
        self.texts: list[str] = [text.decode(errors="replace") for text in message.string_table]
        if not self.texts or self.texts[0]:
            raise self.error(
                "string_table[0]",
                self.texts[0] if self.texts else LEFT_OUT,
                "must be an empty string, as the format of pprof requires",
            )
        self.binaries = {
            mapping.id: self.text(mapping.filename, "mapping", mapping.id)
            for mapping in self.by_id("mapping")
        }
        self.functions = {entry.id: self.function(entry) for entry in self.by_id("function")}
        self.frames = {entry.id: self.location(entry) for entry in self.by_id("location")}

    def error(self, where: str, value: object, allowed: str) -> InputError:
        return refused(f"{self.place}: {where}", value, allowed)

    def by_id(self, kind: str) -> Sequence[Any]:
        found: Sequence[Any] = getattr(self.message, kind)
        known = set[int]()
        for number, entry in enumerate(found):
            if entry.id == 0 or entry.id in known:
                raise self.error(f"{kind} {number}: id", entry.id, "must be unique, and not 0")
            known.add(entry.id)
        return found

    def text(self, index: int, kind: str, number: int) -> str:
        if not 0 <= index < len(self.texts):
            allowed = f"must be from 0 to {len(self.texts) - 1}"
            raise self.error(f"{kind} {number}: index in string_table", index, allowed)
        return self.texts[index]

    def function(self, entry: Any) -> str:
        names = [
            self.text(index, "function", entry.id) for index in (entry.name, entry.system_name)
        ]
        return names[0] or names[1] or UNKNOWN

    def location(self, entry: Any) -> tuple[str, ...]:
        """Return the frames of one address, the outermost first, with inlined functions."""
        where = f"location {entry.id}"
        if entry.mapping_id and entry.mapping_id not in self.binaries:
            raise self.error(f"{where}: mapping", entry.mapping_id, "must be an id of a mapping")
        binary = self.binaries.get(entry.mapping_id, "")
        for line in entry.line:
            if line.function_id not in self.functions:
                allowed = "must be an id of a function"
                raise self.error(f"{where}: function", line.function_id, allowed)
        names = [self.functions[line.function_id] for line in reversed(entry.line)] or [UNKNOWN]
        return tuple(marked(name, binary) for name in names)

    def weighed(self, asked: str | None, label: tuple[str, str] | None) -> Weighed:
        pairs = [
            tuple(self.text(index, "sample_type", number) for index in (entry.type, entry.unit))
            for number, entry in enumerate(self.message.sample_type)
        ]
        names = tuple("/".join(pair) for pair in pairs)
        if not names:
            raise self.error("sample_type", LEFT_OUT, "must be given")
        default = self.text(self.message.default_sample_type, "default_sample_type", 0)
        wanted = asked or default
        index = len(names) - 1
        if wanted:
            fits = [n for n, pair in enumerate(pairs) if wanted in {names[n], pair[0]}]
            if asked and not fits:
                raise refused(f"{self.place}: sample type", asked, known=names)
            index = fits[0] if fits else index
        return Weighed(names[index], names, self.samples(index, len(names), label))

    def labels(self, sample: Any, where: str) -> set[tuple[str, str]]:
        """The keys and texts of the labels of `sample`."""
        return {
            (self.text(pair.key, where, each), self.text(pair.str, where, each))
            for each, pair in enumerate(sample.label)
        }

    def samples(
        self, index: int, types: int, label: tuple[str, str] | None
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        for number, sample in enumerate(self.message.sample):
            where = f"sample {number}"
            if label is not None and label not in self.labels(sample, f"{where}: label"):
                continue
            if len(sample.value) != types:
                allowed = f"must be {types}, one for each entry of sample_type"
                raise self.error(f"{where}: number of values", len(sample.value), allowed)
            weight = sample.value[index]
            if weight < 0:
                allowed = "must be at least 0: a difference of two profiles cannot be used"
                raise self.error(f"{where}: value", weight, allowed)
            frames: list[str] = []
            for location in reversed(sample.location_id):
                if location not in self.frames:
                    raise self.error(f"{where}: location", location, "must be an id of a location")
                frames.extend(self.frames[location])
            if weight:
                yield tuple(frames or [UNKNOWN]), weight
