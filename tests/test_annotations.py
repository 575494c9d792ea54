"""Annotated functions: recorded operations, proposed traces and workloads, and runs of them."""

import asyncio
import copy
import dataclasses
import functools
import gzip
import hashlib
import inspect
import json
import math
import pickle
import runpy
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from json import loads as read
from pathlib import Path

import pytest
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

import accelflow
from accelflow import InputError
from accelflow.annotations import Offloaded, Proposal, offload
from accelflow.trace import Library, Run, TraceError
from accelflow.workload import load_workload


@offload
def render(request: bytes, *, times: int = 2) -> bytes:
    """Render a page."""
    if zlib.crc32(request) == 0:
        return b""
    page = read(zlib.decompress(request).decode())
    page["sum"] = times * sum(value for value in page["values"])
    return zlib.compress(json.dumps(page).encode())


REQUEST = zlib.compress(json.dumps({"values": [1, 2, 3]}).encode())


def calls(function: Offloaded[..., object]) -> list[str]:
    return [operation.accelerator for operation in function.operations]


def test_an_annotated_function_does_what_it_did() -> None:
    assert render.original(REQUEST) == render(REQUEST)
    assert json.loads(zlib.decompress(render(REQUEST, times=5)))["sum"] == 30
    assert (render.__name__, render.__doc__) == ("render", "Render a page.")
    with pytest.raises(zlib.error):
        render(b"no request")
    with pytest.raises(TypeError):
        render()  # type: ignore[call-arg]


class Page:
    @offload
    def head(self, level: int) -> str:
        if level:
            return """first
            second
    third"""
        return json.dumps({})


def test_texts_of_several_lines_keep_their_indentation() -> None:
    assert Page().head(1) == "first\n            second\n    third"
    assert Page().head(0) == "{}"
    assert calls(Page.head) == ["Ser"]


def test_its_own_calls_are_recorded_with_sizes_and_where_their_data_come_from() -> None:
    render(REQUEST)
    assert calls(render) == ["CRC32", "Dcmp", "Dser", "Ser", "Cmp"]
    crc, decompressed, parsed, written, compressed = render.operations
    assert [operation.follows for operation in render.operations] == [None, 0, 1, None, 3]
    assert crc.of_argument
    assert not decompressed.of_argument
    assert compressed.is_result
    assert not written.is_result
    assert crc.input_bytes == decompressed.input_bytes == len(REQUEST)
    assert decompressed.output_bytes == parsed.input_bytes
    assert written.output_bytes == compressed.input_bytes
    assert all(operation.time_ns > 0 for operation in render.operations)


class Codec:
    def squeeze(self, data: bytes, level: int = 6) -> bytes:
        return zlib.compress(data, level)


def swell(data: bytes, *, limit: int = 0) -> bytes:
    return zlib.decompress(data)[: limit or None]


MARKS = {Codec.squeeze: "Cmp", swell: "Dcmp"}


@offload(marks=MARKS)
def by_place(request: bytes) -> bytes:
    hashlib.sha256(request)
    page = read(bytes(swell(request)).decode("utf-8"))
    text = bytes(json.dumps(page), "utf-8")
    zstandard.ZstdCompressor().compress(text)
    hashlib.md5(usedforsecurity=False)
    return Codec().squeeze(gzip.compress(memoryview(text), 1), 9)


@offload(marks=MARKS)
def by_name(request: bytes) -> bytes:
    hashlib.sha256(usedforsecurity=False, string=request)
    page = read(s=bytes(swell(limit=0, data=request)).decode(encoding="utf-8"))
    text = bytes(source=json.dumps(indent=None, obj=page), encoding="utf-8")
    zstandard.ZstdCompressor().compress(data=text)
    hashlib.md5(usedforsecurity=False)
    return Codec().squeeze(
        level=9, data=gzip.compress(compresslevel=1, data=memoryview(object=text))
    )


