"""Secrets that a test's configuration registers end with the test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def secrets_end_with_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test begin without secrets, and the next one too."""
    monkeypatch.setattr("vidpipe.runtime.logs._secrets", ())
