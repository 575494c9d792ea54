"""Reports in Chromium: nothing is asked of a network, plots answer, tables sort, all can read."""

import io
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from PIL import Image, ImageChops, ImageFilter, ImageStat

import accelflow
from accelflow.cli import program
from accelflow.page import write_page
from accelflow.report.page import comparison_page
from accelflow.report.results import Comparison
from browser import NEEDED, Opened, chromium
from conftest import ROOT

HOSTILE = '<script>document.title="taken"</script>\'"&\N{RIGHT-TO-LEFT OVERRIDE}\N{PILE OF POO}'
#: The rules of WCAG 2.2, levels A and AA, and what axe's authors advise.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with every plot: samples, several seeds, and fallbacks."""
    found = accelflow.compare(
        "socialnetwork",
        profile="paper",
        requests=500,
        services=["CPost", "UniqId"],
        orchestrators=["relief", "accelflow", "ideal"],
        config={"instances.Cmp": 0},
        seeds=2,
        samples=True,
        use_over_time=True,
        loads=[0.5, 3.0],
    )
    page = comparison_page(found, "accelflow compare socialnetwork --profile paper")
    file = tmp_path_factory.mktemp("report") / "page.html"
    write_page(page, file)
    return file


@pytest.fixture(scope="module")
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    opened = Opened(browser, report)
    yield opened
    opened.close()


def test_a_missing_browser_fails_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(NEEDED, "1")
    with pytest.raises(pytest.fail.Exception, match="scripts/install-browser"), chromium():
        pass
    monkeypatch.delenv(NEEDED)
    with pytest.raises(pytest.skip.Exception, match="scripts/install-browser"), chromium():
        pass


