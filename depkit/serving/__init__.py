"""Models over files of any number and size."""
