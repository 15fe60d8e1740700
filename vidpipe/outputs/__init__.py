"""Where results go: sinks, each with a lane and a thread of its own."""
