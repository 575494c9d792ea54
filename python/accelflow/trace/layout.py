"""Positions of the boxes and arrows in a trace's picture, without drawing.

A trace runs from left to right on one lane. An arm of a branch takes a lane below and may merge
into the first lane again. Arrows never cross: a branch is to the right of all earlier boxes on the
lanes below it, and its arm is below all later boxes.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from accelflow.trace.nodes import Node

#: The kind of a box in a trace's picture.
StepKind: TypeAlias = Literal["accelerator", "trans", "branch", "fork", "tail", "core"]
#: A point of a picture: x and y, in columns of the layout (:mod:`accelflow.trace.draw` draws a
#: column 0.92 inches wide). y grows downwards.
Point: TypeAlias = tuple[float, float]

#: Widths in columns.
_WIDTHS: Mapping[StepKind, float] = {
    "accelerator": 0.68,
    "trans": 0.68,
    "branch": 0.52,
    "fork": 0.07,
    "tail": 0.5,
    "core": 0.62,
}
#: The height of a box, in columns.
HEIGHT = 0.4
#: The distance between two lanes, in columns.
LANE = 0.88
#: The mean width of a character, in columns.
_CHAR = 0.073
#: Characters of a condition in one line.
_LABEL_CHARS = 24

_GAP = 0.42
_BRANCH_GAP = 0.5
_BELOW_GAP = 0.34
_MERGE_GAP = 0.3
_CLEAR = 0.15


@dataclass(frozen=True)
class Box:
    """A box in a lane of a trace's picture: an accelerator or another step of the trace.

    `x` and `y` are its centre and `width` its width, in columns; `y` grows downwards.
    """

    kind: StepKind
    label: str
    x: float
    y: float
    width: float

    @property
    def left(self) -> Point:
        """The point at the left edge, where arrows enter."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """The point at the right edge, where arrows leave."""
        return self.x + self.width / 2, self.y


@dataclass(frozen=True)
class Arrow:
    """A line through `points`, with an arrowhead at the last point and a `label` at the first."""

    points: tuple[Point, ...]
    label: str = ""
    dashed: bool = False


@dataclass
class Layout:
    """The boxes and arrows of a picture, and the space that they take."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    #: For each lane, the right end of its last box.
    ends: dict[int, float] = field(default_factory=dict)
    #: For each lane, the right end of the last condition or line above its boxes.
    ends_above: dict[int, float] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """The right end of the rightmost box, in columns."""
        return max((box.right[0] for box in self.boxes), default=0.0)

    @property
    def lanes(self) -> int:
        """The number of lanes in use."""
        return 1 + max(self.ends, default=0)


@dataclass(frozen=True)
class _Out:
    """An open end of a path: its point, and the label and the gap of the arrow that continues it.

    With a `corner`, the arrow leads down to that point first.
    """

    point: Point
    label: str = ""
    gap: float = _GAP
    corner: Point | None = None


def lay_out(pipeline: Sequence[Node]) -> Layout:
    """Return the positions of a trace's boxes and arrows."""
    placer = _Placer()
    placer.end(placer.sequence(pipeline, None, 0), 0)
    return placer.layout


def short(condition: str) -> str:
    """Return a branch's condition in at most two lines, with ``name`` for ``out['name']``."""
    text = re.sub(r"out\['(\w+)'\]", r"\1", condition)
    lines = textwrap.wrap(text, _LABEL_CHARS, max_lines=2, placeholder=" ...")
    return "\n".join(lines)


