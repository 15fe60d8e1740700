"""Changes of a run in this process, once they have been worked out."""

from __future__ import annotations

from collections.abc import Sequence

from vidpipe.apps.build import Workshop
from vidpipe.apps.engine import Engine, Phase
from vidpipe.apps.reload import Change
from vidpipe.apps.renewal import Renewal
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError


class EngineChanges:
    """Implements ``Changeable`` for an engine; one thread at a time changes, any may look.

    Attributes:
        engine: What runs.
        config: By what.
    """

    def __init__(self, engine: Engine, config: Config) -> None:
        """Change nothing yet."""
        self.engine = engine
        self.config = config

    def prepare(self, config: Config, change: Change) -> Renewal:
        """Make ready for another configuration, changing nothing yet.

        Raises:
            VidpipeError: It is refused; or nothing can be changed, as nothing runs.
        """
        if self.engine.phase is not Phase.RUNNING or self.engine.outcome.over.is_set():
            raise UsageError("nothing can be changed: the pipeline isn't running")
        assert isinstance(self.engine.plant, Workshop)
        return Renewal(self.engine, self.engine.plant, config, change)

    def take_up(self, renewal: Renewal, config: Config) -> Sequence[str]:
        """Carry a change out; return which streams couldn't begin, and why, for people.

        Raises:
            UsageError: The run is being stopped.
        """
        wrongs = renewal.commit(self.config.shutdown_timeout_s)
        self.config = config
        return wrongs

    def apply(self, config: Config, change: Change) -> Sequence[str]:
        """Do both: see ``Changeable.apply``."""
        return self.take_up(self.prepare(config, change), config)

    def begin_anew(self, stream: str) -> Sequence[str]:
        """End a stream and begin it anew: see ``Changeable.begin_anew``."""
        return self.apply(self.config, Change(changed=(stream,)))
