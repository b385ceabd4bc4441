"""Raw text: reading it, cutting it into sentences and words."""
