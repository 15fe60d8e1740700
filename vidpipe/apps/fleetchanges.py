"""Changes of a run in several processes: each worker is told its part of them.

Guarantees:
    * a change that one worker refuses is let be by all, and everything goes on as it was;
    * a worker that isn't there, or dies meanwhile, begins its next life with the new share;
    * a stream that stays stays in its process; one that comes goes to the least laden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loguru import logger

from vidpipe.apps.detectors import model_path
from vidpipe.apps.keeper import START_S, Keeper
from vidpipe.apps.lives import part_of
from vidpipe.apps.messages import Answer, LetBe, Prepare, TakeUp, error_from_refusal
from vidpipe.apps.reload import Change
from vidpipe.apps.share import WorkerShare, reassigned
from vidpipe.apps.sourcing import is_endless
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.runtime.logs import registered_secrets

_GRACE_S = 25.0
"""What a change may take beyond the deadline of the streams that end: connections of events that
are made anew, frames of a stream that was ended by force, which come back from the device."""


class FleetChanges:
    """Implements ``Changeable`` for workers; one thread at a time changes, any may look.

    Attributes:
        config: What runs, in all workers together.
    """

    def __init__(
        self, keepers: Sequence[Keeper], config: Config, forget: Callable[[str], None]
    ) -> None:
        """Change nothing yet; ``forget`` is told of each stream that is gone."""
        self.config = config
        self._keepers = keepers
        self._forget = forget

    def apply(self, config: Config, change: Change) -> Sequence[str]:
        """Take up another configuration: see ``Changeable.apply``."""
        return self._change(config, change, ())

    def begin_anew(self, stream: str) -> Sequence[str]:
        """End a stream and begin it anew: see ``Changeable.begin_anew``."""
        return self._change(self.config, Change(changed=(stream,)), (stream,))

    def _change(self, config: Config, change: Change, anew: Sequence[str]) -> Sequence[str]:
        if all(keeper.done.is_set() for keeper in self._keepers):
            raise UsageError("nothing can be changed: no worker is left")
        fetch_models(config)
        able = {keeper.share.number for keeper in self._keepers if not keeper.done.is_set()}
        shares = reassigned(config, [keeper.share for keeper in self._keepers], able)
        touched = {*change.added, *change.changed, *change.removed}
        concerned = [
            (keeper, share)
            for keeper, share in zip(self._keepers, shares, strict=True)
            if touched.intersection((*keeper.share.streams, *share.streams))
        ]
        self._prepare(concerned, config, change, anew)
        answers = {keeper: self._told(keeper, config) for keeper, _ in concerned}
        finite, begun = finite_of(config), {*change.added, *change.changed}
        for keeper, share in zip(self._keepers, shares, strict=True):
            answer = answers.get(keeper, Answer())
            keeper.assign(
                share,
                config,
                finite,
                [stream for stream in share.streams if stream in begun],
                is_behind=answer is None or answer.refusal is not None,
            )
        self.config = config
        for stream in change.removed:
            self._forget(stream)
        return [wrong for answer in answers.values() if answer for wrong in answer.wrongs]

    def _prepare(
        self,
        concerned: Sequence[tuple[Keeper, WorkerShare]],
        config: Config,
        change: Change,
        anew: Sequence[str],
    ) -> None:
        """Have all of them make ready.

        Raises:
            VidpipeError: One of them refuses: none has changed anything.
        """
        asked: list[Keeper] = []
        try:
            for keeper, share in concerned:
                own = tuple(stream for stream in anew if stream in share.streams)
                part = part_of(config, share.streams)
                turn = Prepare(part, change.models, own, registered_secrets())
                asked.append(keeper)
                answer = keeper.ask(turn, START_S)
                if answer is not None and answer.refusal is not None:
                    raise error_from_refusal(answer.refusal)
        except VidpipeError:
            for keeper in asked:
                try:
                    keeper.ask(LetBe(), _GRACE_S)
                except VidpipeError as exc:
                    logger.error("{}", exc)
            raise

    def _told(self, keeper: Keeper, config: Config) -> Answer | None:
        """Have a worker take up what it has prepared; None if it isn't there, or hangs."""
        try:
            return keeper.ask(TakeUp(), 2 * config.shutdown_timeout_s + _GRACE_S)
        except VidpipeError as exc:
            logger.error("{}", exc)
            return None


def fetch_models(config: Config) -> None:
    """Fetch the models in use: once, and not by all workers at the same time.

    Raises:
        FetchError: One can't be fetched.
        ModelError: The zoo has no such model.
    """
    for name in dict.fromkeys(stream.model for stream in config.streams if stream.enabled):
        model_path(name, config.models[name], config.cache_dir)


def finite_of(config: Config) -> list[str]:
    """Return the ids of the streams that come to an end by themselves: read once, and recorded."""
    return [
        stream.id
        for stream in config.streams
        if not (is_endless(stream) or stream.loop or stream.kind == "synthetic")
    ]
