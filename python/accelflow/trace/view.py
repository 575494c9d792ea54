"""A trace with all of its words and the traces that it can reach, for display."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from accelflow import _native
from accelflow.errors import TraceError
from accelflow.trace.nodes import Node, Pipeline, branch, fork, join
from accelflow.trace.store import Image
from accelflow.trace.traces import Library, templates

#: The name and version of the object that :meth:`View.to_dict` returns.
SCHEMA: Final = "accelflow.trace/1"


@dataclass(frozen=True)
class Word:
    """A word of the trace memory: its address, its trace's name, its 8 bytes and instructions."""

    address: int
    name: str
    word: int
    instructions: tuple[_native.TraceInstruction, ...]


@dataclass(frozen=True)
class View:
    """A trace with its words, and those of every trace that it can reach.

    `own` has the encoded words of the trace itself, and `memory` all reachable words, including
    those in `own`. `predicates` has the branch conditions that the words in `memory` test, by
    index. `parts` has the nodes of each word in `own`, by the word's name: the trace's name, with a
    number if the trace takes several words. `pipeline` has the nodes of the whole trace. For a
    registered trace, `source` is this same pipeline. For a trace from a file, which holds words
    only, `source` is None, and `pipeline` is assembled from `parts`.
    """

    name: str
    about: str | None
    source: Pipeline | None
    pipeline: Pipeline
    warnings: tuple[str, ...]
    own: tuple[Word, ...]
    memory: tuple[Word, ...]
    predicates: Mapping[int, str]
    parts: Mapping[str, Pipeline]

    def to_dict(self) -> dict[str, Any]:
        """Return the view as one object for JSON."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "about": self.about,
            "nodes": [node_dict(node) for node in self.pipeline],
            "warnings": list(self.warnings),
            "words": [_line_dict(line) for line in self.own],
            "memory": [
                {"address": line.address, "name": line.name, "word": f"{line.word:016x}"}
                for line in self.memory
            ],
            "predicates": [
                {"index": index, "condition": condition}
                for index, condition in self.predicates.items()
            ],
        }


def view_registered(library: Library, name: str, own: Sequence[str] = ()) -> View:
    """Link a library, and return the view of its trace `name` as it is in the trace memory.

    `own` are the names of traces that are not the paper's, even if they have such a name. Raises
    TraceError for an unknown name and for a library that does not link.
    """
    trace = library.get(name)
    papers = () if name in own else templates()
    about = next((t.about for t in papers if t.name == name), None)
    return _view(library.link(), name, about, trace)


def view_stored(image: Image, name: str) -> View:
    """Return the view of the trace `name` of `image`, the content of a trace file.

    Raises TraceError for an unknown name.
    """
    return _view(image, name, None, None)


def node_dict(node: Node) -> dict[str, Any]:
    """Return a node as an object for JSON: its kind and the fields of that kind."""
    facts: dict[str, Any] = {"kind": node.kind}
    for key in ("name", "condition", "likely", "src", "dst"):
        value = getattr(node, key)
        if value is not None:
            facts[key] = value
    arms = [[node_dict(inside) for inside in arm] for arm in node.arms]
    match node.kind:
        case "branch":
            facts |= {"on_true": arms[0], "on_false": arms[1]}
        case "fork" | "join":
            facts |= {"arms": arms}
    return facts


def _view(
    image: Image, name: str, about: str | None, registered: _native.RegisteredTrace | None
) -> View:
    entry = image.entry(name)
    lines = _reachable(image, entry)
    own = tuple(line for line in lines if line.name.split(".")[0] == name)
    parts = {part: tuple(nodes) for part, nodes in image.disassemble()}
    used = {i.predicate for line in lines for i in line.instructions if i.predicate is not None}
    conditions = image.predicates
    pipeline = _whole(name, parts) if registered is None else tuple(registered.nodes)
    return View(
        name=name,
        about=about,
        source=None if registered is None else pipeline,
        pipeline=pipeline,
        warnings=tuple(registered.warnings if registered else _warnings(pipeline)),
        own=own,
        memory=lines,
        predicates={index: conditions[index] for index in sorted(used)},
        parts={line.name: parts[line.name] for line in own},
    )


def _warnings(pipeline: Pipeline) -> Sequence[str]:
    try:
        return _native.trace_check(pipeline)
    except TraceError:  # the assembled trace would be too large, see _whole
        return ()


def _reachable(image: Image, entry: int) -> tuple[Word, ...]:
    names, words = image.names, image.words
    found: dict[int, Word] = {}
    todo = [entry]
    while todo:
        address = todo.pop()
        if address not in found:
            instructions = tuple(image.decode(address))
            found[address] = Word(address, names[address], words[address], instructions)
            todo += [i.address for i in instructions if i.address is not None]
    return tuple(found[address] for address in sorted(found))


def _whole(name: str, parts: Mapping[str, Pipeline]) -> Pipeline:
    """Assemble the parts of a trace: each continue is replaced by the part that it names.

    Arms that continue to the same part each get a copy of it, which can double the trace many
    times. If the result exceeds the limits of a trace, the first part is returned unchanged.
    """
    links: dict[str, set[str]] = {}
    todo = [name]
    while todo:
        part = todo.pop()
        if part not in links:
            links[part] = set(_continued(parts[part]))
            todo += links[part]
    done: dict[str, Pipeline] = {}
    try:
        for part in TopologicalSorter(links).static_order():
            done[part] = _joined(parts[part], done)
    except TraceError:
        return parts[name]
    return done[name]


def _continued(nodes: Sequence[Node]) -> list[str]:
    inside = [name for node in nodes for arm in node.arms for name in _continued(arm)]
    return inside + [node.name or "" for node in nodes if node.kind == "continue"]


def _joined(nodes: Sequence[Node], done: Mapping[str, Pipeline]) -> Pipeline:
    joined: list[Node] = []
    for node in nodes:
        match node.kind:
            case "continue":
                joined += done[node.name or ""]
            case "branch":
                on_true, on_false = (_joined(arm, done) for arm in node.arms)
                joined.append(branch(node.condition or "", on_true, on_false, node.likely))
            case "fork":
                joined.append(fork(*(_joined(arm, done) for arm in node.arms)))
            case "join":
                joined += _join([_joined(arm, done) for arm in node.arms])
            case _:
                joined.append(node)
    _native.trace_listing(joined)  # refuses more nodes than a trace may have, before they double
    return tuple(joined)


def _join(arms: Sequence[Pipeline]) -> Pipeline:
    """Return a join of `arms`, and the nodes after it if each arm ends with them."""
    cut = [_cut(arm) for arm in arms]
    own: list[Sequence[Node]] = [arm for arm, _ in cut]
    while own[-1] and own[-1][0].kind == "fork":  # further arms, in a part of their own
        own[-1:] = own[-1][0].arms
    rest = next((after for _, after in cut if after is not None), ())
    return (join(*own), *rest)


def _cut(arm: Sequence[Node]) -> tuple[Pipeline, Pipeline | None]:
    """Return an arm of a join up to the meeting point, and the nodes after it, if present."""
    own: list[Node] = []
    rest: Pipeline | None = None
    for index, node in enumerate(arm):
        match node.kind:
            case "meet":
                return tuple(own), tuple(arm[index + 1 :])
            case "branch":
                (on_true, after_true), (on_false, after_false) = (_cut(way) for way in node.arms)
                own.append(branch(node.condition or "", on_true, on_false, node.likely))
                rest = rest or after_true or after_false
            case "fork":
                ways = [_cut(way) for way in node.arms]
                own.append(fork(*(way for way, _ in ways)))
                rest = next((after for _, after in ways if after is not None), rest)
            case _:
                own.append(node)
    return tuple(own), rest


def _line_dict(line: Word) -> dict[str, Any]:
    keys = ("position", "nibbles", "operation", "name", "predicate", "target", "address")
    return {
        "address": line.address,
        "name": line.name,
        "word": f"{line.word:016x}",
        "instructions": [
            {key: value for key in keys if (value := getattr(i, key)) is not None}
            for i in line.instructions
        ],
    }
