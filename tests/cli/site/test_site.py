"""The site: its links, what its pages say, and the directory into which it is written."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import depkit
from depkit.cli.main import COMMANDS
from depkit.cli.model_tables import model_facts
from depkit.cli.pages.inventory import commands
from depkit.cli.site import make_site, write_site
from depkit.cli.site.page import POLICY
from depkit.files.atomic import atomic_directory
from depkit.training.recipe import recipe_names
from depkit.training.reference import all_settings
from depkit.training.rows import all_rows
from tests.cli.commands import Command

VOID = {"meta", "link", "input", "br", "img"}


class Document(HTMLParser):
    """What a test asks of a page: its ids, links, elements and text; errors are of its nesting."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(html)
        assert self.open == []
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add((tag, name))
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "action"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        assert self.open[-1:] not in (["style"], ["script"])
        self.text += data


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    return make_site()


@pytest.fixture(scope="module")
def documents(site) -> dict[str, Document]:
    return {name: Document(text) for name, text in site.items() if name.endswith(".html")}


@pytest.fixture(scope="module")
def index(site) -> list[list[str]]:
    text = site["search-index.js"]
    return json.loads(text.removeprefix("depkitIndex(").removesuffix(");\n"))


def test_all_links_lead_somewhere(site, documents, index):
    targets = {name: set(document.ids) for name, document in documents.items()}
    links = [(name, link) for name, document in documents.items() for link in document.links]
    links += [("search-index.js", address) for _, _, address, _ in index]
    outside = {link for _, link in links if link.startswith("https://")}
    assert outside == {"https://universaldependencies.org"}
    for name, link in links:
        if link not in outside:
            file, _, fragment = link.partition("#")
            assert (file or name) in site, f"{name} links to {link}"
            assert not fragment or fragment in targets[file or name], f"{name} links to {link}"


def test_ids_are_unique_and_pages_have_titles(site, documents):
    titles = {re.findall("<title>(.*)</title>", site[name])[0] for name in documents}
    assert len(titles) == len(documents)
    for name, document in documents.items():
        doubled = [each for each, count in Counter(document.ids).items() if count > 1]
        assert doubled == [] and "" not in document.ids, name


def test_pages_keep_their_own_policy(site, documents):
    """Nothing is within the pages that the policy forbids, and nothing is loaded from elsewhere."""
    for name, document in documents.items():
        assert POLICY in site[name]
        names = {attribute for _, attribute in document.attributes}
        assert "style" not in names and not [each for each in names if each.startswith("on")]
        assert {tag for tag, attribute in document.attributes if attribute == "src"} <= {
            "script", "img",
        }  # fmt: skip
    assert not re.search("https?://", site["site.css"] + site["search.js"])


def test_every_command_has_a_page_with_its_options(documents):
    for command in commands()[1:]:
        text = documents[f"command-{command.name}.html"].text
        assert set(documents) >= {f"command-{name}.html" for name in COMMANDS}
        for option in command.options:
            assert max(option.names, key=len) in documents[f"command-{command.name}.html"].ids
            assert " ".join(option.help.split()) in text
        assert all(example in text for example in command.examples)


def test_texts_link_to_commands_settings_and_recipes(site):
    suspects = site["command-suspects.html"]
    assert '<a href="command-edit.html">depkit edit</a> makes in the treebank' in suspects
    assert '<code class="option">--parses</code> or' in suspects
    recipes, settings = site["recipes.html"], '<a href="settings.html#inputs.treebank">'
    assert '<a href="recipes.html#selfatt"><code>selfatt</code></a>' in recipes
    assert f"{settings}<code>inputs.treebank=25</code></a>" in site["tutorial-language.html"]


