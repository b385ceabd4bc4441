"""Constituency parsers: a network scores spans, and a chart decoder builds the best tree."""
