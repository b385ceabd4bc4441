import pytest

from depkit.score.punctuation import (
    POLICIES,
    is_punct_relation,
    is_unicode_punctuation,
    parse_policy,
)


@pytest.mark.parametrize("form", [".", "...", "_", "«", "。", "?!", "-", "@", "%", "--"])
def test_forms_of_punctuation_characters_are_punctuation(form: str) -> None:
    assert is_unicode_punctuation(form)


@pytest.mark.parametrize("form", ["", "$", "+", "`", "``", "a.", ":-)x", "€", "|", "=", "5", " "])
def test_other_forms_are_not_punctuation(form: str) -> None:
    """Symbols (category S: $ + ` | = ...) are not punctuation, as in Perl."""
    assert not is_unicode_punctuation(form)


def test_punct_and_its_subtypes_are_punctuation() -> None:
    assert all(map(is_punct_relation, ["punct", "PUNCT", "Punct", "punct:sent"]))
    assert not any(map(is_punct_relation, ["_", "punctuation", "dep:punct", "p"]))


@pytest.mark.parametrize(
    ("name", "excluded"),
    [
        ("keep", []),
        ("ptb", ["``", "''", ",", ".", ":"]),
        ("ptb7", ["``", "''", ",", ".", ":", "-LRB-", "-RRB-"]),
        ("ctb", ["PU"]),
    ],
)
def test_tag_policies_exclude_their_tags(name: str, excluded: list[str]) -> None:
    tags = ["``", "''", ",", ".", ":", "-LRB-", "-RRB-", "PU", "$", "#", "SYM", "PUNCT", "_"]
    assert list(filter(POLICIES[name].is_punctuation, tags)) == excluded


def test_a_list_of_tags_is_a_policy() -> None:
    policy = parse_policy('tags:``,",","""",:,``')
    assert policy.name == 'tags:"""",",",:,``'
    assert parse_policy(policy.name).name == policy.name
    assert policy.column == "xpos"
    assert list(map(policy.is_punctuation, ['"', ",", ":", "``", "X"])) == [True] * 4 + [False]


@pytest.mark.parametrize("name", ["tags:", "tags:A,", "tags:A,,B", 'tags:"A', "tags:A\nB"])
def test_invalid_lists_of_tags_are_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="quoted as in CSV"):
        parse_policy(name)


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(ValueError, match="no punctuation policy 'PTB'; there are keep, ptb, ptb7"):
        parse_policy("PTB")
