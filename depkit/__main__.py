"""python -m depkit"""

from depkit.cli.main import main

main()
