"""The version, on a leaf of its own: whatever needs it imports nothing else with it."""

__version__ = "0.1.0"
