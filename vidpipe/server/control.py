"""What the server may ask of the run: to take up its file again, and to turn streams off and on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vidpipe.errors import UsageError


class UnknownStreamError(UsageError):
    """The run has no stream of this name."""


class Control(Protocol):
    """A run that can be changed while it goes on.

    Any thread may call; the calls are done one after the other, and each may take seconds: the
    server calls from a thread of its own, never on its loop.
    """

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Take up the configuration file as it is now.

        Returns:
            Ids of streams by what became of them: ``added``, ``removed``, ``changed``,
            ``unchanged``; and, if any couldn't begin, ``failed``: which, and why, for people.

        Raises:
            ConfigError: The file is wrong; the former one goes on.
            UsageError: There is no file, or what it asks for can't be done while the run goes on.
        """
        ...

    def enable(self, stream: str) -> None:
        """Watch a stream that is disabled; one that isn't goes on undisturbed.

        Raises:
            UnknownStreamError: There is no such stream.
            UsageError: It can't be done; the message says why.
        """
        ...

    def disable(self, stream: str) -> None:
        """Watch a stream no more, until it is enabled; the others don't notice.

        Raises:
            UnknownStreamError: There is no such stream.
            UsageError: It can't be done; the message says why.
        """
        ...

    def restart(self, stream: str) -> None:
        """End a stream, and begin it anew: a new connection, a new epoch.

        Raises:
            UnknownStreamError: There is no such stream.
            UsageError: It can't be done, as for a stream that is disabled.
        """
        ...
