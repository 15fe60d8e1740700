"""The HTTP server: health, metrics, and what every stream is doing."""
