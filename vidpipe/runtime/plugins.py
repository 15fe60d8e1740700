"""What other installed packages add, by entry points: found by name, loaded when it is asked for.

Guarantees:
    * nothing of a package is imported until one of its names is wanted;
    * whatever is wrong with a package (its metadata, its import, what its entry point names) harms
      only who wants a name of it, as a ``PluginError`` in plain words.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions
from inspect import isfunction

from loguru import logger

from vidpipe.errors import PluginError
from vidpipe.runtime.logs import redact

SOURCES = "vidpipe.sources"
"""Entry points by the scheme of the addresses that they open; each a ``SourcePlugin``."""
FAMILIES = "vidpipe.families"
"""By the name of the decoder; each a ``Family`` of detectors."""
SINKS = "vidpipe.sinks"
"""By the type of the output; each a ``SinkPlugin``."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """One entry point, and the package that it comes from."""

    entry: EntryPoint
    package: str


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages offer in a group, sorted; imports none of them."""
    return tuple(sorted({offer.entry.name for offer in _offers(group)}))


def load_plugin(group: str, name: str, protocol: type) -> object:
    """Import what a package offers under a name.

    Args:
        group: ``SOURCES``, ``FAMILIES`` or ``SINKS``.
        name: The entry point's name.
        protocol: What it has to be; see ``lacking``.

    Raises:
        PluginError: Nobody offers the name, or two do; or it can't be imported; or it is something
            else than the protocol asks for.
    """
    found = [offer for offer in _offers(group) if offer.entry.name == name]
    if not found:
        raise PluginError(f"no installed package offers {name!r} in the group {group}")
    if len(found) > 1:
        packages = " and ".join(offer.package for offer in found)
        raise PluginError(f"{packages} both offer {name!r} in the group {group}: uninstall one")
    offer = found[0]
    whose = f"the plugin {name} ({offer.entry.value}, of the package {offer.package})"
    try:
        plugin: object = offer.entry.load()
    except (Exception, SystemExit) as exc:
        raise PluginError(
            redact(f"{whose} can't be loaded: {type(exc).__name__}: {exc}; repair or uninstall it")
        ) from exc
    missing = lacking(plugin, protocol)
    if missing:
        raise PluginError(f"{whose} is no {protocol.__name__}: it has no {', no '.join(missing)}")
    return plugin


def lacking(candidate: object, protocol: type) -> list[str]:
    """Return which members of a Protocol an object doesn't have; methods must be callable.

    Only names are compared: what a method takes and returns shows when it is called.
    """
    missing = []
    for name, member in vars(protocol).items():
        if name.startswith("_") and name != "__call__":
            continue
        is_method = isfunction(member)
        if name == "__call__":
            has_it = callable(candidate)
        else:
            value = getattr(candidate, name, None)
            has_it = callable(value) if is_method else hasattr(candidate, name)
        if not has_it:
            missing.append("call" if name == "__call__" else f"{name}()" if is_method else name)
    return missing


def _offers(group: str) -> tuple[_Offer, ...]:
    return _offers_on(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _offers_on(group: str, path: tuple[str, ...]) -> tuple[_Offer, ...]:
    """Return a group's entry points on a path; reading all metadata takes milliseconds."""
    del path  # what the answer depends on, and the key under which it is kept
    offers: list[_Offer] = []
    seen: set[str] = set()
    for distribution in distributions():
        name, found = _read(distribution)
        # As for imports, the first of a name on the path counts.
        if name not in seen:
            seen.add(name)
            offers += [offer for offer in found if offer.entry.group == group]
    return tuple(offers)


def _read(distribution: Distribution) -> tuple[str, list[_Offer]]:
    """Return a package's name, normalised, and what it offers; nothing where it can't be read."""
    name = ""
    try:
        name = str(distribution.metadata["Name"]).lower().replace("_", "-").replace(".", "-")
        entries = [
            entry for entry in distribution.entry_points if entry.group.startswith("vidpipe.")
        ]
        package = f"{name} {distribution.version}" if entries else name
        return name, [_Offer(entry, package) for entry in entries]
    except Exception as exc:  # noqa: BLE001 - the metadata of any package on this machine
        logger.debug("the metadata of the package {} can't be read: {}", name or "?", exc)
        return name, []
