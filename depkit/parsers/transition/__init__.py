"""Transition parsers: a network chooses transitions, and can read the arcs found so far."""