def test_arguments_by_name_are_recorded_as_those_by_place() -> None:
    by_place(REQUEST)
    by_name(REQUEST)
    placed, named = (
        [dataclasses.replace(operation, time_ns=0) for operation in function.operations]
        for function in (by_place, by_name)
    )
    assert named == placed
    assert [operation.follows for operation in named] == [None, 0, 1, None, 3, None, 3, 6]
    assert all(operation.input_bytes for operation in named if operation.follows is not None)
    assert list(by_name.propose().traces.values()) == list(by_place.propose().traces.values())


def test_encryption_takes_its_payload_behind_the_nonce() -> None:
    @accelflow.offload
    def sealed(request: bytes, cipher: AESGCM | ChaCha20Poly1305) -> bytes:
        opened = cipher.decrypt(b"1" * 12, data=request, associated_data=None)
        return cipher.encrypt(b"2" * 12, zlib.compress(opened), None)

    for make in (AESGCM, ChaCha20Poly1305):
        cipher = make(b"k" * 32)
        sealed(cipher.encrypt(b"1" * 12, b"text" * 100, None), cipher)
        opens, compresses, seals = sealed.operations
        assert (opens.accelerator, opens.input_bytes, opens.output_bytes) == ("Decr", 416, 400)
        assert opens.of_argument
        assert (compresses.accelerator, compresses.follows) == ("Cmp", 0)
        assert (seals.accelerator, seals.follows, seals.is_result) == ("Encr", 1, True)
        assert seals.input_bytes == compresses.output_bytes


def test_a_call_that_raises_is_not_recorded() -> None:
    render(REQUEST)
    before = render.recordings
    with pytest.raises(zlib.error):
        render(b"no request")
    assert render.recordings == before


def parse(text: str) -> object:
    return json.loads(text)


def closed(count: int) -> tuple[Offloaded[[str], object], list[int]]:
    seen: list[int] = []

    @offload(marks={parse: "Dser"})
    def counted(text: str) -> object:
        seen.append(count)
        return parse(text)

    return counted, seen


def test_marks_closures_and_methods() -> None:
    counted, seen = closed(7)
    assert counted("[1]") == [1]
    assert seen == [7]
    assert calls(counted) == ["Dser"]
    assert counted.operations[0].call == "parse"

    class Packer:
        level = 9

        @offload
        def pack(self, data: bytes) -> bytes:
            return zlib.compress(data, self.level)

        @offload
        def depth(self, count: int) -> int:
            return 0 if count == 0 else 1 + self.depth(count - 1)

    assert zlib.decompress(Packer().pack(b"a" * 99)) == b"a" * 99
    assert calls(Packer.pack) == ["Cmp"]
    assert Packer().depth(3) == 3


def test_calls_of_other_functions_and_other_threads_are_not_its_own() -> None:
    @offload
    def indirect(text: str) -> object:
        return parse(text)

    indirect("[]")
    assert calls(indirect) == []
    zlib.compress(b"outside")
    assert calls(indirect) == []


@offload
async def later(text: str) -> object:
    return json.loads(text)


@offload
def pages(text: str) -> Iterator[object]:
    yield json.loads(text)
    yield json.loads(text)


def test_generators_and_coroutines_run_unrecorded() -> None:
    @offload
    def reads(text: str) -> list[object]:
        return [page for page in pages(text)]  # noqa: C416 (its body runs within this function)

    assert asyncio.run(later("[1]")) == [1]  # type: ignore[arg-type]
    assert reads("[2]") == [[2], [2]]
    assert calls(later) == calls(pages) == calls(reads) == []


def test_inspection_finds_what_was_decorated() -> None:
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction)
    found = [[is_kind(function) for is_kind in kinds] for function in (render, later, pages)]
    assert found == [[False, False], [True, False], [False, True]]
    for follow in (True, False):
        signature = inspect.signature(render, follow_wrapped=follow)
        assert str(signature) == "(request: bytes, *, times: int = 2) -> bytes"


