"""Filling in the template of a completion script."""


def fill_template(template: str, **parts: str) -> str:
    """Replace @name@ by the part of that name; shells use braces and dollars themselves."""
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template
