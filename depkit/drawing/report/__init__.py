"""The report that compares systems with a gold treebank, as one HTML file."""
