"""The subset of Markdown in which the texts of the site are written, and its HTML.

A text has headings (`#` to `###`), paragraphs, lists of lines that begin with `- `, tables, fenced
code blocks, and lines `@name@` for parts that are generated. Within a paragraph, there are `code`,
**strong** words, [links](target) and ![images](target). The code blocks of tutorials are run by a
test, which needs them as data; this is why the text is split into blocks here, in a hundred lines,
and not by a Markdown library, which the site would be the only part of depkit to need.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

_INLINE = re.compile(
    r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|(!?)\[([^][\n]+)\]\(([^()\s]+)\)", flags=re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A part of a text: its kind, its text and, for a code block, what stands after the fence.

    kind: "h1", "h2", "h3", "p", "ul", "table", "code" or "part".
    """

    kind: str
    text: str
    info: str = ""


def split_blocks(text: str) -> Iterator[Block]:
    """Split a text into blocks. Raises ValueError for a code block without an end."""
    lines = iter(text.splitlines())
    paragraph: list[str] = []
    for line in lines:
        marks, _, title = line.partition(" ")
        is_heading = marks in ("#", "##", "###")
        if line.strip() and not line.startswith("```") and not is_heading:
            paragraph.append(line)
            continue
        if paragraph:
            yield make_block(paragraph)
            paragraph = []
        if is_heading:
            yield Block(f"h{len(marks)}", title)
        elif line.startswith("```"):
            code = []
            for code_line in lines:
                if code_line == "```":
                    break
                code.append(code_line)
            else:
                raise ValueError(f"the code block {line} has no end")
            yield Block("code", "\n".join(code), line.removeprefix("```"))
    if paragraph:
        yield make_block(paragraph)


def make_block(lines: list[str]) -> Block:
    """Return the block of lines that no blank line separates."""
    first = lines[0]
    if len(lines) == 1 and first.startswith("@") and first.endswith("@"):
        return Block("part", first.strip("@"))
    text = "\n".join(lines)
    return Block({"- ": "ul", "| ": "table"}.get(first[:2], "p"), text)


def heading_id(title: str) -> str:
    """Return the id of a heading, to which links can point."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def render_blocks(
    blocks: Iterable[Block], parts: Mapping[str, str], find_target: Callable[[str], str]
) -> str:
    """Return the HTML of blocks.

    parts: the HTML of generated parts by name; find_target: returns the address that describes what
    a piece of code names, "" if there is none.
    """

    def inline(text: str) -> str:
        return render_inline(text, find_target)

    rendered = []
    for block in blocks:
        if block.kind == "part":
            rendered.append(parts[block.text])
        elif block.kind == "code":
            rendered.append(render_code(block.text, block.info))
        elif block.kind == "ul":
            items = re.split(r"^- ", block.text, flags=re.MULTILINE)[1:]
            rendered.append("".join(["<ul>", *(f"<li>{inline(i)}</li>" for i in items), "</ul>"]))
        elif block.kind == "table":
            header, _, *rows = (line.strip("|").split("|") for line in block.text.splitlines())
            rendered.append(render_table(header, rows, inline))
        elif block.kind == "p":
            rendered.append(f"<p>{inline(block.text)}</p>")
        else:
            title = inline(block.text)
            rendered.append(f'<{block.kind} id="{heading_id(block.text)}">{title}</{block.kind}>')
    return "\n".join(rendered)


def render_inline(text: str, find_target: Callable[[str], str] = lambda code: "") -> str:
    """Return the HTML of the text of a paragraph; find_target: as for `render_blocks`."""

    def replace(match: re.Match[str]) -> str:
        code, strong, image, label, target = match.groups()
        if code:
            address = find_target(code)
            kind = ' class="option"' if code.startswith("-") and " " not in code else ""
            html = f"<code{kind}>{escape(code)}</code>"
            return f'<a href="{escape(address)}">{html}</a>' if address else html
        if strong:
            return f"<strong>{escape(strong)}</strong>"
        if image:
            return f'<img src="{escape(target)}" alt="{escape(label)}">'
        return f'<a href="{escape(target)}">{escape(label)}</a>'

    parts, end = [], 0
    for match in _INLINE.finditer(text):
        parts += [escape(text[end : match.start()], quote=False), replace(match)]
        end = match.end()
    return "".join([*parts, escape(text[end:], quote=False)])


def render_code(text: str, info: str = "") -> str:
    """Return a code block; if it is a file, its name stands above it."""
    _, _, name = info.partition(" ")
    title = f"<figcaption>{escape(name)}</figcaption>" if name else ""
    # A block that is wider than the screen is scrolled, which needs the focus of the keyboard.
    return (
        f'<figure>{title}<pre tabindex="0"><code>{escape(text, quote=False)}</code></pre></figure>'
    )


def render_table(
    header: Iterable[str], rows: Iterable[Iterable[str]], inline: Callable[[str], str] = str
) -> str:
    """Return a table, which is scrolled where it is too wide; inline: makes HTML of a cell."""
    head = "".join(f'<th scope="col">{inline(cell.strip())}</th>' for cell in header)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{inline(cell.strip())}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )
