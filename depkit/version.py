"""The version, below everything that writes it into its results."""

__version__ = "0.1.0"
