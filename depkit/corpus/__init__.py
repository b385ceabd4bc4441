"""Sentences and the files that contain them; needs only the standard library and numpy."""
