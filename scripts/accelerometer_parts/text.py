"""Numbers of the page as text."""

from collections.abc import Mapping, Sequence
from typing import Any

Of = Mapping[str, Any]


def gain(ratio: float) -> str:
    """A ratio as a gain in per cent."""
    return f"{100 * (ratio - 1):.2f} %"


def over(of: Of, digits: int = 0) -> str:
    """A median over rounds, with the ends of its interval."""
    if of["low"] is None:
        return f"{of['median']:,.{digits}f}"
    return f"{of['median']:,.{digits}f} ({of['low']:,.{digits}f} to {of['high']:,.{digits}f})"


def gain_over(of: Of) -> str:
    """A median ratio as a gain in per cent, with the ends of its interval."""
    median, low, high = (
        None if of[key] is None else 100 * (of[key] - 1) for key in ("median", "low", "high")
    )
    if low is None or high is None:
        return f"{median:.1f} %"
    return f"{median:.1f} % ({low:.1f} to {high:.1f})"


def points_over(of: Of) -> str:
    """A median error in points, with the ends of its interval."""
    if of["low"] is None:
        return f"{of['median']:+.1f}"
    return f"{of['median']:+.1f} ({of['low']:+.1f} to {of['high']:+.1f})"


def between(values: Sequence[float], digits: int = 0) -> str:
    """The range of `values`."""
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low} to {high}"


def anchor(title: str) -> str:
    """A heading's place on the page."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def queue_text(run_queue: Sequence[float]) -> str:
    """The machine's load before and after a measurement."""
    return f"run queue {run_queue[0]:.1f} before and {run_queue[-1]:.1f} after"


def build_command(build: str, package: str, example: str) -> tuple[str, str]:
    """The command that compiles a benchmark, and its program."""
    profile, folder = ("", "debug") if build == "dev" else (" --profile extension", "extension")
    return (
        f"cargo build{profile} -p {package} --example {example}",
        f"target/{folder}/examples/{example}",
    )


#: How a benchmark was compiled.
BUILDS = {"dev": "development (`opt-level = 1`)", "release": "extension"}
