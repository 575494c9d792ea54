"""AccelFlow and its companion papers on one server: the effect of each idea, alone and combined.

:func:`compare` simulates SocialNetwork's eight services on AccelFlow's server, with Cerebros's RPC
processor and ARCUS's limits. Beside the simulation are Accelerometer's closed form and, if
:func:`accelflow.companions.together.live.measure` has measured one, a live server. :func:`write`
writes the page.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.companions.together.beside import beside
from accelflow.companions.together.page import markdown
from accelflow.companions.together.simulated import base_server, effects, rows, runs
from accelflow.errors import file_path, unwritable, whole_number
from accelflow.files import write_whole

__all__ = ["REPLICATIONS", "REQUESTS", "SCHEMA", "compare", "markdown", "write"]

#: The name and version of the object that :func:`compare` returns.
SCHEMA: Final = "accelflow.together/2"

#: The default number of seeds of each mean.
REPLICATIONS: Final = 10
#: The default number of requests of each service in a simulation.
REQUESTS: Final = 2_000


def compare(
    *,
    seed: int = 1,
    threads: int = 1,
    requests: int = REQUESTS,
    replications: int = REPLICATIONS,
    live: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Compare AccelFlow, and AccelFlow with Cerebros and ARCUS added, on one simulated server.

    The server runs SocialNetwork's eight services. The systems and loads are those of
    :mod:`accelflow.companions.together.systems`. Under the load ``even`` each service has the
    paper's mean rate. Under ``flood`` one tenant sends twelve times as much.

    Each of ``rows`` has a system's means over `replications` seeds from `seed` on, with half the
    width of their 95 % intervals, and the values of the closed-form model. ``effects`` has a ratio
    for each addition to a system: P99 without the addition divided by P99 with it, where P99 is the
    mean over the seven services of the tenants that do not flood. The additions are AccelFlow,
    Cerebros (without and with ARCUS), and ARCUS (without and with Cerebros). If `live` is a result
    of :func:`accelflow.companions.together.live.measure`, ``live`` compares this live server with
    its simulation and with the closed-form model. Raises InputError for counts that are not
    allowed.
    """
    whole_number("requests", requests, 100, 10_000_000)
    whole_number("replications", replications, 1, 1_000)
    counts = {"seed": seed, "replications": replications, "requests": requests, "threads": threads}
    setup = base_server()
    found = runs(setup, **counts)
    measured = {} if live is None else {"live": beside(live, **counts)}
    return {
        "schema": SCHEMA,
        "seed": seed,
        "replications": replications,
        "requests": requests,
        "flood_ratio": setup.flood,
        "promised_ratio": setup.promised,
        "rows": rows(setup, found),
        "effects": effects(found),
        **measured,
    }


def write(result: Mapping[str, Any], directory: str | PathLike[str]) -> list[Path]:
    """Write `together.md`, `together.json` and the picture to `directory`; returns their paths.

    All files are complete before the first appears. Raises InputError if writing a file fails.
    """
    directory = file_path("directory", directory)
    from accelflow.companions.together.picture import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_picture,
    )

    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".together-", dir=directory) as scratch:
            pictures = write_picture(result, Path(scratch) / "together")
            texts = {
                "together.md": markdown(result, pictures[0].name),
                "together.json": json.dumps(result, indent=1) + "\n",
            }
            for name, text in texts.items():
                (Path(scratch) / name).write_text(text, encoding="utf-8")
            made = [*texts, *(path.name for path in pictures)]
            for name in made:
                write_whole(directory / name, (Path(scratch) / name).replace)
    except OSError as error:
        raise unwritable("--out", directory, error) from error
    return [directory / name for name in made]
