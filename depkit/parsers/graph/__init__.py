"""Graph-based parsers: a network scores arcs and labels, and a decoder builds the best tree."""
