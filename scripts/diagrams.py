"""Draws the diagrams of docs/accelflow.md and docs/rivals.md, as SVG in docs/images.

Run it from the root of the repository: .venv/bin/python scripts/diagrams.py [FOLDER]
Equal code draws equal bytes, so that a test can check whether the pictures are up to date.
"""

import sys
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from accelflow import trace
from accelflow.parameters import parameters

FOLDER: Final = Path("docs/images")
INK, SOFT, PAPER = "#22272e", "#5b6570", "#ffffff"
#: The colours of boxes by the kind of component; text on each has a contrast of at least 7 to 1.
CORE, ACCELERATOR, QUEUE, CONTROL, MEMORY = "#cfe3f7", "#d6eed6", "#f4f1e4", "#fde0c5", "#e8e3f3"


class Sheet:
    """A drawing in units of a hundredth of an inch, with 0, 0 at the upper left."""

    def __init__(self, width: float, height: float, title: str):
        """Begin an empty sheet."""
        self.figure = Figure(figsize=(width / 100, height / 100), facecolor=PAPER)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.axis("off")
        self.title = title

    def box(
        self, place: tuple[float, float, float, float], text: str, fill: str, **more: object
    ) -> None:
        """Draw a box with text in its middle; `place` is x, y, width and height."""
        x, y, width, height = place
        shape = FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=4",
            facecolor=fill, edgecolor=str(more.get("edge", SOFT)), linewidth=0.9,
            linestyle=str(more.get("line", "-")),
        )  # fmt: skip
        self.axes.add_patch(shape)
        if more.get("top"):
            self.say((x + 8, y + 12), text, size=9, weight="bold", side="left")
        else:
            self.say((x + width / 2, y + height / 2), text, size=float(str(more.get("size", 9))))

    def say(self, place: tuple[float, float], text: str, **more: object) -> None:
        """Write text centred at the point `place`, or to the right of it (`side="left"`)."""
        self.axes.text(
            *place, text, ha=str(more.get("side", "center")), va="center",
            fontsize=float(str(more.get("size", 8.5))), color=str(more.get("color", INK)),
            weight=str(more.get("weight", "normal")), linespacing=1.25,
        )  # fmt: skip

    def arrow(self, start: tuple[float, float], end: tuple[float, float], **more: object) -> None:
        """Draw an arrow from `start` to `end`; `bend` curves it, and `text` is written at `at`."""
        shape = FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=0,
            color=str(more.get("color", INK)), linewidth=float(str(more.get("width", 1.1))),
            linestyle=str(more.get("line", "-")),
            connectionstyle=f"arc3,rad={more.get('bend', 0)}",
        )  # fmt: skip
        self.axes.add_patch(shape)

    def save(self, file: Path) -> None:
        """Write the SVG, without a date and with the same names in every run."""
        with mpl.rc_context({"svg.hashsalt": self.title, "svg.fonttype": "path"}):
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Title": self.title})


