"""``python -m vidpipe``."""

from vidpipe.apps.cli import main

main()
