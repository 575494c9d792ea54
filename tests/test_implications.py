"""What the paper's figures imply: the arithmetic of every proof, and what would be consistent."""

import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.findings import Reason, printed_figures
from accelflow.findings.reasons import CLASSES
from accelflow.reproduce import Scenario, load, names, reasons, targets
from accelflow.reproduce.implications import (
    CONTRADICTION,
    IMPLIED,
    PROOFS,
    READING,
    Range,
    page,
    proof,
    statements,
)
from accelflow.reproduce.reasons import read_reason

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PAGE = RESULTS / "what-the-paper-implies.md"

# Loading and saving 64 KB at 10 ns + 100 GB/s each, over 10 us of a core at 3.5x.
LOADING = 2 * (0.010 + 65.536e3 / 100e9 * 1e6) / (10 / 3.5)
TCP = 0.256 / 3.5
ENTRY = 2 * (0.010 + 2.048e3 / 100e9 * 1e6) / (10 / 3.5)

# Shares of Non-acc's power that are drawn at rest.
AT_MAXIMUM = (8.3 * 0.207 - 8.3 / 7.2) / (8.3 * 0.207 - 1)
AT_PRODUCTION = (0.26 - 0.207) / 0.793

#: By proof: the bound, worked out here once more, and a figure that would be consistent.
RULED_OUT: dict[str, tuple[float, dict[str, float]]] = {
    "accelerators_do_not_dominate": (
        0.256 / 3.5 + 0.146 / 6.6 + 0.032 / 20.5 + 0.224 / 3.8 + 0.095 / 4.1 + 0.039 / 8.1,
        {"application": 0.15},
    ),
    "ldb_busy_at_all": (8 * (0.039 / 8.1 / TCP + ENTRY / 2), {"ldb_used": 0.55}),
    "encr_is_no_long_operation": ((0.146 / 6.6) / (0.224 / 3.8), {"encr_share": 0.40}),
    "encr_elements_beside_tcp": (
        0.92 * (0.146 / 6.6 / TCP + LOADING) / 2,
        {"encr_used": 0.30},
    ),
    "rpc_elements_beside_tcp": (0.92 * (0.032 / 20.5 / TCP + LOADING), {"rpc_used": 0.40}),
    "ser_elements_beside_tcp": (0.92 * (0.224 / 3.8 / TCP + LOADING) / 2, {"ser_used": 0.50}),
    "cmp_elements_beside_tcp": (0.92 * (0.095 / 4.1 / TCP + LOADING) / 2, {"cmp_used": 0.30}),
    "ldb_elements_beside_tcp": (0.92 * (0.039 / 8.1 / TCP + LOADING / 2), {"ldb_used": 0.20}),
    "application_needs_more_cores": (
        (
            7.36 / (1 + LOADING) * 3.5
            + (2 * 8 * 0.82 - 7.36 * LOADING) * 6.6
            + (8 * 0.68 - 7.36 * LOADING) * 20.5
            + (2 * 8 * 0.73 - 7.36 * LOADING) * 3.8
            + (2 * 8 * 0.38 - 7.36 * LOADING) * 4.1
            + (8 * 0.71 - 7.36 * LOADING / 2) * 8.1
        )
        * 0.207
        / 0.793,
        {"cores": 64.0},
    ),
    "deadlines_beyond_tcp": (1 / 0.92, {"deadline_gain": 1.05}),
    "deadlines_beyond_tcp_and_cores": (
        (36 + 28) / (0.207 + 0.256) / (0.92 * 28 / 0.256),
        {"deadline_gain": 1.3},
    ),
    "four_elements_need_cores": (
        (8 * 0.92 * 0.89 - 4) * 3.5
        + 2 * (8 * 0.82 * 0.89 - 4) * 6.6
        + (8 * 0.68 * 0.89 - 4) * 20.5
        + 2 * (8 * 0.73 * 0.89 - 4) * 3.8
        + (8 * 0.71 * 0.89 - 4) * 8.1,
        {"four_elements": 0.60},
    ),
    "two_elements_need_cores": (
        (8 * 0.92 * 0.75 - 2) * 3.5
        + 2 * (8 * 0.82 * 0.75 - 2) * 6.6
        + (8 * 0.68 * 0.75 - 2) * 20.5
        + 2 * (8 * 0.73 * 0.75 - 2) * 3.8
        + 2 * (8 * 0.38 * 0.75 - 2) * 4.1
        + (8 * 0.71 * 0.75 - 2) * 8.1,
        {"two_elements": 0.30},
    ),
    "encr_denials_with_four": (1 - 4 / (8 * 0.82), {"denied_four": 0.45}),
    "encr_denials_with_two": (1 - 2 / (8 * 0.82), {"denied_two": 0.75}),
    "denials_and_misses": (0.82 / (2 / (8 * 0.61)), {"missed_four": 0.005}),
    "relief_manager_is_saturated": (1e3 / (87 * 1.5), {"manager_us": 0.15}),
    "relief_manager_for_all_services": (1e3 / (245 * 1.5), {"manager_us": 0.15}),
    "energy_and_performance_per_watt": (
        8.3 * 13.4 * ((1 - AT_MAXIMUM) / AT_MAXIMUM) / ((1 - AT_PRODUCTION) / AT_PRODUCTION),
        {"energy_saved": 0.42},
    ),
    "cpu_centric_overhead_and_mean": (0.25, {"mean_over_cpu_centric": 0.20}),
    "relief_overhead_and_mean": (0.15, {"mean_over_relief": 0.10}),
    "per_watt_at_the_same_load": (1 / 0.26, {"per_watt": 3.8}),
}

