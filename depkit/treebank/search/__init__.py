"""Search for tree patterns in the language of Grew; see `pattern_parser` for the language."""
