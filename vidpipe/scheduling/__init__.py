"""Which frame goes to the model next: lanes, fairness, dispatch."""
