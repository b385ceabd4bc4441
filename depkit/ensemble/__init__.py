"""Parsers made from other parsers: jack-knifing, ensembles, distillation."""
