"""Training of parsers: recipe, loop, schedule and checkpoint."""
