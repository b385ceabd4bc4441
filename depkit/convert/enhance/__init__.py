"""Enhanced dependencies from basic trees by rules."""
