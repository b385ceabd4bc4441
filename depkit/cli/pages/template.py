"""Filling in a script."""


def filled(template: str, **parts: str) -> str:
    """The template with its @part@s; braces and dollars are the shell's."""
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template
