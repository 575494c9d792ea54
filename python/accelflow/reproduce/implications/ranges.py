"""Ranges of numbers, for printed figures, which are rounded.

A bound that is computed from printed figures is a range, too. The bound rules out another figure
only if the two ranges do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Range"]


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`; `value` is the printed or computed number among them.

    Arithmetic on ranges gives the range of all possible results. It treats the operands as
    independent, so a result may be too wide but never too narrow.
    """

    low: float
    value: float
    high: float

    @classmethod
    def of(cls, value: float) -> Range:
        """Return the exact number `value`, such as a count, as a range of this number alone."""
        return cls(value, value, value)

    @classmethod
    def printed(cls, figure: Decimal) -> Range:
        """Return the range of numbers that round to `figure`: 0.680 is 0.6795 to 0.6805."""
        exponent = int(figure.as_tuple().exponent)
        half = Decimal(5).scaleb(exponent - 1)
        return cls(float(figure - half), float(figure), float(figure + half))

    def __add__(self, other: Range | float) -> Range:
        """Return the range of all sums."""
        other = _range(other)
        return Range(self.low + other.low, self.value + other.value, self.high + other.high)

    def __radd__(self, other: float) -> Range:
        """Return the range of all sums."""
        return self + other

    def __neg__(self) -> Range:
        """Return the range of all numbers with the opposite sign."""
        return Range(-self.high, -self.value, -self.low)

    def __sub__(self, other: Range | float) -> Range:
        """Return the range of all differences."""
        return self + -_range(other)

    def __rsub__(self, other: float) -> Range:
        """Return the range of all differences of the number `other` and this range."""
        return -self + other

    def __mul__(self, other: Range | float) -> Range:
        """Return the range of all products."""
        other = _range(other)
        ends = [left * right for left in (self.low, self.high) for right in (other.low, other.high)]
        return Range(min(ends), self.value * other.value, max(ends))

    def __rmul__(self, other: float) -> Range:
        """Return the range of all products."""
        return self * other

    def __truediv__(self, other: Range | float) -> Range:
        """Return the range of all quotients. Raises ZeroDivisionError if `other` contains 0."""
        other = _range(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"{other} contains 0")
        return self * Range(1 / other.high, 1 / other.value, 1 / other.low)

    def __rtruediv__(self, other: float) -> Range:
        """Return the range of all quotients of the number `other` and this range.

        Raises ZeroDivisionError if this range contains 0.
        """
        return Range.of(other) / self

    def at_least(self, least: float) -> Range:
        """Return this range with all numbers below `least` replaced by `least`."""
        return Range(max(self.low, least), max(self.value, least), max(self.high, least))


def _range(number: Range | float) -> Range:
    return number if isinstance(number, Range) else Range.of(number)