#: By proof: the value that follows, worked out here once more.
FOLLOWS: dict[str, float] = {
    "rpc_busy_needs_loading": 0.68 / 8 - 0.032 / 20.5 / TCP,
    "tcp_on_cores_with_four": 1 - 4 / (8 * 0.92 * 0.89),
    "tcp_on_cores_with_two": 1 - 2 / (8 * 0.92 * 0.75),
    "ideal_uses_all_of_tcp": 0.92 / 0.92,
    "relief_gains_nothing_from_speed": (36 / 0.207 / 3.9) / (0.92 * 28 / 0.256 / 2.2),
    "non_acc_is_far_from_busy": 64 / (0.207 + 0.256) / 36 / 8.3,
    "relief_waits_at_low_load": 0.9 / 0.978 / 0.449,
    "time_of_an_operation": 13.5,
    "time_of_a_dispatch": 13.5 * 0.022 / 0.978 * 2400 / 18,
    "dispatcher_at_worst": 54.0,
    "non_acc_waits": (
        0.207 + 0.256 / 3.5 + 0.146 / 6.6 + 0.032 / 20.5 + 0.224 / 3.8 + 0.095 / 15.2 + 0.039 / 8.1
    )
    / 0.228,
    "crossings_of_a_tail": 0.45 / (40 / 2400),
    "crossings_of_two_chiplets": 1 - (0.14 / 60) / (0.45 * 1.14 / 40),
    "fallbacks_of_a_request": 245 / 8,
    "waits_that_fill_a_queue": 64 / (13.4e3 * 245 / 6) * 1e6,
    "tails_are_narrow": 1.357,
    "power_at_the_maximum": 8.3 / 7.2,
    "power_at_rest": (0.26 - 0.207) / 0.793,
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "accelflow", "reproduce", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


# Proofs.


def test_every_proof_is_worked_out_here() -> None:
    kinds = {one.name: one.kind for one in PROOFS}
    assert len(kinds) == len(PROOFS)
    assert {name for name, kind in kinds.items() if kind != IMPLIED} == set(RULED_OUT)
    assert {name for name, kind in kinds.items() if kind == IMPLIED} == set(FOLLOWS)
    assert {CONTRADICTION, READING} <= set(kinds.values())


@pytest.mark.parametrize("name", RULED_OUT)
def test_a_bound_rules_the_printed_figure_out_and_not_a_consistent_one(name: str) -> None:
    bound, consistent = RULED_OUT[name]
    found = proof(name).found()
    assert found.bound.value == pytest.approx(bound, rel=1e-9)
    assert found.bound.low <= found.bound.value <= found.bound.high
    assert found.rules_out
    assert not proof(name).found(consistent).rules_out


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows(name: str) -> None:
    found = proof(name).found()
    assert found.bound.value == pytest.approx(FOLLOWS[name], rel=1e-9)
    assert found.bound.low < found.bound.value < found.bound.high
    assert not found.rules_out


def test_proofs_name_rows_that_exist_and_what_they_rest_on() -> None:
    for one in PROOFS:
        assert all(f"accelflow.{row}" in targets() for row in one.rows), one.name
        assert one.rests_on or not one.reading or one.inputs, one.name
        assert bool(one.reading) == (one.kind == READING), one.name
        assert len(set(one.inputs)) == len(one.inputs), one.name


def test_a_proof_has_the_inputs_that_it_names_and_no_others() -> None:
    class Watched(dict[str, Range]):
        def __init__(self, content: dict[str, Range]) -> None:
            super().__init__(content)
            self.read: set[str] = set()

        def __getitem__(self, key: str) -> Range:
            self.read.add(key)
            return super().__getitem__(key)

    for one in PROOFS:
        figures = Watched({key: statements()[key].figure for key in one.inputs})
        one.bound(figures)
        if callable(one.figure):
            one.figure(figures)
        elif one.figure:
            figures[one.figure]
        assert figures.read == set(one.inputs), one.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="proof = 'nonsense': must be accelerators_do"):
        proof("nonsense")
    with pytest.raises(InputError, match="deadlines_beyond_tcp: 'cores' is not an input; inputs"):
        proof("deadlines_beyond_tcp").found({"cores": 1.0})


