"""Taggers: one classifier for each of UPOS, XPOS, FEATS and lemmas."""
