"""Traces from Python: the paper's listings, the API, what is refused and how it is said."""

import builtins
import copy
import pickle
import random
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelflow
from accelflow import AccelflowError, InputError, TraceError
from accelflow.trace import (
    LIBRARY,
    Image,
    Library,
    Node,
    Steps,
    Trace,
    TraceWarning,
    branch,
    fork,
    join,
    load,
    notify,
    save,
    seq,
    tail,
    templates,
    trans,
    transform,
)

#: As the authors' slides print it, to the letter.
LISTING_1 = """\
from AFlow import Trace, seq, branch, transform
trace = Trace() # Define trace
pipeline = seq( # Compose trace
    "TCP", "Decr", "RPC", "Dser",
    branch(condition_op="out['compressed'] == 1",
        on_true=seq(trans("JSON", "str"), "Dcmp"),
        on_false=None),
    "LdB")
trace.build(pipeline) # Attach pipeline to trace
trace.register(name="func_req") # Register trace
"""

CHECK_LISTING_1 = """
from accelflow.trace import LIBRARY
assert LIBRARY.get("func_req").nodes == LIBRARY.get("T1").nodes
"""


@pytest.fixture
def library() -> Library:
    return Library(templates=False)


def registered(library: Library, name: str, pipeline: Steps, **options: bool) -> Trace:
    trace = Trace(library=library)
    trace.build(pipeline)
    trace.register(name, **options)
    return trace


def error_of(action: Callable[[], object]) -> TraceError:
    with pytest.raises(TraceError) as caught:
        action()
    return caught.value


def python(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_listing_1_runs_as_printed_and_is_t1() -> None:
    python(LISTING_1 + CHECK_LISTING_1)


def test_only_aflow_touches_the_builtins() -> None:
    python("import accelflow.trace, accelflow.cli, builtins; assert not hasattr(builtins, 'trans')")
    python("import builtins; builtins.trans = 1; import AFlow; assert trans == 1")
    assert not hasattr(builtins, "trans")


def test_the_names_of_aflow_are_those_of_accelflow() -> None:
    python(
        "import AFlow, accelflow.trace as t\n"
        "assert AFlow.__all__ and all(getattr(AFlow, n) is getattr(t, n) for n in AFlow.__all__)"
    )


# The words that traces are written with.


def test_seq_takes_strings_nodes_sequences_and_nothing() -> None:
    flat = seq("TCP", "Decr", trans("JSON", "str"), "Dser")
    assert seq("tcp", ("DECR", [trans("JSON", "string")], None), seq("Deser")) == flat
    assert seq() == seq(None) == seq([], [None]) == ()


def test_transform_is_trans_and_bare_names_are_fields() -> None:
    assert transform("JSON", "str") == trans("json", "STRING")
    assert branch("hit", "Dcmp") == branch("out['hit']", seq("Dcmp"), None)
    assert branch("hit", "Dcmp") != branch("hit", None, "Dcmp")
    assert branch("hit", "Dcmp") != branch("hit", "Dcmp", likely=False)


def test_nodes_can_be_read() -> None:
    chosen = branch("a & 1 == 1 or not b", seq("Dcmp"), tail("t"), likely=False)
    assert (chosen.kind, chosen.likely, chosen.name) == ("branch", False, None)
    assert chosen.condition == "((out['a'] & 1) == 1) or (not out['b'])"
    (decompress,), (next_trace,) = chosen.arms
    assert (decompress.kind, decompress.name, decompress.arms) == ("accelerator", "Dcmp", [])
    assert (next_trace.kind, next_trace.name) == ("tail", "t")
    change = trans("BSON", "JSON")
    assert (change.kind, change.src, change.dst) == ("trans", "BSON", "JSON")
    assert [node.kind for node in (fork("Ser", "Cmp"), notify())] == ["fork", "notify"]
    assert [len(arm) for arm in join("Ser", ["Cmp", "Encr"]).arms] == [1, 2]
    assert "out['a']" in repr(chosen)
    assert len({seq("Dser"), seq("Deser")}) == 1


@pytest.mark.parametrize("bad", [7, 1.5, object(), b"TCP"])
def test_values_that_are_no_part_of_a_trace_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match=r"step \d of a trace"):
        seq("TCP", bad)  # type: ignore[arg-type]


