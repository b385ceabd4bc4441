"""Prediction of tags, FEATS and lemmas, which every family can do."""
