"""Parsers made of parsers: jack-knifing and ensembles."""