def test_endless_nesting_is_refused() -> None:
    inside: list[Steps] = ["TCP"]
    inside.append(inside)
    with pytest.raises(
        InputError, match="nesting of sequences in a trace = 65: must be at most 64 levels"
    ):
        seq(inside)
    deepest = notify()
    for _ in range(16):
        deepest = branch("hit", deepest)
    assert error_of(lambda: branch("hit", deepest)).reason == "too_deep"
    wide = seq(*["Ser"] * 1000)
    assert error_of(lambda: fork(wide, wide)).reason == "too_long"


@pytest.mark.parametrize(
    ("make", "reason", "says"),
    [
        (lambda: seq("TCP", "Gzip"), "unknown_accelerator", "must be TCP, Encr, Decr"),
        (lambda: trans("XML", "str"), "unknown_format", "must be str"),
        (lambda: trans("str", "string"), "same_format", "must differ"),
        (lambda: branch("hit = 1", "Dcmp"), "bad_condition", "character 5"),
        (lambda: Trace().build(None), "empty_trace", "must be at least 1"),
        (lambda: Trace().build(branch("hit", "Ser")), "bad_start", "must begin with"),
        (lambda: Trace().build(["TCP", "LdB", "Ser"]), "after_ldb", "Ser cannot follow"),
        (lambda: Trace().build(["Ser", "TCP", "Dser"]), "after_send", "sends a message"),
        (lambda: Trace().build(["TCP", tail("x"), "Ser"]), "unreachable", "can never run"),
        (lambda: Trace().build(["TCP", branch("hit")]), "empty_branch", "both arms are empty"),
        (lambda: Trace().build(["TCP", fork("Ser")]), "empty_fork", "at least two arms"),
        (lambda: Trace().build(["Ser", join("Cmp"), "TCP"]), "empty_join", "at least two arms"),
        (lambda: Trace().build(["Ser", join("Cmp", "LdB"), "TCP"]), "after_ldb", "a join"),
        (
            lambda: Trace().build(["Ser", join("Cmp", tail("x")), "TCP"]),
            "arm_ends",
            "arm 2 of a join ends",
        ),
        (
            lambda: Trace().build(["Ser", join("Cmp", "Encr")]),
            "after_join",
            "step after a join = the end: must be an accelerator",
        ),
        (lambda: Trace().build(["TCP", trans("JSON", "str")]), "dangling_transform", "JSON>str"),
        (
            lambda: Trace().build(["TCP", trans("JSON", "str"), trans("BSON", "str"), "Dser"]),
            "transform_mismatch",
            "the first format of BSON>str must be",
        ),
        (lambda: Trace().register("empty"), "not_built", "before registering it"),
        (lambda: LIBRARY.get("T13"), "unknown_trace", "must be T1, T2, T3"),
    ],
)
def test_the_impossible_is_refused(make: Callable[[], object], reason: str, says: str) -> None:
    error = error_of(make)
    assert error.reason == reason
    assert says in str(error)
    assert error.step is None


@pytest.mark.parametrize(
    ("condition", "position"),
    [
        ("hit === 1", 6),
        ("(hit", 4),
        ("", 0),
        ("in['hit']", 2),
        ("a < b < c", 6),
        ("größe == 1", 2),
        ("hit == 9223372036854775808", 7),
        ("(a == b) & 1", 0),
    ],
)
def test_condition_errors_point_at_the_character(condition: str, position: int) -> None:
    error = error_of(lambda: branch(condition, "Dcmp"))
    assert (error.reason, error.position) == ("bad_condition", position)
    lines = str(error).splitlines()
    assert lines[-2][4:] == condition
    assert lines[-1].index("^") == 4 + position


