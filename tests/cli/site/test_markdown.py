"""The subset of Markdown in which the texts of the site are written."""

import pytest

from depkit.cli.site.markdown import Block, render_blocks, render_inline, split_blocks


def test_a_text_is_split_into_blocks():
    text = (
        "# Title\nOne\ntwo.\n\n- a\n  b\n- c\n\n```console x.txt\n# no heading\n\n$ a\n```\n"
        "@part@\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert list(split_blocks(text)) == [
        Block("h1", "Title"), Block("p", "One\ntwo."), Block("ul", "- a\n  b\n- c"),
        Block("code", "# no heading\n\n$ a", "console x.txt"), Block("part", "part"),
        Block("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="code block ```sh has no end"):
        list(split_blocks("```sh\na"))


def test_blocks_become_html_that_is_escaped():
    text = "## A `b` & c\n\n- x\n- <y>\n\n@p@\n\n| h |\n|---|\n| `a<b` |\n\n```\n<&\n```"
    blocks = split_blocks(text)
    html = render_blocks(blocks, {"p": "<hr>"}, lambda code: "")
    assert '<h2 id="a-b-c">A <code>b</code> &amp; c</h2>' in html
    assert "<ul><li>x\n</li><li>&lt;y&gt;</li></ul>\n<hr>" in html
    assert "<td><code>a&lt;b</code></td>" in html and "<code>&lt;&amp;</code></pre>" in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** and `**b**`", "<strong>a</strong> and <code>**b**</code>"),
        ("[a <b>](c.html#d)", '<a href="c.html#d">a &lt;b&gt;</a>'),
        ('![a "b"](c.svg)', '<img src="c.svg" alt="a &quot;b&quot;">'),
        ("`known x`", '<a href="k.html"><code>known x</code></a>'),
        ("a * b ` c [d] (e) _f_", "a * b ` c [d] (e) _f_"),
    ],
)
def test_the_text_of_a_paragraph_becomes_html(text, html):
    assert render_inline(text, lambda code: "k.html" if code.startswith("known") else "") == html