#: Opens what is folded, and leaves six rows of each table: the others are built alike, and the
#: check of contrasts looks at every cell.
SHORTENED = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  for (const body of document.querySelectorAll("tbody")) {
    [...body.rows].slice(6).forEach((row) => row.remove());
  }
}"""


def violations(opened: Opened) -> list[str]:
    opened.page.evaluate(SHORTENED)
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = Axe().run(opened.page, options=options).response["violations"]
    return [f"{row['id']}: {node['html'][:200]}" for row in found for node in row["nodes"]]


def figure(opened: Opened, title: str) -> Any:
    return opened.page.locator("figure", has=opened.page.locator("figcaption", has_text=title))


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (1100, "dark"), (360, "light")])
def test_a_report_is_whole_quiet_and_readable(
    browser: Any, report: Path, width: int, scheme: str
) -> None:
    opened = Opened(browser, report, width=width, scheme=scheme)
    page = opened.page
    assert opened.complaints == []
    assert opened.requests == [report.as_uri()]
    figures = page.locator("figure.plot")
    assert figures.count() == 9
    assert page.locator("figure.plot[data-drawn] svg").count() == figures.count()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(opened) == []
    assert opened.requests == [report.as_uri()]
    opened.close()


def test_every_plot_says_what_it_shows(opened: Opened) -> None:
    labels = opened.page.locator("figure.plot [aria-roledescription=visualization]")
    texts = [each.get_attribute("aria-label") or "" for each in labels.all()]
    assert len(texts) == 9
    assert all(len(text) > 40 for text in texts)


def test_the_cursor_reads_percentiles(opened: Opened) -> None:
    tail = figure(opened, "How many requests")
    slider = tail.locator("input[type=range]")
    readout = tail.locator(".readout")
    before = readout.inner_text()
    assert "AccelFlow" in before
    slider.focus()
    for _ in range(5):
        opened.page.keyboard.press("ArrowLeft")
    # Five steps of a tenth of a decade below where it began.
    assert slider.get_attribute("aria-valuetext") == tail.locator("output").inner_text()
    after = readout.inner_text()
    assert after != before
    data = json.loads(tail.locator("script").text_content())["data"]
    level = json.loads(slider.get_attribute("data-values"))[int(slider.input_value())]
    rows = zip(data["name"], data["service"], data["y"], data["x"], strict=True)
    expected = [x for name, service, y, x in rows if (service, y) == ("all services", level)]
    assert [f"{x:,.1f}".removesuffix(".0") in after for x in expected] == [True] * 3


def test_the_cursor_follows_the_pointer(opened: Opened) -> None:
    tail = figure(opened, "How many requests")
    box = tail.locator("svg").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 12)
    high = int(tail.locator("input[type=range]").input_value())
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    middle = int(tail.locator("input[type=range]").input_value())
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 260)
    low = int(tail.locator("input[type=range]").input_value())
    assert high > middle > low


def test_a_plot_shows_the_service_that_is_chosen(opened: Opened) -> None:
    bars = figure(opened, "P99 by system")
    before = bars.locator(".readout").text_content()
    labels = bars.locator("svg .mark-text.role-mark text")
    every = labels.all_text_contents()
    bars.locator("select").select_option("UniqId")
    assert bars.locator(".readout").text_content() != before
    opened.page.wait_for_function(
        "([figure, text]) => "
        "figure.querySelector('.mark-text.role-mark text').textContent !== text",
        arg=[bars.element_handle(), every[0]],
    )
    assert len(labels.all_text_contents()) == 3
    rows = json.loads(bars.locator("script").text_content())["data"]
    wanted = [
        label
        for label, service in zip(rows["label"], rows["service"], strict=True)
        if service == "UniqId"
    ]
    assert sorted(labels.all_text_contents()) == sorted(wanted)


def lines_of(opened: Opened, title: str) -> list[str]:
    """The paths of the lines of a plot."""
    drawn = figure(opened, title).locator("svg .mark-line.role-mark path")
    return [each.get_attribute("d") or "" for each in drawn.all()]


def test_use_over_time_shows_the_resource_that_is_chosen(opened: Opened) -> None:
    title = "How busy a resource is over time"
    before = lines_of(opened, title)
    assert len(before) == 3
    figure(opened, title).locator("select").select_option("TCP")
    opened.page.wait_for_function(
        "([figure, path]) => "
        "figure.querySelector('.mark-line.role-mark path').getAttribute('d') !== path",
        arg=[figure(opened, title).element_handle(), before[0]],
    )
    assert len(lines_of(opened, title)) == 3


def test_curves_against_load_have_the_slo(opened: Opened) -> None:
    assert len(lines_of(opened, "Throughput against load")) == 4  # and that of the whole load
    latency = figure(opened, "P99 against load")
    assert len(lines_of(opened, "P99 against load")) == 3
    rules = latency.locator("svg .mark-rule.role-mark line")
    assert [rule.get_attribute("stroke-dasharray") for rule in rules.all()] == ["6,3"]
    data = json.loads(latency.locator("script").text_content())["data"]
    assert len(set(data["x"])) >= 4
    assert set(data["slo"]) == {1}


def column(opened: Opened, caption: str, number: int) -> list[str]:
    table = opened.page.locator("table", has=opened.page.locator("caption", has_text=caption))
    return [row.inner_text() for row in table.locator(f"tbody tr > :nth-child({number})").all()]


def test_tables_sort_by_keyboard_and_say_so(opened: Opened) -> None:
    caption = "Latencies are means"
    table = opened.page.locator("table", has=opened.page.locator("caption", has_text=caption))
    heading = table.locator("th", has_text="P99")
    heading.locator("button").focus()
    opened.page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    numbers = [float(text.replace(",", "")) for text in column(opened, caption, 4)]
    assert numbers == sorted(numbers)
    opened.page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "descending"
    falling = [float(text.replace(",", "")) for text in column(opened, caption, 4)]
    assert falling == sorted(numbers, reverse=True)
    table.locator("th button", has_text="System").click()
    assert heading.get_attribute("aria-sort") is None
    assert column(opened, caption, 1) == sorted(column(opened, caption, 1))


def test_paper_has_everything_unfolded(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, width=794)
    page = opened.page
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    # Each plot says which service it shows; what can only be moved is left out.
    chosen = page.locator("figure .controls select")
    assert chosen.count() > 0
    assert all(each.is_visible() and each.input_value() for each in chosen.all())
    assert not any(each.is_visible() for each in page.locator(".controls input").all())
    assert all(each.is_visible() for each in page.locator(".controls output").all())
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    opened.close()


#: Small pictures of the plots in grey. Blurred, so that other fonts and a shift of a pixel matter
#: little.
PICTURES = ROOT / "tests" / "data" / "pages"
SIZE = (192, 96)
BLUR = 2
#: The largest share of the ink that may be elsewhere.
MOST_ELSEWHERE = 0.16
#: Set it to write the pictures anew, after looking at the report.
WRITE = "ACCELFLOW_WRITE_PICTURES"


def picture(figure: Any) -> Image.Image:
    """The plot of a figure as a small picture of its ink: the difference from the background."""
    shot = figure.locator(".view").screenshot(animations="disabled")
    grey = Image.open(io.BytesIO(shot)).convert("L")
    ground = Image.new("L", grey.size, grey.getpixel((0, 0)))
    return ImageChops.difference(grey, ground).resize(SIZE, Image.Resampling.BOX)


def elsewhere(first: Image.Image, second: Image.Image) -> float:
    """The share of the ink of both that is at different places: 0 if they are the same."""
    blurred = [each.filter(ImageFilter.BoxBlur(BLUR)) for each in (first, second)]
    ink = sum(ImageStat.Stat(each).sum[0] for each in blurred)
    return ImageStat.Stat(ImageChops.difference(*blurred)).sum[0] / ink if ink else 0.0


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("light", 1100, "light"), ("dark", 1100, "dark"), ("phone", 360, "light")],
)
def test_plots_look_as_they_did(
    browser: Any, report: Path, name: str, width: int, scheme: str
) -> None:
    opened = Opened(browser, report, width=width, scheme=scheme)
    figures = opened.page.locator("figure.plot").all()
    found = [picture(figure) for figure in figures]
    opened.close()
    strip = Image.new("L", (SIZE[0], SIZE[1] * len(found)))
    for place, each in enumerate(found):
        strip.paste(each, (0, place * SIZE[1]))
    file = PICTURES / f"report-{name}.png"
    if os.environ.get(WRITE):
        strip.save(file, optimize=True)
    known = Image.open(file)
    assert known.size == strip.size
    boxes = [(0, place * SIZE[1], SIZE[0], (place + 1) * SIZE[1]) for place in range(len(found))]
    off = [elsewhere(known.crop(box), each) for box, each in zip(boxes, found, strict=True)]
    told = f"plots of {name} look otherwise ({off}); if they should, run with {WRITE}=1"
    assert max(off) < MOST_ELSEWHERE, told
    # Another plot, or none, is told from each.
    for each, other in itertools.combinations(found, 2):
        assert elsewhere(each, other) > MOST_ELSEWHERE
    assert all(elsewhere(each, Image.new("L", SIZE)) == 1.0 for each in found)


@pytest.mark.parametrize("busiest", [0.9, 0.008, 0.00008])
def test_ticks_of_utilisation_differ(
    browser: Any, made_up_results: dict[str, Any], tmp_path: Path, busiest: float
) -> None:
    for system in made_up_results["systems"]:
        for service in system["services"]:
            service["core_utilization"] = busiest
            service["accelerator_utilization"] = dict.fromkeys(
                service["accelerator_utilization"], 0
            )
            service["manager_utilization"] = service["dma_utilization"] = 0.0
    file = tmp_path / "page.html"
    write_page(comparison_page(Comparison.from_dict(made_up_results), "accelflow"), file)
    opened = Opened(browser, file)
    labels = figure(opened, "How busy each resource").locator("svg .role-axis-label text")
    ticks = [text for text in labels.all_text_contents() if text.endswith("%")]
    opened.close()
    assert len(ticks) == len(set(ticks)) > 3
    assert float(ticks[-1].rstrip("%")) / 100 == pytest.approx(busiest, rel=0.2)
    assert ("." in ticks[-1]) == (busiest < 0.1)


def test_hostile_names_stay_texts(
    browser: Any, made_up_results: dict[str, Any], tmp_path: Path
) -> None:
    made_up_results["workload"] = HOSTILE
    for system in made_up_results["systems"]:
        system["services"][0]["service"] = HOSTILE
        for service in system["services"]:
            service["spent_us"] = {"cpu": service["mean_us"]}
    file = tmp_path / "page.html"
    write_page(comparison_page(Comparison.from_dict(made_up_results), HOSTILE), file)
    opened = Opened(browser, file)
    assert opened.complaints == []
    assert opened.page.title().startswith("<script>")
    assert opened.page.locator("table", has_text="document.title").count() >= 1
    assert opened.page.locator("select option", has_text="document.title").count() == 2
    assert "document.title" in (
        figure(opened, "P99 by service").locator("svg").text_content() or ""
    )
    opened.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ["size", str(ROOT / "examples/sizing/socialnetwork.toml"), "--quick"],
        ["why", "UniqId", "--profile", "paper", "--requests", "1200", "--rate", "20000"],
        ["arcus", "plan", str(ROOT / "examples/arcus/ipsec.toml")],
        ["reproduce", "table4", "--budget", "ci"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_pages_of_other_commands_are_whole(
    browser: Any, tmp_path: Path, arguments: list[str]
) -> None:
    file = tmp_path / "page.html"
    done = CliRunner().invoke(program, [*arguments, "--report", str(file)])
    assert done.exit_code == 0, done.output
    opened = Opened(browser, file, width=360)
    assert opened.complaints == []
    assert opened.requests == [file.as_uri()]
    figures = opened.page.locator("figure.plot")
    assert opened.page.locator("figure.plot[data-drawn] svg").count() == figures.count() > 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()
