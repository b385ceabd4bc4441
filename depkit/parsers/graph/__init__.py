"""Graph-based parsers: arcs and labels are scored, then decoded."""
