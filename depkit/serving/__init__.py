"""Parsing and tagging of files of any number and size."""
