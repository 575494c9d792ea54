"""Single requests of a comparison as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Sampled", "samples_table"]

#: The samples of one service under one system, as the engine gives them: orchestrator, service,
#: and columns of 8-byte values by name. `request` has whole numbers, the others microseconds.
Sampled = tuple[str, str, list[tuple[str, bytes]]]


def samples_table(by_seed: Mapping[int, Sequence[Sampled]], system: str) -> pa.Table:
    """Make an Arrow table of the samples of one system, a row for each request.

    The engine's columns are not copied: `request`, `arrival_us`, `response_us` and the parts of the
    response time. In front of them stand `system`, `service` and `seed`.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    names = pa.array([system])
    services = list(dict.fromkeys(service for found in by_seed.values() for _, service, _ in found))
    batches = []
    for seed, found in by_seed.items():
        for orchestrator, service, columns in found:
            if orchestrator != system:
                continue
            rows = len(columns[0][1]) // 8

            def repeated(place: int, names: pa.Array, rows: int = rows) -> pa.Array:
                codes = pa.repeat(pa.scalar(place, pa.int32()), rows)
                return pa.DictionaryArray.from_arrays(codes, names)

            arrays = {
                "system": repeated(0, names),
                "service": repeated(services.index(service), pa.array(services)),
                "seed": pa.repeat(pa.scalar(seed, pa.uint64()), rows),
            }
            for name, values in columns:
                kind = pa.uint64() if name == "request" else pa.float64()
                buffers = [None, pa.py_buffer(values)]
                arrays[name] = pa.Array.from_buffers(kind, rows, buffers)
            batches.append(pa.RecordBatch.from_pydict(arrays))
    return pa.Table.from_batches(batches)
