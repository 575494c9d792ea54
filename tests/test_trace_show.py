"""`accelflow trace` and the pictures: what is shown is what is there."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accelflow.trace import (
    LIBRARY,
    Library,
    Node,
    Steps,
    Trace,
    TraceError,
    TraceWarning,
    branch,
    fork,
    join,
    load,
    notify,
    save,
    seq,
    tail,
    trans,
)
from accelflow.trace.draw import draw, write_picture
from accelflow.trace.layout import HEIGHT, Box, Layout, lay_out, short
from accelflow.trace.text import graph, show
from accelflow.trace.view import view_registered, view_stored

SCRIPT = Path(sys.executable).with_name("accelflow")


def accelflow(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "trace", *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "traces.aftrace"
    save(path)
    return path


# The command.


def test_list_names_every_trace(stored: Path) -> None:
    done = accelflow("list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == LIBRARY.names()
    assert lines[5].split(maxsplit=4) == [
        *("T6", "0x006", "3", "words"),
        "Receive response to a read to the DB",
    ]
    rows = json.loads(accelflow("list", "--json", "--file", stored).stdout)["traces"]
    assert [row["name"] for row in rows] == LIBRARY.names()
    assert sum(row["words"] for row in rows) == len(LIBRARY.link())


@pytest.mark.parametrize("name", LIBRARY.names())
def test_json_of_show_agrees_with_the_image(name: str) -> None:
    image = LIBRARY.link()
    view = view_registered(LIBRARY, name).to_dict()
    assert view["schema"] == "accelflow.trace/1"
    first = view["words"][0]
    assert (first["name"], first["address"]) == (name, image.entry(name))
    for word in view["words"]:
        assert int(word["word"], 16) == image.words[word["address"]]
        assert "".join(i["nibbles"] for i in word["instructions"]) == word["word"]
    reached = {line["address"] for line in view["memory"]}
    for address in reached:
        for instruction in image.decode(address):
            assert instruction.address is None or instruction.address in reached
    for predicate in view["predicates"]:
        assert image.predicates[predicate["index"]] == predicate["condition"]


def test_show_prints_t6_in_full() -> None:
    text = accelflow("show", "T6").stdout
    assert text == show(view_registered(LIBRARY, "T6"))
    assert "Cmp follows Dcmp, which is not a pair" in text
    assert text.splitlines()[0] == "T6: Receive response to a read to the DB"
    names = {line.split()[2] for line in text.split("can reach\n")[1].splitlines()[:6]}
    assert names == {"T6", "T6.1", "T6.2", "T7", "T6_error", "T7_error"}


def test_show_of_a_file_gives_back_the_graph(stored: Path) -> None:
    for name in LIBRARY.names():
        ours = graph(view_registered(LIBRARY, name).pipeline)
        theirs = graph(view_stored(load(stored), name).pipeline)
        plain = [line.split("   (")[0] for line in ours]  # words do not keep what is expected
        if name == "T5":  # nor whether what follows a yes that ends was written as the other arm
            assert theirs[-2:] == ["│", "Ser → Encr → TCP ⇢ T6"]
            theirs[-2:] = ["└─ no   Ser → Encr → TCP ⇢ T6"]
        assert theirs == plain
    text = accelflow("show", "T6", "--file", stored).stdout
    assert "Source, disassembled\n  T6:\n      TCP" in text
    assert "Cmp follows Dcmp, which is not a pair" in text


def test_show_in_a_terminal_without_the_characters() -> None:
    done = accelflow("show", "T6", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "`- 2  ? out['c_compressed'] == 1" in done.stdout


def test_an_unknown_trace_names_the_known_ones(stored: Path) -> None:
    for arguments in (["show", "T13"], ["show", "T13", "--file", stored]):
        done = accelflow(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "NAME = 'T13': must be T1, T2" in done.stderr


TEXT = """\
# A custom accelerator, a trace of the paper's name, and a fact that only a workload can state.
kind Thumb yields width number
trace mine:
    TCP Decr Thumb
    branch width > 128   (expected: true)
      on true:
        Cmp
      on false:
        Dcmp
    LdB
