"""Evaluation and analysis of dependency trees; standard library and numpy only."""