def test_trace_error_is_of_the_family_and_survives_pickling() -> None:
    error = error_of(lambda: branch("hit === 1", "Dcmp"))
    assert isinstance(error, AccelflowError)
    assert accelflow.TraceError is TraceError
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(again), str(again), vars(again)) == (TraceError, str(error), vars(error))
    own = TraceError("my own")
    assert (own.reason, own.trace, own.step, own.position) == ("unspecified", None, None, None)


# Traces and libraries.


def test_a_pair_outside_table_1_warns_once() -> None:
    trace = Trace(library=Library(templates=False))
    with pytest.warns(TraceWarning) as caught:
        trace.build(seq("TCP", "Dcmp", "Cmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace.register("odd")
    (warning,) = trace.warnings
    assert [str(item.message) for item in caught] == [warning]
    assert warning.startswith("Cmp follows Dcmp, which is not a pair")
    assert caught[0].filename == __file__


def test_a_failed_build_leaves_the_trace_as_it_was(library: Library) -> None:
    trace = registered(library, "t", seq("TCP", "Decr"))
    before = (trace.pipeline, trace.warnings, trace.name)
    error_of(lambda: trace.build(seq("LdB", "Ser")))
    assert (trace.pipeline, trace.warnings, trace.name) == before == (seq("TCP", "Decr"), (), "t")
    assert trace.listing == "TCP\nDecr\n"


def test_the_same_trace_may_be_registered_again_and_another_may_not(library: Library) -> None:
    registered(library, "t", seq("TCP", "Decr"))
    registered(library, "t", seq("TCP", "Decr"))
    error = error_of(lambda: registered(library, "t", seq("TCP", "Dser")))
    assert (error.reason, error.trace) == ("duplicate_name", "t")
    assert library.get("t").nodes == list(seq("TCP", "Decr"))
    registered(library, "t", seq("TCP", "Dser"), replace=True)
    assert library.get("t").nodes == list(seq("TCP", "Dser"))
    assert library.names() == ["t"]


@pytest.mark.parametrize("name", ["", "1st", "a b", "a.1", "x" * 49, "naïve"])
def test_names_are_checked(library: Library, name: str) -> None:
    error = error_of(lambda: registered(library, name, seq("TCP", "Decr")))
    assert (error.reason, error.trace) == ("bad_name", name)
    assert len(library) == 0


def test_tails_are_resolved_when_the_library_is_linked(library: Library) -> None:
    registered(library, "ask", seq("Ser", "TCP", tail("answer")))
    error = error_of(library.link)
    assert (error.reason, error.trace) == ("unknown_tail", "ask")
    registered(library, "answer", seq("TCP", "Dser", "LdB"))
    assert library.link().traces == ["ask", "answer"]
    registered(library, "answer", seq("TCP", "Dser", tail("ask")), replace=True)
    error = error_of(library.link)
    assert error.reason == "never_ends"
    assert "ask -> answer -> ask" in str(error)


def test_a_trace_memory_has_sixteen_predicates(library: Library) -> None:
    for index in range(17):
        registered(library, f"t{index}", seq("TCP", "Dser", branch(f"field == {index}", "Dcmp")))
        if index < 16:
            assert len(library.link().predicates) == index + 1
    assert error_of(library.link).reason == "too_many_predicates"


def test_the_library_of_the_process_holds_the_templates() -> None:
    names = [template.name for template in templates()]
    assert names[:7] == ["T1", "T2", "T3", "T4", "T5", "T6", "T7"]
    assert {"T8+Cmp", "T12", "T6_error", "T7_error", "T10_error"} <= {*names}
    assert LIBRARY.names()[: len(names)] == names
    for template in templates():
        assert list(template.pipeline) == LIBRARY.get(template.name).nodes
        assert template.about


def test_t6_is_what_the_words_of_this_module_write() -> None:
    write = seq(branch("out['c_compressed'] == 1", "Cmp"), "Ser", "Encr", "TCP", tail("T7"))
    t6 = seq(
        ["TCP", "Decr", "Dser"],
        branch("out['found'] == 0", tail("T6_error"), likely=False),
        branch("out['compressed'] == 1", "Dcmp"),
        fork("LdB", write),
    )
    assert list(t6) == LIBRARY.get("T6").nodes
    assert LIBRARY.get("T6").warnings == [
        "Cmp follows Dcmp, which is not a pair of source and destination in AccelFlow's Table I"
    ]


def test_a_library_can_be_used_from_many_threads(library: Library) -> None:
    def work(number: int) -> None:
        for index in range(50):
            registered(library, f"t{number}_{index}", seq("TCP", "Decr"))
            library.link()

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(library) == len(library.link()) == 200


# Executions.


def test_a_walk_that_lacks_a_field_says_at_which_step() -> None:
    image = LIBRARY.link()
    error = error_of(lambda: image.walk("T4", {"hit": 0}))
    assert (error.reason, error.trace, error.step) == ("missing_field", "T6", 15)
    visits = image.walk("T4", {"hit": 0, "found": 0})
    assert visits[14:16] == [("call", "Dser"), ("enter", "T6_error")]
    assert error_of(lambda: image.walk("T0", {})).reason == "unknown_trace"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"hit": 2**64}, "facts['hit'] = 18446744073709551616: must be a whole number of at most"),
        ({"hit": -(2**63) - 1}, "facts['hit'] = -9223372036854775809: must be a whole number"),
        ({"hit": 1.5}, "facts['hit'] = 1.5: must be a whole number of at most 64 bits"),
        ({"hit": "yes"}, "facts['hit'] = 'yes': must be a whole number of at most 64 bits"),
        ({3: 1}, "facts key = 3: must be a str"),
        ([("hit", 1)], "facts = [('hit', 1)]: must be a mapping of names to whole numbers"),
    ],
)
def test_a_walk_refuses_facts_that_are_no_numbers(facts: Any, says: str) -> None:
    error = error_of(lambda: LIBRARY.link().walk("T4", facts))
    assert str(error).startswith(says)
    assert error.reason == "bad_fact"


