"""Profiles of pprof: a real one of Go's against what pprof says of it, and made-up and broken ones.

`examples/profiles/orders.*.pb.gz` are what `orders.go` beside them wrote by runtime/pprof, and
`tests/data/orders.cpu.flat.txt` is what `go tool pprof -top -unit=ns -nodecount=400
-nodefraction=0` prints of the first: flat nanoseconds and function.
"""

import gzip
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelflow import InputError
from accelflow.profiles import breakdown, pprof, read

ROOT = Path(__file__).parents[1]
SCRIPT = Path(sys.executable).with_name("accelflow")
CPU = ROOT / "examples" / "profiles" / "orders.cpu.pb.gz"
HEAP = ROOT / "examples" / "profiles" / "orders.heap.pb.gz"


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


TEXTS = ["", "cpu", "nanoseconds", "samples", "count", "main", "work", "memcpy", "tcp_sendmsg"]
TEXTS += ["[kernel.kallsyms]"]


def value_type(kind: int, unit: int) -> bytes:
    return part(1, number(1, kind) + number(2, unit))


def sample(locations: list[int], values: list[int], *, packed: bool = True) -> bytes:
    if packed:
        places = part(1, b"".join(map(varint, locations)))
        return part(2, places + part(2, b"".join(map(varint, values))))
    return part(
        2, b"".join(number(1, it) for it in locations) + b"".join(number(2, it) for it in values)
    )


def location(identity: int, functions: list[int], mapping: int = 0) -> bytes:
    lines = b"".join(part(4, number(1, function) + number(2, 7)) for function in functions)
    return part(4, number(1, identity) + number(2, mapping) + number(3, 0xF00) + lines)


def function(identity: int, name: int) -> bytes:
    return part(5, number(1, identity) + number(2, name))


def texts(table: list[str] = TEXTS) -> bytes:
    return b"".join(part(6, text.encode()) for text in table)


TYPES = value_type(3, 4) + value_type(1, 2)
# memcpy is inlined into work; location 3 is in the kernel, and location 4 nobody could name.
PLACES = (
    location(1, [1])
    + location(2, [3, 2])
    + location(3, [4], mapping=1)
    + location(4, [])
    + part(3, number(1, 1) + number(5, 9))
    + b"".join(function(n, n + 4) for n in (1, 2, 3, 4))
)
SAMPLES = sample([2, 1], [3, 30]) + sample([3, 2, 1], [1, 10], packed=False)
SAMPLES += sample([4], [1, 5]) + sample([1], [0, 0])


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "profile.pb"
    path.write_bytes(data)
    return path


def test_flat_times_of_a_real_profile_are_those_that_pprof_prints() -> None:
    lines = (ROOT / "tests" / "data" / "orders.cpu.flat.txt").read_text().splitlines()
    expected = {name: int(flat) for flat, _, name in (line.partition(" ") for line in lines)}
    profile = read(CPU)
    flat: Counter[str] = Counter()
    for frames, weight in profile.stacks.items():
        flat[frames[-1]] += weight
    assert dict(flat) == expected
    assert (profile.sample_type, profile.weight) == ("cpu/nanoseconds", 1_130_000_000)
    assert profile.sample_types == ("samples/count", "cpu/nanoseconds")
    assert read(CPU, sample_type="samples").weight == 113


def test_a_real_profile_in_categories() -> None:
    result = breakdown(read(CPU))
    share = {row["category"]: row["share_ratio"] for row in result["functionality"]}
    # pprof's cumulative time of compress/flate.(*compressor).deflate is 39 %.
    assert share["compression"] > 0.39
    leaf = {row["category"]: row["share_ratio"] for row in result["leaf"]}
    assert leaf["synchronization"] > 0.2  # runtime.lock2 and unlock2 alone
    assert leaf["hashing"] == pytest.approx(2 / 113)


def test_types_of_samples_can_be_chosen() -> None:
    profile = read(HEAP)
    assert profile.sample_types == (
        "alloc_objects/count",
        "alloc_space/bytes",
        "inuse_objects/count",
        "inuse_space/bytes",
    )
    assert profile.sample_type == "inuse_space/bytes"
    assert read(HEAP, sample_type="alloc_space/bytes").weight > profile.weight
    with pytest.raises(InputError, match="sample type = 'cpu': must be alloc_objects/count, "):
        read(HEAP, sample_type="cpu")
    folded = ROOT / "examples" / "profiles" / "service.folded"
    with pytest.raises(InputError, match="sample type = 'cpu': must be left out: folded stacks"):
        read(folded, sample_type="cpu")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stacks_go_from_the_root_to_the_innermost_inlined_function(
    pack: type[bytes], tmp_path: Path
) -> None:
    profile = read(written(tmp_path, pack(TYPES + SAMPLES + PLACES + texts())))
    assert profile.stacks == {
        ("main", "work", "memcpy"): 30,
        ("main", "work", "memcpy", "tcp_sendmsg_[k]"): 10,
        ("[unknown]",): 5,
    }


