"""Plain definitions of the rules of UD that `--valid ud` promises; they share no code with depkit.

Each function gets heads (1-based, 0 is the root), relations and tags, and yields the numbers of the
words that break a rule.
"""

LEAVES = {
    "case": "advmod obl goeswith fixed reparandum conj cc punct",
    "mark": "advmod obl goeswith fixed reparandum conj cc punct",
    "clf": "advmod obl goeswith fixed reparandum conj cc punct",
    "aux": "goeswith fixed reparandum conj cc punct",
    "cop": "goeswith fixed reparandum conj cc punct",
    "cc": "goeswith fixed reparandum conj punct",
    "det": "advmod obl goeswith fixed reparandum conj cc punct det case clf flat compound discourse"
    " parataxis",
    "fixed": "goeswith reparandum conj punct",
    "goeswith": "",
    "punct": "punct",
}
NEEDED = {
    "det": "DET PRON", "nummod": "NUM NOUN SYM", "advmod": "ADV ADJ CCONJ DET PART SYM",
    "expl": "PRON DET PART", "aux": "AUX", "cop": "AUX PRON DET SYM", "punct": "PUNCT",
    "goeswith": "X",
}  # fmt: skip
BANNED = {
    "case": "PROPN ADJ PRON DET NUM AUX", "mark": "NOUN PROPN ADJ PRON DET NUM AUX INTJ",
    "cc": "NOUN PROPN ADJ PRON DET NUM VERB AUX INTJ", "fixed": "PROPN",
}  # fmt: skip


def find_broken_rules(heads, deprels, tags):
    """Return the broken rules, as pairs of a word and a name."""
    n = len(heads)
    base = [deprel.split(":")[0] for deprel in deprels]
    broken = set()
    for word in range(1, n + 1):
        head, relation, tag = heads[word - 1], base[word - 1], tags[word - 1]
        if (head == 0) != (relation == "root"):
            broken.add((word, "root"))
        if relation in ("conj", "fixed", "flat", "goeswith", "appos") and head > word:
            broken.add((word, "direction"))
        children = [child for child in range(1, n + 1) if heads[child - 1] == word]
        subjects = [
            child
            for child in children
            if base[child - 1] in ("nsubj", "csubj") and not deprels[child - 1].endswith(":outer")
        ]
        if len(subjects) > 1:
            broken.add((word, "subjects"))
        if sum(base[child - 1] == "obj" for child in children) > 1:
            broken.add((word, "objects"))
        for child in children:
            below = base[child - 1]
            if relation in LEAVES and below not in LEAVES[relation].split():
                broken.add((word, "leaf"))
            if below == "orphan" and relation not in (
                "conj parataxis root csubj ccomp advcl acl reparandum".split()
            ):
                broken.add((child, "orphan"))
            if (
                below == "obl"
                and tag in ("NOUN", "PROPN", "PRON")
                and relation in ("nsubj obj iobj obl vocative dislocated expl nmod".split())
            ):
                broken.add((child, "obl"))
            if below == "fixed" and tag == "PROPN":
                broken.add((word, "fixed name"))
        if tag != "_":
            if relation in NEEDED and tag not in NEEDED[relation].split():
                broken.add((word, "tag"))
            if relation in BANNED and tag in BANNED[relation].split():
                broken.add((word, "tag"))
            if tag == "PUNCT" and relation not in ("punct", "root"):
                broken.add((word, "PUNCT"))
        if relation == "goeswith" and head != word - 1:
            broken.add((word, "goeswith"))
        if relation == "punct":
            low, high = sorted((head, word))
            for other in range(1, n + 1):
                first, last = sorted((heads[other - 1], other))
                if first < low < last < high or low < first < high < last:
                    broken.add((word, "crossing"))
    return broken