def test_a_walk_has_a_largest_number_of_steps() -> None:
    walk = LIBRARY.link().walk
    facts = {"compressed": 0}
    error = error_of(lambda: walk("T1", facts, max_visits=1))
    assert error.reason == "too_many_visits"
    for large in (2**80, 2**200):
        assert walk("T1", facts, max_visits=large) == walk("T1", facts)
    wrong: list[Any] = [-1, -(2**200), 0.5, "9"]
    for bad in wrong:
        error = error_of(partial(walk, "T1", facts, max_visits=bad))
        assert str(error) == f"max_visits = {bad!r}: must be a whole number of at least 0"


def test_a_walk_takes_facts_of_any_mapping_up_to_64_bits() -> None:
    image = LIBRARY.link()
    for hit in (-(2**63), 2**63 - 1):
        facts = {"hit": hit, "found": 0}
        assert image.walk("T4", MappingProxyType(facts)) == image.walk("T4", facts)


def test_forks_that_multiply_without_bound_are_refused(library: Library) -> None:
    for index in range(40):
        following = tail(f"t{index + 1}") if index < 39 else notify()
        registered(library, f"t{index}", seq("Ser", fork(["Encr", following], ["Encr", following])))
    assert error_of(library.link).reason == "too_many_executions"


def test_a_walk_ends_after_a_stated_number_of_visits() -> None:
    facts = {"found": 1, "compressed": 1, "c_compressed": 1, "exception": 0}
    image = LIBRARY.link()
    visits = image.walk("T6", facts)
    assert image.walk("T6", facts, max_visits=len(visits)) == visits
    error = error_of(lambda: image.walk("T6", facts, max_visits=len(visits) - 1))
    assert (error.reason, error.step) == ("too_many_visits", len(visits) - 1)


