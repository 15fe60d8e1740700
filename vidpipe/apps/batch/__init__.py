"""``vidpipe batch``: recorded files, every frame exactly once, in units that can be resumed."""
