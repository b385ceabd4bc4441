"""Recipe, loop, schedule and checkpoint."""
