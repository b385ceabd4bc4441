"""Sentences and the files they live in; standard library and numpy only."""
