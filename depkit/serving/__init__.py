"""Parsing and tagging of files of any number and size, and of texts that come over HTTP."""