def chip() -> Sheet:
    """Draw the server: two chiplets, with cores and accelerators."""
    sheet = Sheet(760, 330, "The server: a chiplet of cores and one of accelerators")
    sheet.box((20, 20, 330, 270), "chiplet of cores", PAPER, top=True)
    for row in range(4):
        for column in range(5):
            place = (40 + 50 * column, 50 + 50 * row, 42, 42)
            if (row, column) == (1, 2):
                sheet.box(place, "LdB", ACCELERATOR)
            else:
                sheet.box(place, "core\nLLC", CORE, size=7.5)
    sheet.box((294, 50, 44, 192), "memory\ncontrol-\nlers", MEMORY, size=7)
    sheet.say(
        (185, 268), "36 cores with slices of the last-level cache, a mesh", size=7.5, color=SOFT
    )
    sheet.box((450, 20, 290, 270), "chiplet of accelerators", PAPER, top=True)
    names = ["TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp"]
    for number, name in enumerate(names):
        sheet.box((470 + 64 * (number % 4), 50 + 56 * (number // 4), 56, 44), name, ACCELERATOR)
    sheet.box((470, 172, 120, 34), "A-DMA engines", CONTROL)
    sheet.box((606, 172, 114, 34), "trace memory", MEMORY)
    sheet.say(
        (595, 232), "8 elements in each accelerator, queues of 64 entries", size=7.5, color=SOFT
    )
    sheet.box(
        (470, 248, 250, 26),
        "RELIEF's manager (RELIEF and its kin alone)",
        PAPER,
        line="--",
        size=7.5,
    )
    sheet.arrow((352, 120), (448, 120), width=2)
    sheet.arrow((448, 140), (352, 140), width=2)
    sheet.say((400, 104), "link")
    sheet.arrow((500, 318), (500, 294))
    sheet.say((620, 312), "messages from the network reach TCP", color=SOFT)
    return sheet


def accelerator() -> Sheet:
    """Draw one accelerator, and the path of an entry through it."""
    sheet = Sheet(760, 330, "An accelerator: queues, elements and dispatchers")
    sheet.box((130, 20, 500, 220), "one accelerator, such as Decr", PAPER, top=True)
    for number in range(5):
        sheet.box((150, 58 + 24 * number, 80, 20), "entry" if number < 3 else "", QUEUE, size=7.5)
    sheet.say((190, 190), "input queue\n64 entries", color=SOFT)
    sheet.box((255, 90, 70, 56), "input\ndispatcher", CONTROL)
    for number in range(4):
        sheet.box((350, 54 + 34 * number, 92, 28), "element" if number < 3 else "...", ACCELERATOR)
    sheet.say((396, 208), "8 elements\nwith scratchpads", color=SOFT)
    for number in range(5):
        sheet.box((465, 58 + 24 * number, 60, 20), "entry" if number < 2 else "", QUEUE, size=7.5)
    sheet.say((495, 190), "output\nqueue", color=SOFT)
    sheet.box((545, 76, 72, 84), "output\ndispatcher\nreads the\nnext nibble", CONTROL, size=7.5)
    for start, end in (
        ((230, 118), (253, 118)),
        ((325, 118), (348, 118)),
        ((442, 118), (463, 118)),
    ):
        sheet.arrow(start, end)
    sheet.arrow((525, 118), (543, 118))
    sheet.arrow((30, 80), (148, 80))
    sheet.say((72, 66), "from a core:\nEnqueue", size=8)
    sheet.arrow((30, 150), (148, 150))
    sheet.say((72, 166), "from another\naccelerator", size=8)
    sheet.box((150, 262, 120, 40), "overflow area\nin memory", MEMORY, size=8)
    sheet.arrow((172, 210), (172, 260), line="--")
    sheet.arrow((208, 260), (208, 210), line="--")
    sheet.box((520, 262, 120, 40), "trace memory:\nthe next trace", MEMORY, size=8)
    sheet.arrow((581, 260), (581, 162), line="--")
    sheet.arrow((617, 100), (738, 100))
    sheet.say((695, 80), "A-DMA: to the next\naccelerator", size=7.5)
    sheet.arrow((617, 140), (738, 140))
    sheet.say((695, 160), "at the end: result to\nmemory, core notified", size=7.5)
    sheet.say((300, 282), "when the queue is full", side="left", color=SOFT)
    sheet.arrow((296, 282), (272, 282), color=SOFT)
    return sheet


def word() -> Sheet:
    """Draw the word of the trace T1, nibble by nibble, as the compiler makes it."""
    sheet = Sheet(760, 200, "The trace T1 as one word")
    digits = f"{word_of('T1'):016x}"
    parts = [
        (1, "TCP", ACCELERATOR), (1, "Decr", ACCELERATOR), (1, "RPC", ACCELERATOR),
        (1, "Dser", ACCELERATOR), (3, "branch: compressed?\nno: go to 10", CONTROL),
        (2, "JSON\nto str", CONTROL), (1, "Dcmp", ACCELERATOR), (1, "LdB", ACCELERATOR),
        (1, "end", CONTROL), (4, "unused", QUEUE),
    ]  # fmt: skip
    position = 0
    for length, text, fill in parts:
        left = 20 + 45 * position
        for number in range(length):
            sheet.box((left + 45 * number, 70, 41, 34), digits[position + number], fill, size=11)
            sheet.say((left + 45 * number + 20, 58), str(position + number), size=7, color=SOFT)
        sheet.say((left + (45 * length - 4) / 2, 126), text, size=8)
        position += length
    sheet.arrow((20 + 45 * 6 + 20, 46), (20 + 45 * 10 + 20, 46), bend=-0.25, color=SOFT)
    sheet.say((380, 14), "not compressed", size=8, color=SOFT)
    sheet.say(
        (380, 170),
        "64 bits: sixteen nibbles, each an accelerator or part of an instruction",
        color=SOFT,
    )
    return sheet


def word_of(name: str) -> int:
    """Return the first word of a trace of the paper."""
    image = trace.LIBRARY.link()
    return int(image.words[image.entry(name)])


def costs_us() -> dict[str, float]:
    """Return the cost in us of an operation by a core and by the manager, from the parameters."""
    of = {parameter.key: parameter.default for parameter in parameters()}
    core = of["core.interrupt_ns"] + 2 * of["core.context_switch_ns"] + of["core.submit_ns"]
    return {"core": core / 1e3, "manager": of["relief.latency_ns"] / 1e3}


def stations() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the stations between two accelerators under each system: text and fill of each."""
    of = costs_us()
    core, manager, both = of["core"], of["manager"], of["core"] + of["manager"]
    return {
        "CPU-Centric": ((f"core: interrupt, decide, submit\n{core:.2g} us, always", CORE),),
        "RELIEF": (
            (f"manager\n{manager:.2g} us, always", CONTROL),
            (f"core\nbranch: {core:.2g} us", CORE),
        ),
        "Cohort": ((f"linked pair: nothing\nelse core: {core:.2g} us", CORE),),
        "Direct": (
            ("dispatcher\nsome ns", ACCELERATOR),
            (f"manager, core\nbranch: {both:.2g} us", CORE),
        ),
        "AccelFlow": (("dispatcher\nsome ns, also branches", ACCELERATOR),),
        "Ideal": (("nobody\n0", PAPER),),
    }


def deciders() -> Sheet:
    """Draw which component decides after an operation, under each system."""
    sheet = Sheet(760, 350, "Who decides what comes next")
    for row, (system, between) in enumerate(stations().items()):
        y = 22 + 54 * row
        sheet.say((20, y + 20), system, side="left", weight="bold", size=9.5)
        sheet.box((125, y, 90, 40), "accelerator", ACCELERATOR)
        sheet.box((650, y, 90, 40), "next one", ACCELERATOR)
        left, width = 260, 345 if len(between) == 1 else 160
        sheet.arrow((215, y + 20), (left - 3, y + 20))
        for text, fill in between:
            sheet.box((left, y, width, 40), text, fill, size=8.5)
            left += width + 25
        if len(between) > 1:
            sheet.arrow((420, y + 20), (442, y + 20), line="--")
        sheet.arrow((left - 22, y + 20), (647, y + 20))
    return sheet


DIAGRAMS: Final = {
    "chip": chip,
    "accelerator": accelerator,
    "trace-word": word,
    "deciders": deciders,
}


def main() -> None:
    """Draw all diagrams."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DIAGRAMS.items():
        draw().save(folder / f"{name}.svg")


if __name__ == "__main__":
    main()
