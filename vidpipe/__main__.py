"""``python -m vidpipe``."""

from vidpipe.apps.entry import main

main()