def test_the_profile_says_what_to_weigh_by(tmp_path: Path) -> None:
    chosen = read(written(tmp_path, TYPES + SAMPLES + PLACES + texts() + number(14, 3)))
    assert (chosen.sample_type, chosen.weight) == ("samples/count", 5)


def test_gzipped_text_is_read_too(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"main;work 3\n"))
    assert read(path).stacks == {("main", "work"): 3}


BAD = {
    "truncated": ((TYPES + PLACES + texts())[:-3], "not a pprof profile"),
    "no texts": (TYPES + SAMPLES + PLACES + b"\x00", "not a pprof profile"),
    "first text": (TYPES + texts(["a\0", "b"]), "string_table[0] = 'a\\x00': must be an empty"),
    "no types": (SAMPLES + PLACES + texts(), "sample_type is left out: must be given"),
    "no samples": (TYPES + PLACES + texts(), "number of samples = 0"),
    "text": (TYPES + function(1, 99) + texts(), "function 1: index in string_table = 99: must be"),
    "negative text": (TYPES + function(1, -1) + texts(), "function 1: index in string_table = -1"),
    "type's text": (value_type(10, 0) + texts(), "sample_type 0: index in string_table = 10: must"),
    "default type": (
        TYPES + texts() + number(14, 77),
        "default_sample_type 0: index in string_table = 77: must be from 0 to 9",
    ),
    "same id": (TYPES + PLACES + location(1, [1]) + texts(), "location 4: id = 1: must be unique"),
    "no id": (TYPES + PLACES + function(0, 1) + texts(), "function 4: id = 0: must be unique"),
    "no function": (TYPES + location(1, [5]) + texts(), "location 1: function = 5: must be"),
    "no mapping": (TYPES + location(1, [], 3) + texts(), "location 1: mapping = 3: must be"),
    "no location": (TYPES + sample([9], [1, 2]) + texts(), "sample 0: location = 9: must be"),
    "values": (TYPES + PLACES + sample([1], [1]) + texts(), "number of values = 1: must be 2"),
    "negative": (TYPES + PLACES + sample([1], [1, -2]) + texts(), "sample 0: value = -2: must be"),
    "half a gzip": (gzip.compress(TYPES + SAMPLES + PLACES + texts())[:-9], "can be read: Comp"),
    "a bad gzip": (b"\x1f\x8b\x08\x00" + bytes(20), "must be a file that can be read: "),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_profile_is_one_error(name: str, tmp_path: Path) -> None:
    data, message = BAD[name]
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["truncated", "no texts", "first text", "no function"])
def test_labels_of_what_is_no_profile_are_the_same_error(name: str) -> None:
    data, message = BAD[name]
    with pytest.raises(InputError) as caught:
        pprof.labels(data, "orders.pb")
    with pytest.raises(InputError) as parsed:
        pprof.parse(data, "orders.pb")
    assert str(caught.value) == str(parsed.value)
    assert str(caught.value).startswith("orders.pb: ")
    assert message in str(caught.value)
    labelled = TYPES + PLACES + part(2, part(3, number(1, 5) + number(2, 6))) + texts()
    assert pprof.labels(labelled, "orders.pb") == {("main", "work")}


def test_a_gzip_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelflow.profiles.stacks.MAX_BYTES", 10_000)
    with pytest.raises(InputError, match="larger than the limit of 10000 bytes"):
        read(written(tmp_path, gzip.compress(bytes(20_000))))


@settings(max_examples=40)
@given(cuts=st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=4)), max_size=6))
def test_damaged_profiles_are_read_or_refused(
    cuts: list[tuple[int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(gzip.decompress(HEAP.read_bytes()))
    for place, put in cuts:
        at = place % len(data)
        data[at : at + 2] = put
    path = written(tmp_path_factory.mktemp("damaged"), bytes(data))
    told = []
    try:
        profile = read(path)
        assert profile.weight == sum(profile.stacks.values()) > 0
        breakdown(profile)
    except InputError as error:
        told = str(error).splitlines()
    assert len(told) <= 1
    assert all(str(path) in line for line in told)


def test_the_command_reads_pprof() -> None:
    done = subprocess.run(
        [SCRIPT, "profile", CPU, "--sample-type", "samples"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first = "weighed by samples/count; there are also cpu/nanoseconds"
    assert done.stdout.splitlines()[0] == first
    wrong = subprocess.run(
        [SCRIPT, "profile", CPU, "--sample-type", "space"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.count("\n") == 1
