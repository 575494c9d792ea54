"""Pages as files: whole, escaped, small, and refused where they cannot be written."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import accelflow
from accelflow.page import Column, Page, Section, Table, table_html, to_html
from accelflow.page.html import embedded
from accelflow.page.library import library_javascript
from accelflow.page.plots import PALETTE
from accelflow.parameters import parameters
from accelflow.report import Comparison
from accelflow.report.curves import curves, level_text
from accelflow.report.looks import PART_COLORS, system_colors
from accelflow.report.page import comparison_page

SCRIPT = Path(sys.executable).with_name("accelflow")
HOSTILE = '<script>alert("1")</script>&\'\N{RIGHT-TO-LEFT OVERRIDE}\N{PILE OF POO}'


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )


def own_text(page: str) -> str:
    """The page without its library."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


@pytest.fixture
def comparison(made_up_results: dict[str, Any]) -> Comparison:
    return Comparison.from_dict(made_up_results)


def test_a_page_is_one_small_file_of_its_own(comparison: Comparison) -> None:
    page = to_html(comparison_page(comparison, "accelflow compare socialnetwork"))
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode()) < 3_000_000
    own = own_text(page)
    assert not re.search(r"<(?:link|img|iframe)\b|src=|@import|url\(", own)
    assert "default-src 'none'" in own
    assert "accelflow compare socialnetwork" in own
    assert accelflow.__version__ in own
    assert "SHALL THE COPYRIGHT HOLDER" in " ".join(page.split())
    # Equal results are equal bytes.
    assert to_html(comparison_page(comparison, "accelflow compare socialnetwork")) == page


def test_every_parameter_of_the_server_has_its_origin(comparison: Comparison) -> None:
    page = to_html(comparison_page(comparison))
    for parameter in parameters():
        assert f"<code>{parameter.key}</code>" in page
    assert "derived" in page
    assert "assumed" in page


def test_names_are_no_markup(made_up_results: dict[str, Any]) -> None:
    for system in made_up_results["systems"]:
        system["services"][0]["service"] = HOSTILE
    made_up_results["workload"] = HOSTILE
    own = own_text(to_html(comparison_page(Comparison.from_dict(made_up_results), HOSTILE)))
    assert "<script>alert" not in own
    assert "</script>&" not in own
    assert "&lt;script&gt;alert(&quot;1&quot;)" in own
    # Data in the page is read back as it was.
    (content, *_) = re.findall(r'<script type="application/json">(.*?)</script>', own)
    assert HOSTILE in json.dumps(json.loads(content), ensure_ascii=False).replace('\\"', '"')


