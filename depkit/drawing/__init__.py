"""Trees and charts, drawn for terminals and as files."""
