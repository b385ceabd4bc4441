"""The command line: one file per subcommand, for options and messages; no pipelines."""
