"""What a wall looks like, whoever draws it: where the tiles lie, and what they say."""
