"""Parsers made of parsers: jack-knifing, ensembles, distillation."""
