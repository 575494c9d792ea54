"""Reads a timeline with Perfetto's own message definitions, and checks the rules of its format."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent


@dataclass(kw_only=True)
class Slice:
    """A slice, in ns; an instant has no length."""

    name: str
    category: str
    track: int
    from_ns: int
    until_ns: int
    depth: int
    flows: tuple[int, ...]
    ends: tuple[int, ...]
    arguments: dict[str, Any]
    instant: bool = False


@dataclass
class Read:
    """What a file says."""

    names: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    processes: dict[int, str] = field(default_factory=dict)
    counters: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slices: list[Slice] = field(default_factory=list)

    def path(self, track: int) -> tuple[str, ...]:
        """The names of a row and of those that it is in, the group first."""
        own = self.processes.get(track) or self.names[track]
        parent = self.parents.get(track)
        return (*self.path(parent), own) if parent is not None else (own,)

    def on(self, *path: str) -> list[Slice]:
        """The slices of the rows whose path begins so, in the order of time."""
        rows = {row for row in self.names if self.path(row)[: len(path)] == path}
        found = [piece for piece in self.slices if piece.track in rows]
        return sorted(found, key=lambda each: (each.from_ns, each.depth))


def read_timeline(path: Path) -> Read:
    """Read a file, and check each of its packet sequences, rows, texts and flows."""
    trace = Trace.FromString(path.read_bytes())
    assert trace.packet
    # What a definition does not know is not kept: the bytes would be others.
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == path.stat().st_size
    sequences: dict[int, _Sequence] = {}
    read = Read()
    for packet in trace.packet:
        number = packet.trusted_packet_sequence_id
        assert number > 0, "every packet belongs to a sequence"
        sequences.setdefault(number, _Sequence()).take(packet, read)
    for sequence in sequences.values():
        assert not any(sequence.open.values()), "every slice ends"
    assert len(read.processes) == len(set(read.processes.values()))
    _check_flows(read.slices)
    return read


@dataclass
class _Sequence:
    """A packet sequence: what its texts mean so far, and the rows' open slices."""

    begun: bool = False
    names: dict[int, str] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)
    open: dict[int, list[Slice]] = field(default_factory=lambda: defaultdict(list))
    last_ns: dict[int, int] = field(default_factory=dict)

    def take(self, packet: TracePacket, read: Read) -> None:
        cleared = bool(packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        needs = bool(packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
        assert cleared != self.begun, "the state is cleared once, by the first packet"
        assert needs == self.begun, "the others need it"
        self.begun = True
        if packet.HasField("interned_data"):
            self.learn(packet.interned_data)
        if packet.HasField("track_descriptor"):
            self.describe(packet.track_descriptor, read)
        if packet.HasField("track_event"):
            self.event(packet, read)

    def learn(self, texts: Any) -> None:
        for known, new in (
            (self.names, texts.event_names),
            (self.categories, texts.event_categories),
            (self.arguments, texts.debug_annotation_names),
        ):
            for text in new:
                assert text.iid > 0, "0 is no number of a text"
                assert text.iid not in known, "a number means one text"
                assert text.name not in known.values(), "a text is written once"
                known[text.iid] = text.name

    def describe(self, row: Any, read: Read) -> None:
        assert row.uuid > 0
        assert row.uuid not in read.names, "a row is described once"
        assert row.uuid not in read.processes
        if row.HasField("process"):
            assert row.process.pid > 0
            read.processes[row.uuid] = row.process.process_name
            return
        known = row.parent_uuid in read.names or row.parent_uuid in read.processes
        assert known, "a row's group is described before it"
        read.names[row.uuid], read.parents[row.uuid] = row.name, row.parent_uuid
        if row.HasField("counter"):
            read.counters[row.uuid] = []

    def event(self, packet: TracePacket, read: Read) -> None:
        event, at = packet.track_event, packet.timestamp
        row = event.track_uuid
        assert row in read.names, "a row is described before its events"
        assert at >= self.last_ns.get(row, 0), f"{read.path(row)}: time goes back"
        self.last_ns[row] = at
        if event.type == TrackEvent.TYPE_COUNTER:
            assert row in read.counters
            assert event.counter_value >= 0
            read.counters[row].append((at, event.counter_value))
            return
        assert row not in read.counters, "a counter has nothing but numbers"
        stack = self.open[row]
        if event.type == TrackEvent.TYPE_SLICE_END:
            assert stack, f"{read.path(row)}: an end without a beginning"
            stack.pop().until_ns = at
            return
        new = Slice(
            name=self.names[event.name_iid],
            category=self.categories[event.category_iids[0]],
            track=row,
            from_ns=at,
            until_ns=at,
            depth=len(stack),
            flows=tuple(event.flow_ids),
            ends=tuple(event.terminating_flow_ids),
            arguments={
                self.arguments[debug_annotation.name_iid]: _value(debug_annotation)
                for debug_annotation in event.debug_annotations
            },
            instant=event.type == TrackEvent.TYPE_INSTANT,
        )
        read.slices.append(new)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(new)
        else:
            assert new.instant


def _value(annotation: Any) -> Any:
    kind = annotation.WhichOneof("value")
    assert kind in {"bool_value", "uint_value", "double_value", "string_value"}
    return getattr(annotation, kind)


def _check_flows(slices: list[Slice]) -> None:
    """Every flow passes a slice, and ends in one that no other of it begins after."""
    passed, ended = defaultdict(list), defaultdict(list)
    for piece in slices:
        for flow in piece.flows:
            passed[flow].append(piece.from_ns)
        for flow in piece.ends:
            ended[flow].append(piece.from_ns)
    assert passed.keys() == ended.keys(), "every flow ends, and none ends that has not begun"
    for flow, ends in ended.items():
        assert len(ends) == 1, "a flow ends once"
        assert max(passed[flow]) <= ends[0]