def pipelines(depth: int) -> st.SearchStrategy[tuple[Steps, ...]]:
    """Sequences of encryptions, compressions and branches: all of them may follow one another."""
    call = st.sampled_from(["Encr", "Decr", "Cmp", "Dcmp", "Ser", "Dser", "RPC"])
    if depth == 0:
        return st.lists(call, min_size=1, max_size=4).map(tuple)
    arm = pipelines(depth - 1)
    chosen = st.builds(
        branch,
        st.sampled_from(["a", "b == 1", "a and not b", "a ^ b"]),
        arm,
        st.none() | arm,
        st.none() | st.booleans(),
    )
    return st.lists(call | chosen, min_size=1, max_size=6).map(tuple)


def expected(nodes: list[Node], a: int, b: int) -> Iterator[str]:
    """What the nodes visit, by Python's own meaning of their conditions."""
    for node in nodes:
        if node.kind == "branch":
            held = {
                "out['a']": bool(a),
                "out['b'] == 1": b == 1,
                "out['a'] and (not out['b'])": bool(a and not b),
                "out['a'] ^ out['b']": bool(a ^ b),
            }[node.condition or ""]
            yield from expected(node.arms[0 if held else 1], a, b)
        else:
            yield node.name or ""


@given(pipelines(3), st.integers(0, 2), st.integers(0, 2))
def test_words_visit_what_the_source_says(body: tuple[Steps, ...], a: int, b: int) -> None:
    library = Library(templates=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        trace = registered(library, "t", seq("Ser", "Dser", body))
    image = Image.from_bytes(library.link().to_bytes())
    visits = image.walk("t", {"a": a, "b": b})
    calls = [name for what, name in visits if what == "call"]
    assert calls == list(expected(list(trace.pipeline), a, b))
    assert (visits[0], visits[-1]) == (("enter", "t"), ("notify", ""))


# Files.


def test_a_file_holds_the_whole_library(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "traces.aftrace"
    save(path)
    image = load(path)
    assert image == LIBRARY.link()
    assert image.traces == LIBRARY.names()
    assert [name for name, _ in image.disassemble()] == image.names
    save(path, image)
    assert path.read_bytes() == image.to_bytes()
    assert [entry.name for entry in path.parent.iterdir()] == ["traces.aftrace"]


def test_a_library_that_does_not_link_leaves_the_file_alone(
    tmp_path: Path, library: Library
) -> None:
    path = tmp_path / "traces"
    path.write_text("before")
    registered(library, "ask", seq("Ser", "TCP", tail("answer")))
    assert error_of(lambda: save(path, library)).reason == "unknown_tail"
    assert path.read_text() == "before"


def damaged(change: Callable[[bytearray], object]) -> bytes:
    data = bytearray(LIBRARY.link().to_bytes())
    change(data)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "bad_magic"),
        (b"\x7fELF" + bytes(60), "bad_magic"),
        (damaged(lambda d: d.__setitem__(9, 2)), "bad_version"),
        (damaged(lambda d: d.__delitem__(slice(-1, None))), "bad_length"),
        (damaged(lambda d: d.append(0)), "bad_length"),
        (damaged(lambda d: d.__setitem__(100, d[100] ^ 1)), "bad_checksum"),
        (bytes(2 << 20), "bad_length"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "not.aftrace"
    path.write_bytes(data)
    error = error_of(lambda: load(path))
    assert error.reason == reason
    assert str(error).startswith(f"{path}: ")


def test_a_missing_file_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


def test_every_flip_of_a_bit_is_refused() -> None:
    data = LIBRARY.link().to_bytes()
    generator = random.Random(1)  # noqa: S311
    for bit in generator.sample(range(len(data) * 8), 400):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        error_of(lambda bad=bad: Image.from_bytes(bytes(bad)))  # type: ignore[misc]


def test_nodes_and_images_are_immutable_values() -> None:
    node = branch("hit", "Dcmp")
    with pytest.raises(AttributeError):
        node.kind = "fork"  # type: ignore[misc]
    image = LIBRARY.link()
    assert image == LIBRARY.link()
    assert image != Library(templates=False).link()
    with pytest.raises(IndexError, match="must be below 21"):
        image.decode(len(image))
    assert copy.copy(seq(node)) == seq(node)
