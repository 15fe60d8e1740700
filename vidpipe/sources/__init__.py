"""Where pictures come from, and the thread that reads each."""
