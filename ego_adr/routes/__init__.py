"""Routes from a clip to a label. Others are added by entry point (group ``ego_adr.routes``)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from ego_adr.errors import InputError
from ego_adr.routes.base import Route

__all__ = ["find_route", "route_names"]

_OWN = {
    "deep": "ego_adr.routes.deep:DeepRoute",
    "shallow": "ego_adr.routes.shallow:ShallowRoute",
    "single-pass": "ego_adr.routes.single_pass:SinglePassRoute",
    "cot": "ego_adr.routes.cot:ChainOfThoughtRoute",
}


def route_names() -> list[str]:
    """Every route that can be asked for, ``auto`` apart."""
    return [*_OWN, *sorted({entry.name for entry in entry_points(group="ego_adr.routes")} - set(_OWN))]


def find_route(name: str) -> Route:
    """The route of that name.

    Raises:
        InputError: when there is none; the message lists those there are.
    """
    make: Callable[[], Route]
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        make = getattr(import_module(module), attribute)
        return make()
    for entry in entry_points(group="ego_adr.routes"):
        if entry.name == name:
            make = entry.load()
            return make()
    raise InputError(f"there is no route {name!r}; the routes are auto, {', '.join(route_names())}.")
