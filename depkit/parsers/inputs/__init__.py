"""The inputs of a parser: how sentences become tensors."""
