"""Raw text: reading it, and splitting it into sentences, tokens and words."""
