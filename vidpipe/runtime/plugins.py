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
from importlib.metadata import Distribution, EntryPoint, distribution, distributions
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

_PREFIX = "vidpipe."


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
    for name in sorted({name for found in distributions() if (name := _offering(found))}):
        try:
            # As for imports, the first of several copies on the path counts.
            package = distribution(name)
            entries = list(package.entry_points.select(group=group))
        except Exception as exc:  # noqa: BLE001 - the metadata of any package on this machine
            logger.debug("the metadata of the package {} can't be read: {}", name, exc)
            continue
        offers += [_Offer(entry, f"{name} {package.version}") for entry in entries]
    return tuple(offers)


def _offering(package: Distribution) -> str:
    """Return the name of a package that adds to vidpipe, or nothing for all others.

    Their metadata are not read: that takes a millisecond a package.
    """
    try:
        if f"[{_PREFIX}" in (package.read_text("entry_points.txt") or ""):
            return str(package.metadata["Name"])
    except Exception as exc:  # noqa: BLE001 - as above
        logger.debug("the metadata of a package can't be read: {}", exc)
    return ""