class _Placer:
    def __init__(self) -> None:
        self.layout = Layout()

    def sequence(self, nodes: Sequence[Node], out: _Out | None, lane: int) -> _Out | None:
        """Place `nodes` on the lane `lane`, and return the end of the path from which it continues.

        `out` is the end of the path before the nodes, or None at the start of the trace. The result
        is None if the path ends with the nodes.
        """
        for node in nodes:
            match node.kind:
                case "branch":
                    out = self._branch(node, out, lane)
                case "fork":
                    self._fork(node, out, lane)
                    out = None
                case "join":
                    out = self._join(node, out, lane)
                case "meet":
                    out = self._add("fork", "", out, lane)
                case "notify":
                    self._add("core", "core", out, lane)
                    out = None
                case "tail" | "continue":
                    self._add("tail", node.name or "", out, lane)
                    out = None
                case "trans":
                    out = self._add(
                        "trans", f"{node.src}\n\N{RIGHTWARDS ARROW} {node.dst}", out, lane
                    )
                case _:
                    out = self._add("accelerator", node.name or "", out, lane)
        return out

    def end(self, out: _Out | None, lane: int) -> None:
        """Close an open path with the notification of its core."""
        if out is not None:
            self._add("core", "core", out, lane)

    def _add(self, kind: StepKind, label: str, out: _Out | None, lane: int) -> _Out:
        width = max(_WIDTHS[kind], _CHAR * len(label) + 0.16 if kind == "tail" else 0)
        x = width / 2
        if out is not None:
            below = out.corner is not None and kind == "tail"
            x = out.corner[0] if out.corner and below else out.point[0] + out.gap + width / 2
        if kind in {"branch", "fork"}:
            x = max([x, *(end + _CLEAR for level, end in self.layout.ends.items() if level > lane)])
        if kind == "branch":
            half = _CHAR * max(map(len, label.split("\n"))) / 2
            x = max(x, self.layout.ends_above.get(lane, -1.0) + _CLEAR + half)
            self.layout.ends_above[lane] = x + half
        box = Box(kind, label, x, lane * LANE, width)
        self.layout.boxes.append(box)
        self._reach(lane, box.right[0])
        if out is not None:
            self._arrow(out, box)
        return _Out(box.right)

    def _arrow(self, out: _Out, box: Box) -> None:
        label, points = out.label, [out.point, box.left]
        if out.corner is not None:
            top = (box.x, box.y - HEIGHT / 2)
            straight = out.corner[0] == box.x
            points = [out.point, top] if straight else [out.point, out.corner, box.left]
        elif box.kind == "tail" and not label:
            label = "ATM"
        self.layout.arrows.append(Arrow(tuple(points), label, dashed=box.kind == "tail"))

    def _branch(self, node: Node, out: _Out | None, lane: int) -> _Out | None:
        self._add("branch", short(node.condition or ""), out, lane)
        diamond = self.layout.boxes[-1]
        (side_label, side), (main_label, main) = zip(("yes", "no"), node.arms, strict=True)
        if _goes_straight_on_yes(*node.arms):
            (side_label, side), (main_label, main) = (main_label, main), (side_label, side)
        main_out = self.sequence(main, _Out(diamond.right, main_label, _BRANCH_GAP), lane)
        side_out, lower = self._below(diamond, side, side_label, lane)
        if main_out is None or side_out is None:
            return main_out  # if only one arm continues, it is the one on the branch's lane
        return self._meet(main_out, lane, side_out, lower)

    def _fork(self, node: Node, out: _Out | None, lane: int) -> None:
        self._add("fork", "", out, lane)
        bar = self.layout.boxes[-1]
        first, *others = node.arms
        self.end(self.sequence(first, _Out(bar.right), lane), lane)
        for arm in others:
            self.end(*self._below(bar, arm, "", lane))

    def _join(self, node: Node, out: _Out | None, lane: int) -> _Out | None:
        """Place the arms of a join between two bars."""
        self._add("fork", "", out, lane)
        bar = self.layout.boxes[-1]
        first, *others = node.arms
        main = self.sequence(first, _Out(bar.right), lane)
        for side, lower in [self._below(bar, arm, "", lane) for arm in others]:
            if main is not None and side is not None:
                main = self._meet(main, lane, side, lower)
        return main and self._add("fork", "", main, lane)

    def _below(
        self, box: Box, arm: Sequence[Node], label: str, lane: int
    ) -> tuple[_Out | None, int]:
        """Place an arm on the first lane below `box` that is free from there on."""
        occupied = [level for level, end in self.layout.ends.items() if end > box.x - _CLEAR]
        lower = 1 + max([lane, *occupied])
        for crossed in range(lane + 1, lower + 1):
            self._reach(crossed, box.x)
            self.layout.ends_above[crossed] = box.x
        corner = (box.x, lower * LANE)
        out = _Out((box.x, box.y + HEIGHT / 2), label, _BELOW_GAP, corner)
        return self.sequence(arm, out, lower), lower

    def _meet(self, main: _Out, lane: int, side: _Out, lower: int) -> _Out:
        """Lead `side` up into the arrow that continues `main`."""
        between = [self.layout.ends.get(level, 0.0) for level in range(lane + 1, lower + 1)]
        x = max([main.point[0] + _MERGE_GAP, *(end + _MERGE_GAP for end in between)])
        for crossed in range(lane, lower + 1):
            self._reach(crossed, x)
        up = Arrow((side.point, (x, side.point[1]), (x, lane * LANE)), side.label)
        self.layout.arrows.append(up)
        return _Out(main.point, main.label, x - main.point[0] + _MERGE_GAP, main.corner)

    def _reach(self, lane: int, x: float) -> None:
        self.layout.ends[lane] = max(x, self.layout.ends.get(lane, x))


def _goes_straight_on_yes(on_true: Sequence[Node], on_false: Sequence[Node]) -> bool:
    """Whether the true arm stays on the lane of the branch.

    An empty arm stays. Of two nonempty arms, one that ends moves below; otherwise yes stays.
    """
    if not on_true or not on_false:
        return not on_true
    return not _ends(on_true) or _ends(on_false)


def _ends(nodes: Sequence[Node]) -> bool:
    last = nodes[-1]
    if last.kind in {"branch", "join"}:
        return all(arm and _ends(arm) for arm in last.arms)
    return last.kind in {"tail", "continue", "notify", "fork"}
