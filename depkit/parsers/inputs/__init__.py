"""From sentences to tensors."""
