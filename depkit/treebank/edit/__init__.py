"""Rewriting of treebanks by the rules of Grew; see `rules` for the language."""
