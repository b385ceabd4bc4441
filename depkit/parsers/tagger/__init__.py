"""Taggers: UPOS, XPOS, FEATS and lemmas, a classifier a column."""
