"""The table of multiword tokens that is built from treebanks."""

from depkit.training.multiwords import build_multiword_table


def test_contractions_that_a_treebank_lacks_are_added():
    seen = [("im", ("in", "dem")), ("zur", ("zu", "der")), ("vom", ("von", "dem"))]
    table = build_multiword_table([*seen, ("ums", ("ums",))])
    assert table.words("Aufs") == ("Auf", "das") and "aufs" in table.always
    assert "ums" not in table.tokens
    for tokens in seen[:2], [*seen, ("am", ("a", "dem"))]:
        assert build_multiword_table(tokens).words("aufs") is None


def test_verbs_and_pronouns_that_a_treebank_lacks_are_added():
    """The entry `ver/dar+lo/la` of contractions.txt stands for four contractions."""
    seen = [("verlo", ("ver", "lo")), ("darle", ("dar", "le")), ("hacerse", ("hacer", "se"))]
    table = build_multiword_table(seen)
    assert table.words("Darla") == ("Dar", "la") and table.words("dímelo") == ("di", "me", "lo")
    assert {"darla", "dímelo", "hazlo"} < table.always


def test_an_abbreviation_is_no_contraction():
    table = build_multiword_table([("z.", ("zu", "dem"))] * 9 + [("del", ("de", "el"))])
    assert table.words("z.") is None


def count_always(num_split, num_single, words=("de", "el")):
    """Return whether `del` is always split if it occurs this often with and without words."""
    tokens = [("del", words)] * num_split + [("del", ("del",))] * num_single
    return bool(build_multiword_table([*tokens, ("el", ("el",))]).always)


def test_a_few_errors_of_the_treebank_do_not_keep_a_token_from_being_split():
    assert count_always(98, 2) and not count_always(97, 3)
    assert not count_always(3, 1)


def test_a_rare_token_is_always_split_if_it_is_a_contraction():
    assert count_always(1, 0) and not count_always(1, 1)
    assert not count_always(2, 0, ("d", "el"))  # as open classes of verbs with pronouns are


def test_a_rare_token_of_frequent_words_is_always_split():
    tokens = [("su" + x, ("su", x)) for x in ("i", "lo", "la")]
    tokens += [(x + "gli", (x, "gli")) for x in ("de", "ne", "da")]
    assert build_multiword_table([*tokens, ("sugli", ("su", "gli"))]).always == {"sugli"}


def test_the_first_treebank_decides_what_is_split():
    neste, nisto = ("neste", ("em", "este")), ("nisto", ("em", "isto"))
    others = [("neste", ("neste",))] * 9 + [("nisto", ("nisto",))] * 9
    others += [("dum", ("de", "um"))] * 3 + [("um", ("um",)), ("da", ("de", "ha"))]
    others += [("daqui", ("d", "aqui")), ("isto", ("isto",))]
    table = build_multiword_table([neste, neste, neste, nisto, ("daqui", ("daqui",))] * 3, others)
    assert table.always == {"neste", "nisto", "dum"} and "daqui" not in table.tokens
    assert build_multiword_table([*[neste] * 3, *others]).always == {"dum"}


def test_an_ending_with_other_letters_than_its_words_is_not_used_if_it_is_an_exception():
    kept = [("usá-lo", ("usá", "lo")), ("levá-lo", ("levá", "lo"))]
    restored = [(x + "á-lo", (x + "ar", "lo")) for x in ("am", "cont", "ajud")]
    assert build_multiword_table(restored).words("comprá-lo") == ("comprar", "lo")
    assert build_multiword_table([*kept, *restored]).words("comprá-lo") == ("comprar", "lo")
    assert build_multiword_table([*kept, restored[0]]).words("comprá-lo") == ("comprá", "lo")
    # The first treebank decides, and the others if it has no such token.
    assert build_multiword_table(kept, restored).words("comprá-lo") == ("comprá", "lo")
    assert build_multiword_table(restored[:1], kept).words("comprá-lo") == ("comprar", "lo")
    table = build_multiword_table([("disse-me", ("disse", "me"))], [*kept, restored[0]])
    assert table.words("comprá-lo") == ("comprá", "lo") and table.words("amá-lo") == ("amar", "lo")


def test_other_tokens_are_not_split_because_of_misspelled_ones():
    """`its` instead of `it's` says nothing about `cats`, but `dont` is nearly always `don't`."""
    its, dont, cats = ("its", ("it", "s")), ("dont", ("do", "nt")), ("cats", ("cat", "s"))
    misspelled = [its, cats, dont, *((x + "s", (x, "s")) for x in ("boy", "driver", "mother"))]
    tokens = [*misspelled, *[("its", ("its",)), ("cats", ("cats",))] * 2]
    assert build_multiword_table(tokens).check("stars", ("star", "s")) == ("star", "s")
    table = build_multiword_table(tokens, misspelled=misspelled)
    assert table.check("stars", ("star", "s")) is None
    assert table.check("its", ("it", "s")) is None and table.check("Cats", ("Cat", "s")) is None
    assert table.check("Dont", ("Do", "nt")) == ("Do", "nt")
    assert table.check("boys", ("boy", "s")) == ("boy", "s")


def test_a_plural_with_an_apostrophe_can_be_a_possessive():
    tokens = [(f"{x}'s", (x, "'s")) for x in ("cat", "boy", "driver", "queen")]
    table = build_multiword_table([*tokens, ("monday's", ("monday's",))])
    assert table.check("Monday's", ("Monday", "'s")) == ("Monday", "'s")


def test_words_that_do_not_fit_their_token_are_not_learnt():
    errors = [
        ("nefndum", ("nefnd", "þúm")), ("gögnum", ("gögn", "þúm")),
        ("vardı", ("vardı", "dı")), ("/s", ("/", "$s")),
    ]  # fmt: skip
    right = [("abyste", ("aby", "byste")), ("étaux", ("à", "les")), ("les", ("les",))]
    assert build_multiword_table(errors[:1] + errors[2:] + right).tokens == dict(right[:2])
    # The same difference in several tokens, as with the Arabic article, is a rule.
    article = [("l" + x, ("l", "al" + x)) for x in ("bayt", "kitab", "qalb")]
    assert build_multiword_table(article).tokens == dict(article)


def test_tokens_of_very_many_words_are_not_learnt():
    tokens = [("the", ("a",) * 101), ("it", ("b" * 1001,)), ("del", ("de", "el"))]
    assert build_multiword_table(tokens).tokens == {"del": ("de", "el")}
