"""From answers in any order to each stream's results in order."""
