"""The chips that a command's options ``--chip`` and ``--set`` select."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accelflow import chip
from accelflow.chips import find_chip, named_chips
from accelflow.cli.assignments import read_assignments
from accelflow.errors import refused
from accelflow.parameters import configured, engine, parameters
from accelflow.simulation import Scenario

__all__ = ["Sized", "chosen_chips", "chosen_config", "is_size", "sized"]

#: Parameters of the simulated server: numbers by key.
Config = dict[str, float]


def chosen_config(
    place: str | None,
    changes: Mapping[str, float | str],
    base: Mapping[str, float] | None = None,
) -> Config:
    """Return the server's parameters, combined from `base`, a chip and the option --set.

    A later one of these three overrides an earlier one. `place` is the chip, a file or a name
    (None: no chip), and `changes` are the values of --set, by key. A value of the chip is left out
    if it equals the value in `base`, or the default if `base` lacks the parameter. Raises
    InputError for a chip that cannot be read and for changes that are not allowed.
    """
    base = base or {}
    config = configured(find_chip(place).config) if place is not None else {}
    return {**base, **_changed(config, base), **configured(changes, "--set ")}


def chosen_chips(
    base: Scenario, places: Sequence[str], changes: Mapping[str, float | str]
) -> tuple[Config, dict[str, Config]]:
    """Return the parameters that all chips share, and each chip's other parameters by chip name.

    `places` are the chips, files or names; if not empty, they replace those in `base`. `changes`
    override parameters of every chip. If `places` has exactly one chip, its parameters are part of
    the first result, and the second is empty. Raises InputError as :func:`chosen_config` does, and
    for two chips with the same name.
    """
    common = configured(base.config, "config: ")
    named = configured(changes, "--set ")
    found: dict[str, Config] = {}
    for name, config in _of_scenario(base) if not places else map(_of_file, places):
        if name in found:
            allowed = "must be the name of only one chip; `name` in a chip's file sets its name"
            raise refused("--chip", name, allowed)
        found[name] = config
    chips = {
        name: {key: number for key, number in _changed(config, common).items() if key not in named}
        for name, config in found.items()
    }
    if places and len(chips) == 1:
        (only,) = chips.values()
        return {**common, **only, **named}, {}
    return {**common, **named}, chips


def _of_scenario(base: Scenario) -> list[tuple[str, Config]]:
    return [(name, configured(config)) for name, config in named_chips(base.chips)]


def _of_file(place: str) -> tuple[str, Config]:
    chip = find_chip(place)
    return chip.name, configured(chip.config)


def _changed(config: Config, common: Mapping[str, float]) -> Config:
    """Return `config` without the values that equal the default.

    Where `common` sets a value, that value takes the place of the default.
    """
    defaults = {parameter.key: parameter.default for parameter in parameters()}
    return {
        key: number for key, number in config.items() if common.get(key, defaults[key]) != number
    }


@dataclass(frozen=True)
class Sized:
    """A chip for the area model: the model's `inputs`, by name, and a `note`.

    The note is a text on parameters that the model ignores; empty if it ignores none.
    """

    inputs: dict[str, float]
    note: str


def sized(place: str | None, changes: Sequence[str]) -> Sized:
    """Return the inputs of the area model for the chip `place`, changed by the option --set.

    `place` is a file or a name, or None for the paper's chip. `changes` are the texts of --set,
    NAME=NUMBER: each sets an input of the model or a parameter of the chip. Raises InputError for a
    chip that cannot be read, for a parameter's value that is not allowed, for a text of another
    form, and for an input that is set twice, even by two different names.
    """
    config = chosen_config(place, {})
    inputs: dict[str, float] = {}
    assigned: dict[str, str] = {}
    for name, number in read_assignments(changes).items():
        if is_parameter(name):
            change = configured({name: number}, "--set ")
            # As inputs of the model, which `changes` may name directly.
            keys = set(chip.sizes(change)) or set(change)
            config |= change
        else:
            keys = {name}
            inputs[name] = number
        for key in keys & assigned.keys():
            again = f"must not be set again: {assigned[key]} already sets the same value"
            raise refused(f"--set {name}", number, again)
        assigned |= dict.fromkeys(keys, name)
    left_out = chip.ignored(config)
    note = ""
    if left_out:
        names = ", ".join(left_out[:6]) + (", ..." if len(left_out) > 6 else "")
        note = f"not part of the model of area and power: {names}"
    return Sized(inputs={**chip.sizes(config), **inputs}, note=note)


def is_size(name: str) -> bool:
    """Return whether `name` is an input of the area model, or a parameter of the server."""
    return is_parameter(name) or any(
        name == parameter.key.removeprefix("area.") for parameter in engine("area").parameters
    )


def is_parameter(name: str) -> bool:
    """Return whether `name` is the key of a parameter of the simulated server."""
    return any(name in (parameter.key, parameter.also) for parameter in parameters())
