"""Maps that bpftrace prints several times: each size counts once."""

from pathlib import Path

import pytest

from accelflow import InputError
from accelflow.accelerometer import Range
from accelflow.accelerometer.files import read_question
from accelflow.accelerometer.histograms import read_histogram

#: What a script counts in a second: offloads by the two bins of their sizes.
SECOND = (40, 60)


def printed(*prints: tuple[int, int]) -> str:
    """The output of a script that prints the map @bytes with these counts, one after another."""
    return "".join(
        f"@bytes:\n[64, 128)  {small} |@@|\n[1K, 2K)  {large} |@@|\n\n" for small, large in prints
    )


def written(folder: Path, text: str) -> Path:
    path = folder / "sizes.txt"
    path.write_text(text)
    return path


def refused(folder: Path, text: str, prints: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_histogram(written(folder, text), prints=prints)
    return str(caught.value)


def test_a_map_that_nothing_clears_counts_each_size_once(tmp_path: Path) -> None:
    # interval:s:1 { print(@bytes) } for 10 s, and the print at exit.
    seconds = [*range(1, 11), 10]
    text = printed(*[(SECOND[0] * n, SECOND[1] * n) for n in seconds])
    found = read_histogram(written(tmp_path, text), prints="cumulative")
    assert found.count == 10 * sum(SECOND)
    assert found.sizes == read_histogram(written(tmp_path, printed((400, 600)))).sizes


def test_maps_that_are_cleared_after_each_print_are_added(tmp_path: Path) -> None:
    # A count that falls each time shows that the map was cleared; the last print is at exit.
    text = printed((40, 60), (50, 55), (45, 70), (3, 1))
    path = written(tmp_path, text)
    for prints in (None, "cleared"):
        assert read_histogram(path, prints=prints).count == 324
    # Also a bin that is no longer printed falls, and an empty print shows nothing else.
    gone = printed((40, 60)) + "@bytes:\n[64, 128)  90 |@@|\n\n@bytes:\n\n" + printed((50, 70))
    assert read_histogram(written(tmp_path, gone)).count == 310


@pytest.mark.parametrize(
    "prints",
    [
        # A map that nothing clears, or a rising load; and END { print(@bytes) } before the exit.
        [(40, 60), (80, 120)],
        [(40, 60), (40, 60)],
        # A script that clears after each print, or less often than it prints.
        [(40, 60), (80, 120), (30, 50)],
    ],
)
def test_prints_of_either_kind_are_refused_unless_the_file_says_which(
    prints: list[tuple[int, int]], tmp_path: Path
) -> None:
    text = printed(*prints)
    assert (
        f"prints is left out: must be cumulative or cleared, as @bytes is printed {len(prints)}"
        " times" in refused(tmp_path, text)
    )
    cleared = read_histogram(written(tmp_path, text), prints="cleared")
    assert cleared.count == sum(map(sum, prints))


def test_prints_that_contradict_what_the_file_says_are_refused(tmp_path: Path) -> None:
    text = printed((40, 60), (80, 120), (90, 119))
    message = refused(tmp_path, text, "cumulative")
    assert "prints = 'cumulative': must be cleared, as a count of @bytes falls" in message
    assert "from print 2 to the next" in message
    message = refused(tmp_path, text, "cumulated")
    assert "prints = 'cumulated': must be cumulative or cleared, did you mean" in message


def test_a_kernel_says_what_the_prints_of_its_histogram_are(tmp_path: Path) -> None:
    written(tmp_path, printed((40, 60), (80, 120)))
    path = tmp_path / "service.toml"
    text = """
    host_ghz = 2.0
    [[kernels]]
    threading = "sync"
    kernel_share_ratio = 0.2
    histogram = { file = "sizes.txt", seconds = 2, prints = "cumulative" }
    """
    for prints, rate in (("cumulative", 100), ("cleared", 150)):
        path.write_text(text.replace("cumulative", prints))
        (kernel,) = read_question(path).service.kernels
        assert isinstance(kernel.offloads_per_s, Range)
        assert kernel.offloads_per_s.mean == rate
    path.write_text(text.replace('"cumulative"', "1"))
    with pytest.raises(InputError, match=r"histogram\.prints = 1: must be a string"):
        read_question(path)
