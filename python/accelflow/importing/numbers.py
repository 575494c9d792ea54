"""Numbers in tables, and quantiles of many numbers in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, Decimal
from typing import Final

__all__ = ["SHARES", "Quantiles", "number", "rounded", "scaled"]

#: Neighbouring buckets differ by 1 %, so a quantile is off by at most half of that.
_GROWTH: Final = math.log(1.01)

_LIMIT: Final = 1e18

#: The digits before the point that :func:`scaled` reads.
_MOST_DIGITS: Final = 30

#: Enough digits for any time in nanoseconds, with decimals to spare.
_DECIMALS: Final = Context(prec=60, traps=[])

_EXACT: Final = 1_000

#: Below the bucket of every number above 0.
_ZERO: Final = -1_000_000

#: The shares of values for which a workload's tables of quantiles have a row.
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


def number(text: str) -> float | None:
    """Return the number in `text`; None if it is not a number from -1e18 to 1e18.

    Python's underscores and other digits than those of ASCII are not allowed.
    """
    if "_" in text or not text.isascii():
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= _LIMIT else None


def scaled(text: str, scale: int) -> int | None:
    """Return the number in `text` times `scale`, rounded to an integer; None for another text.

    The result is exact, unlike that of a float: nanoseconds since 1970 have too many digits for
    one. None is also the result for numbers of 1e30 and more.
    """
    if "_" in text or not text.isascii():
        return None
    if text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text) * scale
    value = _DECIMALS.create_decimal(text.strip())
    if not value.is_finite() or value.adjusted() >= _MOST_DIGITS:
        return None
    return round(_DECIMALS.multiply(value, Decimal(scale)))


def rounded(value: float) -> float:
    """Return `value` with six significant digits, for files that people read."""
    return float(f"{value:.6g}")


class Quantiles:
    """A distribution of non-negative numbers that are added one by one, in bounded memory.

    Quantiles are exact for up to 1,000 distinct numbers. With more, each quantile is within 0.5 %
    of the exact value. The order in which values are added does not affect quantiles.
    """

    def __init__(self) -> None:
        """Begin without values."""
        self._exact: Counter[float] | None = Counter()
        self._buckets: Counter[int] = Counter()
        self.count = 0
        self.sum = 0.0

    def add(self, value: float, count: int = 1) -> None:
        """Add `value`, which is at least 0, `count` times to the distribution."""
        self.count += count
        self.sum += value * count
        if self._exact is None:
            self._buckets[_bucket(value)] += count
            return
        self._exact[value] += count
        if len(self._exact) > _EXACT:
            for each, times in self._exact.items():
                self._buckets[_bucket(each)] += times
            self._exact = None

    @property
    def mean(self) -> float:
        """The arithmetic mean; 0 without values."""
        return self.sum / self.count if self.count else 0.0

    def at(self, share: float) -> float:
        """Return the quantile `share` (0 to 1) with six significant digits; 0 without values."""
        return self.table((share,))[0][1]

    def table(self, shares: tuple[float, ...] = SHARES) -> list[list[float]]:
        """Return a pair [share, quantile] for each of `shares`, for a file.

        `shares` are from 0 to 1, in ascending order.
        """
        exact = self._exact is not None
        counts = self._exact if self._exact is not None else self._buckets
        values = iter(sorted(counts))
        value, seen, rows = 0.0, 0, []
        for share in shares:
            rank = max(1, math.ceil(share * self.count))
            while seen < rank and seen < self.count:
                key = next(values)
                seen += counts[key]  # type: ignore[index] # a key of the counter it came from
                value = key if exact else _middle(key)
            rows.append([share, rounded(value)])
        return rows


def _bucket(value: float) -> int:
    return round(math.log(value) / _GROWTH) if value > 0 else _ZERO


def _middle(bucket: float) -> float:
    return 0.0 if bucket == _ZERO else math.exp(bucket * _GROWTH)
