"""Measuring a configuration on its own sources and model: ``vidpipe bench``."""
