"""Trees as drawings: arcs above words or indented text in the terminal, or an SVG picture."""