class Shelf:
    @offload
    def pack(self, data: bytes) -> bytes:
        return zlib.compress(data)

    @classmethod
    @offload
    def parse(cls, text: str) -> object:
        return cls, json.loads(text)

    @staticmethod
    @offload
    def crc(data: bytes) -> int:
        return zlib.crc32(data)

    @offload
    async def later(self, text: str) -> object:
        return json.loads(text)


def test_methods_have_the_recordings_of_their_function() -> None:
    shelf = Shelf()
    packed = shelf.pack(b"data")
    assert zlib.decompress(packed) == b"data"
    assert shelf.parse("[1]") == Shelf.parse("[1]") == (Shelf, [1])
    assert calls(shelf.pack) == calls(Shelf.pack) == ["Cmp"]
    assert calls(shelf.parse) == calls(Shelf.parse) == ["Dser"]
    assert len(shelf.parse.recordings) == 2
    assert set(shelf.pack.propose().traces) == {"pack_receive", "pack_respond"}
    assert str(inspect.signature(shelf.pack)) == "(data: bytes) -> bytes"
    assert inspect.iscoroutinefunction(shelf.later)


def test_decorated_functions_are_pickled_and_copied_as_functions_are() -> None:
    for function in (render, later, Shelf.pack, Shelf.crc):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 (its own output)
        assert copy.deepcopy(function) is function
    for method in (Shelf().pack, Shelf.parse):
        found = pickle.loads(pickle.dumps(method))  # noqa: S301
        assert found.__func__ is method.__func__
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"closed\.<locals>\.counted"):
        pickle.dumps(closed(1)[0])


def test_functions_see_their_own_variables_only() -> None:
    outer = 1

    @offload
    def variables(text: str) -> tuple[object, ...]:
        json.loads(text)
        inner = outer
        return locals().copy(), vars().copy(), dir()

    *dicts, names = variables("[]")
    own = {"text": "[]", "outer": 1, "inner": 1}
    assert dicts == [own, own]
    assert set(names) == set(own)
    assert calls(variables) == ["Dser"]


def checked(function: Callable[[str], object]) -> Callable[[str], object]:
    @functools.wraps(function)
    def within(text: str) -> object:
        return "refused" if text == "bad" else function(text)

    return within


def unnamed(function: Callable[[str], object]) -> Callable[[str], object]:
    def within(text: str) -> object:
        return "refused" if text == "bad" else function(text)

    return within


def test_other_decorators_keep_their_effect() -> None:
    inner = offload(parse)
    above = checked(inner)
    assert (above("bad"), above("[1]")) == ("refused", [1])
    assert calls(inner) == ["Dser"]
    # One that does not name what it wraps is recorded itself.
    below = offload(unnamed(parse))
    assert (below("bad"), below("[1]")) == ("refused", [1])


def test_a_function_whose_file_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    path.write_text("def first(a):\n    return a\n\ndef second(a):\n    return a\n")
    found = runpy.run_path(str(path))
    assert offload(found["second"])(1) == 1
    path.write_text("import json\n\n\ndef second(a, b):\n    return b\n\ndef third(): ...\n")
    for name in ("first", "second"):
        with pytest.raises(
            InputError, match=f"offload = '{name}': must be defined in a file that has"
        ):
            offload(found[name])


#: A function, with parts of it that do not change its name, its parameters or its first line.
CHANGING = """
def f(a, x=7):
    y = 8
    def g(b=1.0):
        return {} if b else x
    return g(), y
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a + 1", "a - 100"),
        ("a + 1", "a + 1000"),
        ("a + x", "a + yyy.x"),
        ("(a, x)", "(a,  y)"),
        ("0.0, x, y", "-0.0, x, y"),
        ("1, x, y", "True, x, y"),
        ("a in {1, 2}", "a in {1, 200}"),
        ("lambda: a", "lambda *a: a"),
    ],
)
def test_a_function_whose_body_has_changed_in_its_file_is_refused(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "changed.py"
    path.write_text(CHANGING.format(before))
    function = runpy.run_path(str(path))["f"]
    assert repr(offload(function)(1)[1]) == "8"
    path.write_text(CHANGING.format(after))
    with pytest.raises(InputError, match="offload = 'f': must be defined in a file that has"):
        offload(function)


#: Code that depends on the rest of its file.
UNCHANGED = """
from __future__ import annotations
import functools, json
from accelflow import offload