def test_every_setting_recipe_and_model_is_described(documents):
    settings, text = all_settings(), documents["settings.html"].text
    assert {each.name for each in settings} <= set(documents["settings.html"].ids)
    assert all(each.takes in text for each in settings)
    meanings = [each.meaning.replace("`", "") for each in settings]
    assert [meaning for meaning in meanings if meaning not in text] == []
    assert "recipes: 0.0001 in mh2020-sent, mh2020-sent-scratch, " in text
    assert set(recipe_names()) <= set(documents["recipes.html"].ids)
    for row in all_rows():
        described = f"{row.table} {row.score}; needs {row.needs} {row.command}"
        assert described in documents["recipes.html"].text
    for facts in model_facts():
        text = documents["models.html"].text
        assert facts["model"] in documents["models.html"].ids
        assert f"Trained on {', '.join(facts['datasets'])}; licence {facts['license']}." in text


def test_every_public_name_is_described(documents):
    names = {f"depkit.{name}" for name in depkit.__all__ if name != "__version__"}
    methods = {"Parser.parse", "Sentence.with_tree", "Evaluation.scores"}
    assert names | {f"depkit.{name}" for name in methods} <= set(documents["api.html"].ids)
    text = documents["api.html"].text
    assert "evaluate( gold: str | PathLike[str] | Sentence" in text
    assert "*, align: bool = False, enhanced: bool = False" in text
    assert "output: str | PathLike[str], *, dev: str | PathLike[str] = ''" in text
    assert ">>> scores.UAS, scores.LAS (100.0, 50.0)" in text


def test_the_index_and_the_list_have_the_same_entries(documents, index):
    assert all(address in documents["search.html"].links for _, _, address, _ in index)
    found = {(title, kind) for title, kind, _, _ in index}
    assert found >= {
        ("depkit parse --prob", "option"), ("training.rate", "setting"), ("en-ewt", "model"),
        ("li2019-selfatt", "recipe"), ("depkit.evaluate", "Python"), ("Punctuation", "Formats and"
        " conventions"), ("Figures for a lecture", "tutorial"),
    }  # fmt: skip


def test_a_site_is_replaced_and_other_directories_are_not(tmp_path, site, monkeypatch):
    monkeypatch.setattr("depkit.cli.site.make_site", lambda: site)
    docs, target = Command("docs"), tmp_path / "a" / "site"
    out, err = docs("-o", target)
    assert out == "" and f"{len([n for n in site if n.endswith('.html')])} pages" in err
    assert {path.name for path in target.iterdir()} == site.keys()
    (target / "old.html").write_text(site["index.html"])
    assert docs("-o", target, "-q") == ("", "")
    assert {path.name for path in target.iterdir()} == site.keys()
    for name in ("notes.txt", "own.html"):
        (target / name).write_bytes(b"<p>my own \xff</p>")
        with pytest.raises(FileExistsError, match=f"not of a site, such as {name}; choose"):
            write_site(target)
        (target / name).unlink()
    with pytest.raises(NotADirectoryError):
        write_site(target / "index.html")
    (target / ".site.1.part" / "site").mkdir(parents=True)  # left by a process that was killed
    (target / ".site.1.part" / ".lock").touch()
    write_site(target)
    assert {path.name for path in target.iterdir()} == site.keys()
    (tmp_path / "empty").mkdir()
    write_site(tmp_path / "empty")


def test_what_another_process_is_writing_is_no_other_file(tmp_path, site, monkeypatch):
    monkeypatch.setattr("depkit.cli.site.make_site", lambda: {"index.html": site["index.html"]})
    target = tmp_path / "site"
    target.mkdir()
    with atomic_directory(target):
        write_site(target)
        assert (target / "index.html").exists()


def test_a_failure_leaves_the_older_site(tmp_path, site, monkeypatch):
    monkeypatch.setattr("depkit.cli.site.make_site", lambda: {"index.html": site["index.html"]})
    write_site(tmp_path / "site")
    write_text = Path.write_text

    def fail(path, *arguments, **options):
        if path.name == "site.css":
            raise OSError(28, "No space left on device")
        return write_text(path, *arguments, **options)

    monkeypatch.setattr("depkit.cli.site.make_site", lambda: site)
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="No space left"):
        write_site(tmp_path / "site")
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["index.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