def test_data_cannot_end_its_element() -> None:
    text = embedded({"name": "</script><!--\u2028&"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": "</script><!--\u2028&"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"value": float("nan")})


def test_the_largest_comparison_is_a_small_page() -> None:
    found = accelflow.compare(
        "trainticket",
        requests=100,
        orchestrators=[name for name, _ in accelflow.simulation.systems()],
        chips=["paper", "small"],
        samples=True,
    )
    page = to_html(comparison_page(found))
    assert len(page.encode()) < 3_000_000
    contents = re.findall(r'<script type="application/json">(.*?)</script>', page)
    (tail, *_) = [data for text in contents if "y" in (data := json.loads(text)["data"])]
    names = {system.label for system in found.systems}
    assert set(tail["name"]["texts"]) == names
    assert len(tail["name"]["at"]) == len(tail["x"])


def test_a_table_shows_numbers_by_their_form() -> None:
    columns = [
        Column(name="name"),
        Column(name="time", unit="us", form="number"),
        Column(name="part", form="share", digits=2),
    ]
    html = table_html(Table(caption="a & b\nc", columns=columns, rows=[["x", 1234.56, 0.5]]))
    assert "a &amp; b<br>c" in html
    assert '<td data-key="1234.56" style="text-align:right">1,234.6</td>' in html
    assert ">50.00%</td>" in html
    missing = table_html(Table(caption="", columns=columns, rows=[["x", None, None]]))
    assert missing.count("\N{EN DASH}") == 2


def test_a_page_has_text_where_there_is_no_plot(comparison: Comparison) -> None:
    own = own_text(to_html(comparison_page(comparison)))
    assert "which a file of results does not hold" in own
    assert "These results have no such data." in own


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", ["#ffffff", "#14181d"])
def test_colours_of_plots_stand_out_in_light_and_dark(
    comparison: Comparison, background: str
) -> None:
    behind = luminance(background)
    for color in {*PALETTE, *PART_COLORS.values(), *system_colors(comparison).values()}:
        low, high = sorted([luminance(color), behind])
        assert (high + 0.05) / (low + 0.05) >= 3.0, color


def test_systems_of_a_page_have_a_colour_each(comparison: Comparison) -> None:
    colors = system_colors(comparison)
    assert set(colors) == {system.label for system in comparison.systems}
    assert len(set(colors.values())) == len(colors)


@pytest.mark.parametrize(
    ("level", "text"), [(0.0, "P0"), (0.301, "P50"), (1.0, "P90"), (2.0, "P99"), (3.0, "P99.9")]
)
def test_levels_are_named_by_their_percentile(level: float, text: str) -> None:
    assert level_text(level) == text


def test_curves_are_percentiles_of_the_samples() -> None:
    found = accelflow.compare(
        "socialnetwork",
        profile="paper",
        requests=600,
        services=["UniqId", "CUrls"],
        orchestrators=["accelflow", "relief"],
        samples=True,
    )
    shown = curves(found)
    assert shown is not None
    rows = list(zip(*(shown[name] for name in ("name", "service", "y", "x")), strict=True))
    by_place = {row[:3]: row[3] for row in rows}
    for system in found.systems:
        # P90 by nearest rank, as the engine counts it; its P99 needs more than 600 requests.
        for service in system.services:
            assert system.samples is not None
            own = sorted(
                row["response_us"]
                for row in system.samples.to_pylist()
                if row["service"] == service.service
            )
            rank = -(-len(own) * 9 // 10)
            assert by_place[system.label, service.service, 1.0] == pytest.approx(
                own[rank - 1], abs=1e-3
            )
            median = by_place[system.label, service.service, 0.301]
            assert median == pytest.approx(service.p50_us, rel=0.01)
        times = [row[3] for row in rows if row[:2] == (system.label, "all services")]
        assert times == sorted(times)
        assert len(times) > 10


def test_the_page_of_a_file_of_results(tmp_path: Path, made_up_results: dict[str, Any]) -> None:
    (tmp_path / "results.json").write_text(json.dumps(made_up_results))
    done = run("report", "results.json", "--out", "page.html", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "wrote page.html\n"
    page = (tmp_path / "page.html").read_text()
    assert "AccelFlow cuts P99 by" in page
    assert "accelflow report results.json --out page.html" in page


@pytest.mark.parametrize(
    ("change", "out", "words"),
    [
        (
            {"schema": "accelflow.compare/2"},
            "page.html",
            "must be 'accelflow.compare/1', which this version reads",
        ),
        ({"systems": []}, "page.html", "results.systems = []: must have at least one entry"),
        ({}, "missing/page.html", "must be in a folder that exists"),
        ({}, "results.json/page.html", "must be in a folder that can be written"),
        ({}, ".", "'.': must be a file, not a folder"),
    ],
)
def test_a_page_that_cannot_be_is_refused(
    tmp_path: Path, made_up_results: dict[str, Any], change: dict[str, Any], out: str, words: str
) -> None:
    (tmp_path / "results.json").write_text(json.dumps(made_up_results | change))
    done = run("report", "results.json", "--out", out, folder=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json"]


def test_a_full_disk_leaves_the_old_page(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")

    def full(path: Path, *_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        comparison.write_page(page)
    monkeypatch.undo()
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_compare_refuses_a_page_before_it_simulates(tmp_path: Path) -> None:
    done = run(
        *("compare", "socialnetwork", "--profile", "paper", "--requests", "100"),
        *("--report", "missing/page.html", "--out", "out"),
        folder=tmp_path,
    )
    assert done.returncode == 2
    assert "--report = 'missing/page.html': must be in a folder that exists" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_the_plotting_library_the_message_says_how_to_get_it(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library_javascript.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(accelflow.AccelflowError, match="pip install vl-convert-python"):
        comparison.write_page(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_sections_may_be_folded() -> None:
    page = Page(title="t", question="q", answer="a", sections=[Section(title="more", folded=True)])
    assert "<details><summary><h2" in to_html(page)
    assert "<details>" not in own_text(to_html(replace(page, sections=[Section(title="more")])))


def test_a_results_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{")
    done = run("report", "results.json", "--out", "page.html", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "accelflow: error: RESULTS = 'results.json': must be a file that can be read: "
    )