def bare(function):
    return function

def outer(c):
    @offload
    @bare
    def inner(a: Unknown, *, b: int = 2) -> Unknown:
        '''Has a docstring.'''
        x: Unknown = json.loads("[1]")
        def nested(d: Unknown = -0.0): return a in {1, 2, 3}, d, c
        class Local:
            '''Has attributes.'''
            def __init__(self): self.one, self.__two, self.three = "1", 2, 1e999 - 1e999
        try:
            return [nested() for _ in x], Local().three, b"x", f"{a!r:>3}"
        finally:
            x.clear()
    return inner

class Base:
    def half(self, a): return a / 2

class Odd(Base):
    @offload
    def half(self, a): return super().half(a), json.dumps(dict(__a=a))

@offload
async def later(a):
    async with a: return [x async for x in a]

@offload
def keywords(a): return dict(__a=a)

@offload
def parameters(a, __b=2): return a + __b
"""


@pytest.mark.filterwarnings("error")
def test_a_function_whose_file_has_not_changed_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "unchanged.py"
    path.write_text(UNCHANGED)
    found = runpy.run_path(str(path))
    inner = found["outer"](5)
    assert repr(inner(1)) == "([(True, -0.0, 5)], nan, b'x', '  1')"
    assert calls(inner) == ["Dser"]
    assert found["Odd"]().half(3) == (1.5, '{"__a": 3}')
    assert found["keywords"](1) == {"__a": 1}
    assert found["parameters"](1) == 3


def test_code_that_its_loader_has_changed_is_recorded() -> None:
    # pytest rewrites the assert statements of this module.
    @offload
    def asserts(text: str) -> object:
        assert text == "[1]"
        return json.loads(text)

    assert asserts("[1]") == [1]
    assert calls(asserts) == ["Dser"]


def test_bytes_in_functions_are_not_compared_with_text(tmp_path: Path) -> None:
    path = tmp_path / "joins.py"
    path.write_text(
        "from accelflow import offload\n"
        "@offload\ndef f(a): return a + b'b'\n"
        "assert f(b'a') == b'ab'\n"
    )
    done = subprocess.run(
        [sys.executable, "-bb", str(path)], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def proposed() -> Proposal:
    render(REQUEST)
    return render.propose()


def private_parameter() -> Callable[..., object]:
    class Secret:
        def show(self, __hidden: int) -> int:
            return 1

    return Secret.show


def private() -> Callable[..., object]:
    class Secret:
        __hidden = 1

        def show(self) -> int:
            return self.__hidden

    return Secret.show


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: offload(lambda text: [text]), "and not a lambda"),
        (lambda: offload(len), "must be a function defined with def"),
        (lambda: offload(private()), "must not use private names"),
        (lambda: offload(private_parameter()), "must not use private names"),
        (
            lambda: offload(checked(parse)),
            "offload = 'parse': must be the innermost decorator, directly above def: another",
        ),
        (lambda: offload(eval("lambda: 1")), "must be defined in a file"),  # noqa: S307
        (lambda: offload(marks={"parse": "Dser"})(parse), "key of marks = .parse.: must be a"),  # type: ignore[dict-item]
        (lambda: closed(1)[0].propose(), "must be at least 1: run the function .* before"),  # noqa: PLW0108
        (lambda: render.propose(rate_rps=0), "must be a number above 0"),
        (lambda: render.propose(rate_rps="a"), "rate_rps = 'a': must be a number above 0"),  # type: ignore[arg-type]
        (lambda: render.propose(rate_rps=None), "rate_rps = None: must be a number"),  # type: ignore[arg-type]
        (lambda: render.propose(rate_rps=math.inf), "rate_rps = inf: must be a number"),
        (lambda: proposed().register(5), "library = 5: must be an accelflow.trace.Library"),  # type: ignore[arg-type]
        (lambda: offload(marks={"a": 3}), "key of marks = 'a': must be a function"),  # type: ignore[dict-item]
        (lambda: offload(marks={parse: 3}), "value of marks = 3: must be the name"),  # type: ignore[dict-item]
        (lambda: offload(marks=[parse]), "must be a mapping"),  # type: ignore[call-overload]
    ],
)
def test_invalid_annotations_are_refused(make: Callable[[], object], said: str) -> None:
    render(REQUEST)  # proposals need a recorded call
    with pytest.raises(InputError, match=said):
        make()


def test_the_name_of_a_marked_accelerator_is_checked() -> None:
    with pytest.raises(TraceError, match="must be 1 to 16 letters and digits"):
        offload(marks={parse: "no name"})(parse)


@pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")
def test_recorded_calls_become_traces_and_a_workload(tmp_path: Path) -> None:
    for _ in range(5):
        render(REQUEST)
    proposal = render.propose(rate_rps=3_000)
    assert proposal.traces == {
        "render_receive": ("TCP", "CRC32", "Dcmp", "Dser"),
        "render_respond": ("Ser", "Cmp", "TCP"),
    }
    (service,) = proposal.workload["services"]
    assert service["rate_rps"] == 3_000
    steps = [step.get("trace", "application") for step in service["path"]]
    assert steps == ["render_receive", "application", "render_respond"]
    assert set(proposal.workload["kinds"]) == {"CRC32"}
    assert proposal.workload["kinds"]["CRC32"]["ns"] > 0
    assert any("TCP" in note and "assumed" in note for note in proposal.notes)

    proposal.write(tmp_path / "render.toml")
    assert load_workload(tmp_path / "render.toml")["name"] == "render"
    library = Library(templates=False)
    proposal.register(library)
    assert library.link().kinds == ["kind CRC32"]
    results = proposal.compare(orchestrators=["non_acc", "accelflow"], requests=200)
    assert results["accelflow"]["render"].completed > 0
    assert "CRC32" in results["accelflow"]["render"].accelerator_utilization
    again = accelflow.compare(tmp_path / "render.toml", orchestrators=["accelflow"], requests=200)
    assert again["accelflow"]["render"].mean_us == results["accelflow"]["render"].mean_us


@offload
def packed(data: bytes) -> bytes:
    return zlib.compress(data)


@offload
def again(data: bytes) -> bytes:
    return zlib.decompress(zlib.compress(zlib.compress(data)))


@offload
def beside(data: bytes) -> bytes:
    zlib.compress(bytes(50))
    return zlib.compress(data)


@offload
def read_only(data: bytes) -> object:
    return len(json.loads(data))


@offload
def twice(data: bytes) -> bytes:
    zlib.crc32(data)
    return zlib.compress(data)


@pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")
@pytest.mark.parametrize("function", [packed, again, beside, read_only, twice])
def test_the_simplest_functions_become_workloads_too(
    function: Offloaded[[bytes], object], tmp_path: Path
) -> None:
    for size in (100, 200, 300):
        function(b"[" + b"1," * size + b"1]")
    proposal = function.propose(rate_rps=10)
    *_, last = proposal.traces.values()
    assert last[-1] == "TCP"
    proposal.write(tmp_path / "w.toml")
    results = proposal.compare(orchestrators=["accelflow"], requests=100)
    (service,) = results["accelflow"].services
    assert service.completed > 0


def test_operations_on_the_argument_run_on_bytes_or_fall_back() -> None:
    packed(b"a" * 400)
    proposal = packed.propose()
    assert proposal.traces == {"packed_receive": ("TCP",), "packed_respond": ("Cmp", "TCP")}
    run = proposal.run(b"a" * 400, packed)
    assert isinstance(run, Run)
    assert [step[2] for step in run.steps] == ["Cmp"]
    # No body computes CRC32 in this process, so the function itself does all.
    render(REQUEST)
    assert render.propose().run(REQUEST, render) == render(REQUEST)
