"""Machinery that knows no word of video: channels, threads, meters, logs."""
