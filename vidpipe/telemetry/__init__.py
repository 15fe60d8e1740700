"""What can be seen of a run from outside, for the terminal and the server alike."""
