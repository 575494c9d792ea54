"""Importers and any input: a workload in its form or one clear error, never anything else."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelflow import InputError
from accelflow.importing import (
    AlibabaOptions,
    ArrivalsOptions,
    Asked,
    AzureOptions,
    CostsOptions,
    Report,
    compared,
    import_alibaba,
    import_azure,
    import_costs,
    read_arrivals,
    read_latencies,
    read_workload,
    write_imported,
)
from accelflow.importing.runs import Sorted
from conftest import ROOT
from test_import_profiles import pprof
from workload_form import check_arrivals, check_costs, check_workload

DATA = ROOT / "tests/data/import"
SHOP = ROOT / "tests/data/shop.json"

#: A file is made anew for each example, so that the fixture of the folder may be shared.
MANY = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def arrivals(path: Path) -> None:
    for unit in (None, "s", "iso"):
        report = Report("arrivals")
        with read_arrivals([path], report, ArrivalsOptions(unit=unit, window_s=None)) as found:
            check_arrivals(found.process, list(found.lines()))


def arrivals_of_dates(path: Path) -> None:
    report = Report("arrivals")
    options = ArrivalsOptions(unit="iso", zone="Europe/Berlin", window_s=60)
    with read_arrivals([path], report, options) as found:
        check_arrivals(found.process, list(found.lines()))


def alibaba(path: Path) -> None:
    found = import_alibaba([path], Report("alibaba-v2021"), AlibabaOptions())
    check_workload(found.tree, {name: list(rows) for name, rows in found.companions.items()})


def alibaba_rates(path: Path) -> None:
    paths = [DATA / "MSCallGraph.csv", path]
    found = import_alibaba(paths, Report("alibaba-v2021"), AlibabaOptions())
    check_workload(found.tree, {name: list(rows) for name, rows in found.companions.items()})


def azure(path: Path) -> None:
    found = import_azure([path], Report("azure-functions"), AzureOptions())
    check_workload(found.tree, {name: list(rows) for name, rows in found.companions.items()})


def azure_days(path: Path) -> None:
    paths = [path, DATA / "durations.csv"]
    found = import_azure(paths, Report("azure-functions"), AzureOptions())
    check_workload(found.tree, {name: list(rows) for name, rows in found.companions.items()})


def azure_durations(path: Path) -> None:
    paths = [DATA / "invocations.csv", path]
    found = import_azure(paths, Report("azure-functions"), AzureOptions(duration="mean"))
    check_workload(found.tree, {name: list(rows) for name, rows in found.companions.items()})


def latencies(path: Path) -> None:
    for measured in read_latencies([path], Report("deathstarbench")):
        json.dumps(measured.as_json(), allow_nan=False)


def results(path: Path) -> None:
    measured = read_latencies([DATA / "locust.csv"], Report("deathstarbench"))
    compared(measured, path, None)


def costs(kind: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        for cores in (1.0, None):
            options = CostsOptions(
                into=SHOP, service="Checkout", requests=10, cores=cores, duration_s=1, asked=Asked()
            )
            found = import_costs(kind, [path], Report(kind), options)
            check_costs(found.tree["services"][0]["costs"])

    return read


def into(path: Path) -> None:
    report = Report("perf")
    name = read_workload(path)["services"][0]["name"]
    options = CostsOptions(into=path, service=name, requests=4)
    found = import_costs("perf", [DATA / "checkout.perf"], report, options)
    out = path.with_name("out.json")
    write_imported(found, report, out)
    assert read_workload(out)["services"] == found.tree["services"]


WORKLOAD = json.dumps(
    json.loads(SHOP.read_text()) | {"origin": {"kind": "x", "files": [], "guessed": {"a": 1}}}
).encode()
TIMES = b"timestamp,count\n2026-10-25T02:30:00,5\n2026-10-25T02:30:00,7\n2026-10-25T02:31:00,2\n"

#: Each importer with an input that it accepts, or nearly so.
IMPORTERS: dict[str, tuple[Callable[[Path], None], bytes]] = {
    "arrivals": (arrivals, b"time_ms\n1\n2.5\n2\n-1\nnan\n2026-01-01\n1e300\n,\n9\n"),
    "arrivals_of_dates": (arrivals_of_dates, TIMES),
    "alibaba": (alibaba, (DATA / "MSCallGraph.csv").read_bytes()),
    "alibaba_rates": (alibaba_rates, (DATA / "MSRTQps.csv").read_bytes()),
    "azure": (azure, (DATA / "invocations-2021.csv").read_bytes()),
    "azure_days": (azure_days, (DATA / "invocations.csv").read_bytes()),
    "azure_durations": (azure_durations, (DATA / "durations.csv").read_bytes()),
    "wrk2": (latencies, (DATA / "wrk2.txt").read_bytes()),
    "locust": (latencies, (DATA / "locust.csv").read_bytes()),
    "results": (results, b'{"schema": "accelflow.compare/1", "systems": []}'),
    "perf": (costs("perf"), (DATA / "checkout.perf").read_bytes()),
    "pprof": (costs("pprof"), pprof()),
    "folded": (costs("folded"), (ROOT / "examples/import/checkout.folded").read_bytes()),
    "into": (into, WORKLOAD),
}

#: Pieces that parsers stumble over.
PIECES = st.sampled_from(
    [
        *(b"", b"\0", b"\n", b",", b'"', b"-", b"-1", b"nan", b"inf", b"1e999", b"9" * 40, b"\xff"),
        *(b"\xed\xa0\x80", b"\x1f\x8b", b"[", b"{", b"0001-01-01", b"9999-12-31T23:59:59", b"\r"),
        *(b"(?)", b"0.1.1", b"mq", b"-0", b"1e-320", b"\xef\xbb\xbf", b" ", b";", b"null", b"1e18"),
    ]
)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with some of its bytes replaced by pieces, and sometimes cut off."""
    changed = data
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(changed)))
        length = draw(st.integers(0, 12))
        changed = changed[:start] + draw(PIECES) + changed[start + length :]
    if draw(st.booleans()):
        return changed
    return changed[: draw(st.integers(0, len(changed)))]