def test_bounds_of_elements_hold_of_the_simulator() -> None:
    """The simulator loads and saves data too: what no server can do, it does not do either."""
    definition = load("fig12")
    high = definition.points[-1]
    wanted = Scenario().experiment("accelflow", definition.setup, high, 600, 1)
    used = simulation.run(wanted, threads=1)["systems"][0]["services"][0]
    busy = used["accelerator_utilization"]
    tcp = busy["TCP"]
    assert tcp > 0.1
    for kind, accelerators in (
        ("encr", ("Encr", "Decr")),
        ("rpc", ("RPC",)),
        ("ser", ("Ser", "Dser")),
        ("cmp", ("Cmp", "Dcmp")),
        ("ldb", ("LdB",)),
    ):
        mean = math.fsum(busy[name] for name in accelerators) / len(accelerators)
        bound = proof(f"{kind}_elements_beside_tcp").found({"tcp_used": 1.0}).bound
        assert 0.0 < mean / tcp < bound.high, kind


# Printed figures.


def test_a_printed_figure_is_all_that_is_rounded_to_it() -> None:
    found = Range.printed(Decimal("0.680"))
    assert (found.low, found.value, found.high) == pytest.approx((0.6795, 0.68, 0.6805))
    assert Range.printed(Decimal("3.5")).high == pytest.approx(3.55)
    assert Range.printed(Decimal("87")).low == pytest.approx(86.5)


def test_operations_on_ranges_contain_every_outcome() -> None:
    one, other = Range(1.0, 2.0, 3.0), Range(-1.0, 1.0, 4.0)
    assert one + other == Range(0.0, 3.0, 7.0)
    assert one - other == Range(-3.0, 1.0, 4.0)
    assert one * other == Range(-3.0, 2.0, 12.0)
    assert 6 / one == Range(2.0, 3.0, 6.0)
    assert 1 - one == Range(-2.0, -1.0, 0.0)
    assert (1 - one).at_least(-0.5) == Range(-0.5, -0.5, 0.0)
    with pytest.raises(ZeroDivisionError):
        one / other


def test_statements_are_those_of_the_reported_rows() -> None:
    for one in statements().values():
        assert one.quote, one.key
        assert one.section, one.key
        if one.row:
            row = f"accelflow.{one.row}"
            assert one.figure.value == targets()[row].value
            assert one.printed == printed_figures()[row]
    used = {key for one in PROOFS for key in one.inputs}
    assert used == set(statements()), "statements that no proof uses"


# The page.


def test_the_committed_page_is_what_is_generated() -> None:
    assert page(PROOFS) == PAGE.read_text(encoding="utf-8"), (
        "run: accelflow reproduce --implications docs/results/what-the-paper-implies.md"
    )


def test_the_page_links_to_its_headings() -> None:
    text = page(PROOFS)
    for one in PROOFS:
        assert f"### {one.title}\n\n`{one.name}`" in text
    anchors = [line.split("](#")[1].split(")")[0] for line in text.splitlines() if "](#" in line]
    assert len(anchors) == len(set(anchors)) == len(PROOFS)
    headings = {
        "".join(sign for sign in line[4:].lower() if sign.isalnum() or sign in " -_").replace(
            " ", "-"
        )
        for line in text.splitlines()
        if line.startswith("### ")
    }
    assert set(anchors) == headings


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    place = tmp_path / "page.md"
    assert run("--implications", str(place)).returncode == 0
    assert place.read_text(encoding="utf-8") == page(PROOFS)
    done = run("--implications", str(place), "fig11")
    assert done.returncode == 2
    assert (
        "EXPERIMENT = 'fig11': must be left out with --implications, which simulates nothing"
        in done.stderr
    )
    done = run("--implications", "/dev/null/page.md")
    assert done.returncode == 2
    assert (
        "--implications = '/dev/null/page.md': must be in a folder that can be written"
        in done.stderr
    )