trace T1:
    TCP Decr
    branch stated == 1
      on true:
        Cmp
    LdB
trace ask:
    Ser Encr TCP
    tail T10
"""


def test_traces_in_text_are_shown_with_their_branches(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT, encoding="utf-8")
    shown = accelflow("show", "mine", "--file", path, "--out", tmp_path / "mine.svg").stdout
    assert (
        "\n".join(
            [
                *("Graph", "  TCP → Decr → Thumb", "  ◇ out['width'] > 128   (yes expected)"),
                *("  ├─ yes  Cmp ↩", "  ├─ no   Dcmp ↩", "  │", "  LdB → ●"),
            ]
        )
        in shown
    )
    assert (tmp_path / "mine.svg").read_text(encoding="utf-8").count("<svg") == 1
    # The file's own T1, without the description of the paper's; tails lead to the paper's traces.
    own = accelflow("show", "T1", "--file", path).stdout
    assert own.startswith("T1\n")
    assert "out['stated'] == 1" in own
    memory = json.loads(accelflow("show", "ask", "--file", path, "--json").stdout)["memory"]
    assert {line["name"] for line in memory} >= {"ask", "T10"}
    listed = accelflow("list", "--file", path).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["mine", "T1", "ask"]
    # From a pipe, which can be read once.
    command = [SCRIPT, "trace", "list", "--file", "/dev/stdin"]
    piped = subprocess.run(command, input=TEXT, capture_output=True, encoding="utf-8", check=True)
    assert piped.stdout == listed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("Decr Thumb", "Decr Tumb"), "line 4: accelerator = 'Tumb': must be TCP"),
        (TEXT.replace("T10", "T99"), "trace 'ask': tail = 'T99': must be a registered trace"),
        (TEXT.replace("    LdB\ntrace T1", "    LdB\n    tail T2\ntrace T1"), "trace 'mine': "),
        (TEXT + "trace mine:\n    TCP\n", "a different trace is already registered as 'mine'"),
        ("# nothing\n", "trace is left out: must be given, with a line 'trace NAME:'"),
        ("trace \udcff", "must be a trace file, or a text of traces in UTF-8"),
        (TEXT.replace("trace mine:", "trace mine.1:"), "trace name = 'mine.1': must be 1 to"),
    ],
)
def test_texts_that_are_no_traces_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = accelflow("list", "--file", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"accelflow: error: {path}: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_files_and_places_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no trace file")
    (tmp_path / "bytes").write_bytes(b"\x00a\xffb\n")
    (tmp_path / "empty").write_text("")
    for arguments, says in [
        (
            ["list", "--file", tmp_path / "text"],
            "line 1: statement = 'no trace file': must be 'trace NAME:'",
        ),
        (
            ["list", "--file", tmp_path / "bytes"],
            "must be a trace file, or a text of traces in UTF-8",
        ),
        (["list", "--file", tmp_path / "empty"], "trace is left out: must be given, with a line"),
        (["list", "--file", tmp_path / "missing"], "No such file"),
        (["show", "T1", "--out", tmp_path / "t.pdf"], "must end in .png or .svg"),
        (
            ["show", "T1", "--out", tmp_path / "text" / "t.png"],
            "must be in a folder that can be written",
        ),
        (["show", "T1", "--out", tmp_path / "nope" / "t.png"], "must be in a folder that"),
    ]:
        done = accelflow(*arguments)
        assert done.returncode in {1, 2}
        assert done.stderr.startswith("accelflow: error: ")
        assert done.stderr.count("\n") == 1
        assert says in done.stderr


def test_pictures_are_files_of_their_kind_and_equal_bytes(tmp_path: Path) -> None:
    for name, magic in [("t.png", b"\x89PNG"), ("t.svg", b"<?xml")]:
        assert accelflow("show", "T6", "--out", tmp_path / name).returncode == 0
        again = tmp_path / f"again-{name}"
        write_picture(LIBRARY.get("T6").nodes, "T6", again)
        assert (tmp_path / name).read_bytes() == again.read_bytes()
        assert again.read_bytes().startswith(magic)


# The graph as text.


def test_graph_of_every_kind_of_node() -> None:
    nodes = seq(
        *("TCP", trans("JSON", "str"), "Dcmp"),
        branch("hit", seq("Ser", "TCP", tail("T7")), seq("Cmp", notify()), likely=True),
    )
    assert graph(nodes) == [
        "TCP → JSON>str → Dcmp",
        "◇ out['hit']   (yes expected)",
        "├─ yes  Ser → TCP ⇢ T7",
        "└─ no   Cmp → ●",
    ]


def test_graph_shows_where_an_empty_last_arm_goes() -> None:
    assert graph(seq("TCP", branch("a", branch("b", "Dcmp")))) == [
        "TCP",
        "◇ out['a']",
        "├─ yes  ◇ out['b']",
        "│       ├─ yes  Dcmp → ●",
        "│       └─ no   → ●",
        "└─ no   → ●",
    ]


# What is too large to be shown whole.


def test_a_memory_whose_arms_meet_again_and_again_can_be_shown(tmp_path: Path) -> None:
    # Every branch rejoins in a later part, so putting the parts together would double the trace
    # with each of them.
    library = Library(templates=False)
    trace = Trace(library=library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        long = ["Encr", "Decr"] * 9
        trace.build(seq("Ser", *[branch("out[0] > 1", long, long)] * 25))
    trace.register("t")
    path = tmp_path / "many"
    save(path, library)
    text = show(view_stored(load(path), "t"))
    assert text.startswith("t\n\nSource, disassembled\n  t:\n      Ser\n")
    assert "t.40" in text


def test_joins_are_shown() -> None:
    library = Library(templates=False)
    trace = Trace(library=library)
    with pytest.warns(TraceWarning):
        trace.build(seq("Ser", join("Cmp", seq("RPC", branch("seqid", "Encr"))), "Encr", "TCP"))
    trace.register("j")
    view = view_registered(library, "j")
    assert graph(view.pipeline) == [
        "Ser",
        "join",
        "├─ 1  Cmp ↩",
        "├─ 2  RPC",
        "│     ◇ out['seqid']",
        "│     ├─ yes  Encr ↩",
        "│     └─ no   ↩",
        "│",
        "Encr → TCP → ●",
    ]
    text = show(view)
    assert "join\n    arm 1:\n      Cmp\n    arm 2:" in text
    assert "   1  bc7   scatter: a second execution starts at 7, a join waits for both" in text
    assert "  12  bf    join: continue when all arms have arrived" in text
    assert view.to_dict()["nodes"][1]["kind"] == "join"
    assert len(view.to_dict()["nodes"][1]["arms"]) == 2


@pytest.mark.parametrize("arms", [2, 3, 9])
def test_joins_that_are_split_are_put_together(arms: int, tmp_path: Path) -> None:
    library = Library(templates=False)
    trace = Trace(library=library)
    inner = seq(join("Cmp", "Encr"), "Ser")
    middle = seq("Cmp", "Dcmp", branch("out[0] > 1", "Cmp", "RPC"), *["Cmp", "Dcmp"] * 4)
    pipeline = seq("Ser", join(inner, *[middle] * (arms - 1)), "Encr", "TCP")
    with pytest.warns(TraceWarning):
        trace.build(pipeline)
    trace.register("j")
    assert len(library.link().words) > arms
    save(tmp_path / "j", library)
    assert view_stored(load(tmp_path / "j"), "j").pipeline == pipeline


# The picture.


def names_in(nodes: list[Node]) -> list[str]:
    inside = [name for node in nodes for arm in node.arms for name in names_in(arm)]
    return inside + [node.name for node in nodes if node.kind == "accelerator" and node.name]


def overlap(first: Box, second: Box) -> bool:
    return (
        first.y == second.y and first.left[0] < second.right[0] and second.left[0] < first.right[0]
    )


def crossed(layout: Layout) -> list[tuple[Box, tuple[float, float]]]:
    """Boxes through which a piece of an arrow leads that neither begins nor ends there."""
    found = []
    for box in layout.boxes:
        for arrow in layout.arrows:
            for (x0, y0), (x1, y1) in zip(arrow.points, arrow.points[1:], strict=False):
                across = min(x0, x1) < box.right[0] - 1e-9 and max(x0, x1) > box.left[0] + 1e-9
                top, bottom = box.y - HEIGHT / 2 + 1e-9, box.y + HEIGHT / 2 - 1e-9
                if across and min(y0, y1) < bottom and max(y0, y1) > top:
                    found.append((box, (x0, y0)))
    return found


def joins(
    arm: st.SearchStrategy[Steps], after: st.SearchStrategy[str], depth: int
) -> st.SearchStrategy[Steps]:
    arms = st.lists(arm, min_size=2, max_size=3)
    joined = st.builds(lambda arms, after: (join(*arms), after), arms, after)
    return joins(arm | joined, after, depth - 1) if depth else joined


def pipelines(depth: int) -> st.SearchStrategy[tuple[Steps, ...]]:
    call = st.sampled_from(["Encr", "Decr", "Cmp", "Dcmp", "Ser"])
    calls = st.lists(call, min_size=1, max_size=3).map(tuple)
    if depth == 0:
        return calls
    arm = pipelines(depth - 1)
    conditions = st.sampled_from(["a", "status == 1234567", "not b and (c > 1 or d < 2 or e == 3)"])
    inner = st.one_of(
        calls,
        st.builds(branch, conditions, arm, st.none() | arm),
        joins(calls | st.builds(branch, conditions, calls, st.none() | calls), call, depth),
    )
    last = st.one_of(
        st.just(()),
        st.builds(tail, st.sampled_from(["T7", "a_trace_with_a_name"])),
        st.builds(fork, arm, arm),
    )
    return st.tuples(call, st.lists(inner, max_size=3), last)


@given(pipelines(2))
def test_nothing_in_a_picture_overlaps(pipeline: tuple[Steps, ...]) -> None:
    trace = Trace(library=Library(templates=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        try:
            trace.build(pipeline)
        except TraceError:
            assume(False)  # something follows an end
    nodes = [*trace.pipeline]
    layout = lay_out(nodes)
    drawn = [box.label for box in layout.boxes if box.kind == "accelerator"]
    assert sorted(drawn) == sorted(names_in(nodes))
    pairs = [(a, b) for i, a in enumerate(layout.boxes) for b in layout.boxes[i + 1 :]]
    assert [pair for pair in pairs if overlap(*pair)] == []
    assert crossed(layout) == []
    assert len(layout.arrows) >= len(layout.boxes) - 1


def test_checker_of_pictures_finds_faults() -> None:
    layout = lay_out(seq("TCP", "Decr"))
    assert crossed(layout) == []
    first, second, _ = layout.boxes
    assert overlap(first, first)
    assert not overlap(first, second)
    layout.boxes.append(Box("core", "", (first.x + second.x) / 2, 0.0, 0.1))
    assert len(crossed(layout)) == 1


def test_conditions_are_shortened_for_pictures() -> None:
    assert short("out['compressed'] == 1") == "compressed == 1"
    lines = short(" or ".join(f"out['field{i}'] == {i}" for i in range(20))).split("\n")
    assert len(lines) == 2
    assert lines[1].endswith("...")


def test_a_very_long_trace_can_be_drawn(tmp_path: Path) -> None:
    write_picture(seq(["Encr", "Decr"] * 500), "long", tmp_path / "long.png")
    assert (tmp_path / "long.png").stat().st_size > 1000
    assert draw(seq("TCP"), "short").get_size_inches()[0] < 3
