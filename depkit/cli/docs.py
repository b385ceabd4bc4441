"""`depkit docs`: writes a site that explains depkit."""

from typing import Annotated

from depkit.cli import options
from depkit.cli.help import OUTPUT, option
from depkit.cli.output import print_message


def docs_command(
    *,
    output: Annotated[
        str, option(OUTPUT, "--output", "-o", metavar="DIR", callback=options.check_directory)
    ],
    quiet: options.Quiet = False,
) -> None:
    """Write a site that explains depkit, for a browser or a web server."""
    from depkit.cli.site import write_site

    count = write_site(output)
    if not quiet:
        print_message(f"wrote {count} pages; open {output}/index.html")