# Reasons.


#: Rows with another definition that a table gives.
BY_TABLES = {
    "accelflow.area_mm2.orchestration_share",
    "accelflow.branchy_sequences.TrainTicket",
}


def measures_shown() -> dict[str, set[str]]:
    """The other definitions beside each row of the experiments and of the three other papers."""
    shown = {
        row.target: {one.row.measure for one in row.also}
        for name in names()
        for row in load(name).rows
    }
    for paper in ("accelerometer", "arcus", "cerebros"):
        stored = json.loads((RESULTS / paper / "results.json").read_text(encoding="utf-8"))
        for finding in stored["findings"]:
            shown[finding["key"]] = {one["says"] for one in finding["also"]}
    return shown


def test_every_reason_has_a_class_and_what_the_class_needs() -> None:
    shown = measures_shown()
    assert {one.kind for one in reasons().values()} <= set(CLASSES)
    for row, one in reasons().items():
        if one.kind == "definition":
            assert set(one.measures) <= shown[row], row
            assert one.measures or row in BY_TABLES, row
        if one.kind == "contradiction":
            assert any(proof(name).found().rules_out for name in one.proofs), row
    for name in names():
        definition = load(name)
        for check in definition.checks:
            if check.why_not and check.why_not.kind == "definition":
                assert set(check.why_not.measures) <= set(definition.measures), check.says
                assert check.why_not.measures or check.also, check.says


GOOD = {"class": "open", "text": "Nobody knows."}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a text", "x = 'a text': must be a table with class"),
        (
            {"text": "y"},
            "x: class is left out: must be contradiction, definition, not_printed or open",
        ),
        (
            {**GOOD, "class": "guess"},
            "x: class = 'guess': must be contradiction, definition, not_printed or open",
        ),
        ({"class": "open"}, "x: text is left out: must be given"),
        ({**GOOD, "text": " "}, "x: text = ' ': must be a sentence"),
        ({**GOOD, "input": "z"}, "x: key = 'input': must be one of class, text"),
        (
            {**GOOD, "class": "not_printed"},
            "x: input is left out: must be given, since class = 'not_printed'",
        ),
        ({**GOOD, "choices": "all"}, "x: choices = 'all': must be a list of names"),
        (
            {**GOOD, "class": "not_printed", "input": "z", "implied": ["deadlines_beyond_tcp"]},
            "x: implied = 'deadlines_beyond_tcp': must be a proof of a",
        ),
        (
            {**GOOD, "class": "definition", "measures": []},
            "x: measures = []: must have at least one name",
        ),
        (
            {**GOOD, "class": "definition", "measures": ["p98"]},
            "x: measures = 'p98': must be",
        ),
        (
            {**GOOD, "class": "contradiction"},
            "x: proofs is left out: must be given, since class = 'contradiction'",
        ),
        ({**GOOD, "proofs": "all"}, "x: proofs = 'all': must be a list of names"),
        ({**GOOD, "proofs": ["none"]}, "x: proofs or implied: proof = 'none': must be"),
        (
            {**GOOD, "class": "contradiction", "proofs": ["power_at_rest"]},
            "x: proofs = 'power_at_rest': must be a proof that rules a figure out",
        ),
        (
            {**GOOD, "class": "contradiction", "proofs": ["deadlines_beyond_tcp"]},
            "x: proofs = 'deadlines_beyond_tcp': must include a proof about",
        ),
    ],
)
def test_what_a_reason_may_not_say(content: object, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_reason(content, "x", "throughput.vs_RELIEF")
    assert said in str(refused.value)


def test_a_reason_reads_with_its_class_first() -> None:
    content = {
        "class": "not_printed",
        "text": "It depends.",
        "input": "the time-out",
        "holds_at": "2 ms",
        "proofs": ["power_at_rest"],
    }
    reason = read_reason(content, "x")
    assert reason == Reason(
        kind="not_printed",
        text="It depends.",
        proofs=("power_at_rest",),
        missing="the time-out",
        holds="at 2 ms",
    )
    assert reason.sentence() == (
        "*not printed*: The paper does not state the time-out. It depends. "
        "The row would agree, within a quarter, at 2 ms. Proof: `power_at_rest`."
    )
    assert reason.to_dict()["class"] == "not_printed"
    assert reason.to_dict()["input"] == "the time-out"
