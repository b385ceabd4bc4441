"""The front door: one file a subcommand; argument parsing and rendering, no logic."""
