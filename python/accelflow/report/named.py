"""Access by name to the parts of results: the systems of a comparison, a system's services."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import ClassVar, Generic, TypeVar

from accelflow.errors import InputError, refused

__all__ = ["Named", "UnknownNameError"]

_Part = TypeVar("_Part")


class UnknownNameError(InputError, KeyError):
    """The error for the name of a system or service that the results do not have."""

    __str__ = Exception.__str__  # that of KeyError would put the message in quotes


class Named(Generic[_Part]):
    """A base class of results whose parts have names; it has the methods of a read-only mapping.

    The parts are systems or services. The class does not derive from `collections.abc.Mapping`,
    since libraries such as polars would then take the parts for columns and ignore the Arrow table
    that results also offer.
    """

    #: The word for a part, ``system`` or ``service``, in the error for an unknown name.
    part: ClassVar[str]

    def parts(self) -> dict[str, _Part]:
        """Return the parts, systems or services, by name and in order."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> _Part:
        known = self.parts()
        if name not in known:
            raise UnknownNameError(str(refused(self.part, name, known=known)))
        return known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.parts()

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts())

    def __len__(self) -> int:
        return len(self.parts())

    def keys(self) -> KeysView[str]:
        """Return the names of the systems or services, in order."""
        return self.parts().keys()

    def values(self) -> ValuesView[_Part]:
        """Return the results of the systems or services, in order."""
        return self.parts().values()

    def items(self) -> ItemsView[str, _Part]:
        """Return pairs of name and result of the systems or services, in order."""
        return self.parts().items()

    def get(self, name: str) -> _Part | None:
        """Return the system or service called `name`, or None if no result has this name."""
        return self.parts().get(name)