def survives(read: Callable[[Path], None], path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        read(path)
    except InputError as error:
        assert str(error)  # noqa: PT017 (an error is as good as a workload)


@pytest.mark.parametrize("name", IMPORTERS)
def test_mutations_of_good_input(name: str, tmp_path: Path) -> None:
    read, good = IMPORTERS[name]

    @MANY
    @given(data=mutated(good))
    def check(data: bytes) -> None:
        survives(read, tmp_path / "input", data)

    check()


@pytest.mark.parametrize("name", IMPORTERS)
def test_any_bytes_after_the_first_line(name: str, tmp_path: Path) -> None:
    read, good = IMPORTERS[name]
    header = good.partition(b"\n")[0] + b"\n"

    @MANY
    @given(data=st.binary(max_size=200), keep=st.booleans())
    def check(data: bytes, keep: bool) -> None:
        survives(read, tmp_path / "input", (header if keep else b"") + data)

    check()


@pytest.mark.parametrize("name", IMPORTERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n" * 100,
        bytes(range(256)),
        b"x" * (1 << 21),
        b"\x1f\x8b\x08\x00garbage",
        gzip.compress(b"time_s\n1\n2\n")[:-6],
        b'"' * 200_000,
        b"[" * 100_000,
    ],
    ids=["empty", "lines", "binary", "one line", "no gzip", "cut gzip", "quotes", "nested"],
)
def test_input_of_no_kind_is_an_input_error(name: str, data: bytes, tmp_path: Path) -> None:
    read, _ = IMPORTERS[name]
    path = tmp_path / "input"
    path.write_bytes(data)
    with pytest.raises(InputError, match="input"):
        read(path)


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_folder_or_a_missing_file_is_an_input_error(name: str, tmp_path: Path) -> None:
    read, _ = IMPORTERS[name]
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError):
            read(path)


CALLS = "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"


def call_rows(count: int) -> Iterator[str]:
    yield CALLS
    for n in range(count):
        yield f"t{n // 4},{n},0.{n % 4},(?),rpc,m{n % 50},i,{n % 7 + 1}\n"


def time_rows(count: int) -> Iterator[str]:
    yield "time_us\n"
    for n in range(count):
        yield f"{(n * 7919) % count}\n"


def event_rows(count: int) -> Iterator[str]:
    yield "app,func,end_timestamp,duration\n"
    for n in range(count):
        yield f"a,f{n % 20},{n * 0.01:.2f},{n % 97 / 100}\n"


def sample_rows(count: int) -> Iterator[str]:
    for n in range(count):
        yield f"server 1 {n}.5: 100000 cpu-clock:\n\tff f{n % 500} (x)\n\tee main (x)\n\n"


def arrivals_in_any_order(path: Path) -> None:
    report = Report("arrivals")
    with read_arrivals([path], report, ArrivalsOptions()) as found:
        assert sum(1 for _ in found.lines()) == 1 + report.count("understood", "rows of times")


def costs_of_samples(path: Path) -> None:
    options = CostsOptions(into=SHOP, service="Checkout", requests=10)
    import_costs("perf", [path], Report("perf"), options)


@pytest.mark.parametrize(
    ("read", "rows", "few"),
    [
        (alibaba, call_rows, 4_000),
        (arrivals_in_any_order, time_rows, 10_000),
        (azure, event_rows, 10_000),
        (costs_of_samples, sample_rows, 4_000),
    ],
    ids=["alibaba", "arrivals", "azure", "perf"],
)
def test_memory_does_not_grow_with_the_file(
    read: Callable[[Path], None],
    rows: Callable[[int], Iterator[str]],
    few: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As for large files, but with smaller ones: less is held, and so the rest is more.
    monkeypatch.setattr("accelflow.importing.alibaba_calls.OPEN_ROWS", 1_000)
    monkeypatch.setattr("accelflow.importing.arrivals.Sorted", lambda: Sorted(held=1_000))
    monkeypatch.setattr("accelflow.importing.runs._BLOCK", 16)
    path = tmp_path / "input"
    peaks = []
    for count in (few, few, 4 * few):  # the first fills caches
        with path.open("w") as file:
            file.writelines(rows(count))
        tracemalloc.start()
        read(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.25 * peaks[1], peaks
