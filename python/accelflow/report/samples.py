"""Single requests of a comparison as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Sampled", "samples_table"]

#: The single requests of one service under one system, from the simulator: the system's index in
#: the results, the service's name, and columns of 8-byte values by name. The column ``request`` has
#: the requests' indices, and the others have times in us.
Sampled = tuple[int, str, list[tuple[str, bytes]]]


def samples_table(
    by_seed: Mapping[int, Sequence[Sampled]], systems: Sequence[str], system: str
) -> pa.Table:
    """Return an Arrow table with a row for each single request under `system`.

    `by_seed` has the simulator's samples of each seed. `systems` are the identifiers of all systems
    in the order of the results. The columns are ``system``, ``service``, ``seed``, ``request``,
    ``arrival_us``, ``response_us`` and the parts of the response time in us.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    services = list(dict.fromkeys(service for found in by_seed.values() for _, service, _ in found))
    batches = []
    for seed, found in by_seed.items():
        for place, service, columns in found:
            if systems[place] != system:
                continue
            rows = len(columns[0][1]) // 8
            arrays = {
                "system": _repeated(place, systems, rows),
                "service": _repeated(services.index(service), services, rows),
                "seed": pa.repeat(pa.scalar(seed, pa.uint64()), rows),
            }
            for name, values in columns:
                kind = pa.uint64() if name == "request" else pa.float64()
                buffers = [None, pa.py_buffer(values)]
                arrays[name] = pa.Array.from_buffers(kind, rows, buffers)
            batches.append(pa.RecordBatch.from_pydict(arrays))
    return pa.Table.from_batches(batches)


def _repeated(place: int, names: Sequence[str], rows: int) -> pa.DictionaryArray:
    """Return a dictionary-encoded column with the name at the index `place` in every row."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    codes = pa.repeat(pa.scalar(place, pa.int32()), rows)
    return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
