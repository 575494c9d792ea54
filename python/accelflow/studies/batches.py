"""Batches: groups of simulations that a worker receives together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from accelflow.scenario import Scenario
from accelflow.studies.tasks import Task

__all__ = ["Batch", "batched"]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch of a study's simulations, which a worker receives together.

    `scenarios` has a pair (key, scenario) for each; the key identifies the simulation in the
    study's folder. `recording` is the text of the recording that all of them use, or None.
    """

    scenarios: tuple[tuple[str, Scenario], ...]
    recording: str | None

    @property
    def keys(self) -> list[str]:
        """The keys of the simulations in the batch, which identify them in the study's folder."""
        return [key for key, _ in self.scenarios]


def batched(found: Iterable[Task], size: int) -> Iterator[Batch]:
    """Group the simulations in `found` into batches of at most `size`, in order.

    All simulations of a batch use the same recording of costs.
    """
    group: list[Task] = []
    for task in found:
        if group and (len(group) == size or task.recording != group[0].recording):
            yield _batch(group)
            group = []
        group.append(task)
    if group:
        yield _batch(group)


def _batch(group: list[Task]) -> Batch:
    scenarios = tuple((task.key, task.scenario) for task in group)
    return Batch(scenarios=scenarios, recording=group[0].recording)
