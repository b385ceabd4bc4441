"""Patterns with their meaning as Python functions, and a search that tries all tuples of nodes.

Nothing here uses depkit: the rows of a sentence are split here, and the functions say what a
pattern means by themselves.
"""

import re
from collections.abc import Callable, Iterator
from itertools import product

Row = dict[str, str]


class Table:
    """A sentence as a list of nodes, the anchor first, and a list of edges."""

    def __init__(self, lines: list[str], enhanced: bool = False) -> None:
        rows = [line.rstrip("\r\n").split("\t") for line in lines if line[:1].isdigit()]
        self.comments = [line[1:].partition("=") for line in lines if line.startswith("#")]
        self.ranges = [row for row in rows if "-" in row[0]]
        rows = [row for row in rows if "-" not in row[0] and (enhanced or "." not in row[0])]
        self.ids = ["0", *(row[0] for row in rows)]
        self.nodes: list[Row] = [{"form": "__0__"}]
        self.edges: list[tuple[int, int, str]] = []
        for target, row in enumerate(rows, start=1):
            node = {"form": row[1]}
            for name, value in zip(("lemma", "upos", "xpos"), row[2:5], strict=True):
                if value != "_":
                    node[name] = value
            for cell in (row[9], row[5]):
                node |= dict(pair.split("=", 1) for pair in cell.split("|") if "=" in pair)
            self.nodes.append(node)
            if row[6] != "_":
                self.edges.append((self.ids.index(row[6]), target, row[7]))
            if enhanced and row[8] != "_":
                for relation in row[8].split("|"):
                    source, label = relation.split(":", 1)
                    self.edges.append((self.ids.index(source), target, f"E:{label}"))

    def labels(self, x: int, y: int) -> list[str]:
        return [label for source, target, label in self.edges if (source, target) == (x, y)]

    def has(self, x: int, y: int, *labels: str) -> bool:
        return any(label in labels for label in self.labels(x, y))

    def base(self, x: int, y: int, *labels: str) -> bool:
        found = [label.removeprefix("E:").split(":")[0] for label in self.labels(x, y)]
        return any(label in labels for label in found)

    def get(self, x: int, name: str) -> str | None:
        return self.nodes[x].get(name)

    def upos(self, x: int, *tags: str) -> bool:
        return self.get(x, "upos") in tags

    def below(self, x: int, y: int) -> bool:
        """Return whether a path leads from x to y."""
        reached = {y}
        while True:
            new = {source for source, target, _ in self.edges if target in reached} - reached
            if not new:
                return x in reached and x != y
            reached |= new

    def same(self, x: int, y: int, name: str) -> bool | None:
        """Return whether a feature is the same; None if it is not defined for both."""
        values = self.get(x, name), self.get(y, name)
        return None if None in values else values[0] == values[1]

    def span(self, x: int) -> tuple[int, int]:
        """Return the ends of the basic edge into x, in order."""
        edges = [edge for edge in self.edges if edge[1] == x and not edge[2].startswith("E:")]
        return min(edges[0][:2]), max(edges[0][:2])

    def some(self, test: Callable[[int], bool], *others: int) -> bool:
        """Return whether there is a further node, not among the others, for which a test holds."""
        return any(test(x) for x in range(len(self.nodes)) if x not in others)

    def is_tree(self) -> bool:
        """Return whether all words are below the anchor, and none has two heads."""
        words = range(1, len(self.nodes))
        return len(self.edges) == len(words) and all(self.below(0, word) for word in words)

    def crosses(self) -> bool:
        spans = [(min(edge[:2]), max(edge[:2])) for edge in self.edges]
        return any(a < c < b < d for a, b in spans for c, d in spans)


Meaning = Callable[..., bool]


def crossing(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


def disjoint(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[1] <= b[0] or b[1] <= a[0]


def within(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return b[0] <= a[0] and a[1] <= b[1] and a != b


# The pattern, the names of its nodes in their order of mention, and what it means for a table and
# the positions of these nodes, which are different
MEANINGS: list[tuple[str, str, Meaning]] = [
    ("pattern { X [] }", "X", lambda t, x: True),
    ("pattern { X [upos] }", "X", lambda t, x: t.get(x, "upos") is not None),
    ("pattern { X [upos=VERB|AUX] }", "X", lambda t, x: t.upos(x, "VERB", "AUX")),
    (
        "pattern { X [upos<>VERB|AUX] }",
        "X",
        lambda t, x: t.get(x, "upos") is not None and not t.upos(x, "VERB", "AUX"),
    ),
    (
        "pattern { X [upos=VERB, !Tense] }",
        "X",
        lambda t, x: t.upos(x, "VERB") and t.get(x, "Tense") is None,
    ),
    (
        "pattern { X [Number=Sing|Plur, Case] }",
        "X",
        lambda t, x: t.get(x, "Number") in ("Sing", "Plur") and t.get(x, "Case") is not None,
    ),
    ("pattern { X [SpaceAfter=No] }", "X", lambda t, x: t.get(x, "SpaceAfter") == "No"),
    (
        r'pattern { X [form=re".*ing\|.*ed", upos=NOUN] }',
        "X",
        lambda t, x: bool(re.fullmatch(".*ing|.*ed", t.get(x, "form"))) and t.upos(x, "NOUN"),
    ),
    (
        "pattern { X [lemma=/(be|have)/] }",
        "X",
        lambda t, x: t.get(x, "lemma") in ("be", "have"),
    ),
    (
        "pattern { X [form=/the/i]; X.form <> the }",
        "X",
        lambda t, x: t.get(x, "form").lower() == "the" and t.get(x, "form") != "the",
    ),
    (
        "pattern { X [upos=VERB, VerbForm=Part]|[upos=ADJ] }",
        "X",
        lambda t, x: t.upos(x, "ADJ") or (t.upos(x, "VERB") and t.get(x, "VerbForm") == "Part"),
    ),
    ("pattern { X -> Y }", "XY", lambda t, x, y: bool(t.labels(x, y))),
    ("pattern { X -[root]-> Y }", "XY", lambda t, x, y: t.has(x, y, "root")),
    ("pattern { X -[nsubj|obj]-> Y }", "XY", lambda t, x, y: t.has(x, y, "nsubj", "obj")),
    (
        "pattern { X -[^punct|det]-> Y }",
        "XY",
        lambda t, x, y: any(label not in ("punct", "det") for label in t.labels(x, y)),
    ),
    ("pattern { X -[1=nsubj]-> Y }", "XY", lambda t, x, y: t.base(x, y, "nsubj")),
    (
        "pattern { X -[1=nsubj|aux, 2=pass]-> Y }",
        "XY",
        lambda t, x, y: t.has(x, y, "nsubj:pass", "aux:pass"),
    ),
    (
        "pattern { X -[1=nmod, !2]-> Y }",
        "XY",
        lambda t, x, y: t.has(x, y, "nmod"),
    ),
    (
        "pattern { X -[1=nmod|obl, 2<>poss]-> Y }",
        "XY",
        lambda t, x, y: any(
            re.fullmatch("(nmod|obl):.+", label) and label.split(":")[1] != "poss"
            for label in t.labels(x, y)
        ),
    ),
    (
        "pattern { X -[1=acl, 2=*]-> Y }",
        "XY",
        lambda t, x, y: any(label.startswith("acl:") for label in t.labels(x, y)),
    ),
    (
        'pattern { X -[re".*subj.*"]-> Y }',
        "XY",
        lambda t, x, y: any("subj" in label for label in t.labels(x, y)),
    ),
    (
        "pattern { X [upos=DET]; Y [upos=NOUN]; X < Y }",
        "XY",
        lambda t, x, y: t.upos(x, "DET") and t.upos(y, "NOUN") and x + 1 == y,
    ),
    (
        "pattern { X > Y; Y [upos=ADJ]; X [upos=NOUN] }",
        "XY",
        lambda t, x, y: y + 1 == x and t.upos(y, "ADJ") and t.upos(x, "NOUN"),
    ),
    (
        "pattern { V -[nsubj]-> N; N >> V }",
        "VN",
        lambda t, v, n: t.has(v, n, "nsubj") and n > v,
    ),
    (
        "pattern { X [upos=VERB]; X ->> Y; Y [PronType=Rel] }",
        "XY",
        lambda t, x, y: t.upos(x, "VERB") and t.get(y, "PronType") == "Rel" and t.below(x, y),
    ),
    (
        "pattern { X -[conj]-> Y; X.upos <> Y.upos }",
        "XY",
        lambda t, x, y: t.has(x, y, "conj") and t.same(x, y, "upos") is False,
    ),
    (
        "pattern { X -[nsubj]-> Y; X.Number = Y.Number }",
        "XY",
        lambda t, x, y: t.has(x, y, "nsubj") and t.same(x, y, "Number") is True,
    ),
    (
        'pattern { X [lemma="make"]; Y [upos=NOUN]; delta(X,Y) <= 2; delta(X,Y) > 0 }',
        "XY",
        lambda t, x, y: t.get(x, "lemma") == "make" and t.upos(y, "NOUN") and 0 < y - x <= 2,
    ),
    (
        "pattern { X -[obj]-> Y; length(X,Y) >= 4 }",
        "XY",
        lambda t, x, y: t.has(x, y, "obj") and abs(x - y) >= 4,
    ),
    (
        "pattern { e: X -[nsubj]-> Y; e.delta > 1; e.length < 4 }",
        "XY",
        lambda t, x, y: t.has(x, y, "nsubj") and 1 < y - x < 4,
    ),
    (
        "pattern { X [upos=NOUN]; * -[obj]-> X; X -[det]-> * }",
        "X",
        lambda t, x: t.upos(x, "NOUN")
        and t.some(lambda s: t.has(s, x, "obj"))
        and t.some(lambda d: t.has(x, d, "det")),
    ),
    (
        "pattern { V [upos=VERB] } without { V -[1=nsubj]-> S }",
        "V",
        lambda t, v: t.upos(v, "VERB") and not t.some(lambda s: t.base(v, s, "nsubj"), v),
    ),
    (
        "pattern { V [upos=VERB] } with { V -[obj]-> O; O [upos=PRON] } without { V -[mark]-> M }",
        "V",
        lambda t, v: t.upos(v, "VERB")
        and t.some(lambda o: t.has(v, o, "obj") and t.upos(o, "PRON"), v)
        and not t.some(lambda m: t.has(v, m, "mark"), v),
    ),
    (
        "pattern { X -[nsubj]-> Y } without { X [upos=VERB] } without { X -[cop]-> C; C << Y }",
        "XY",
        lambda t, x, y: t.has(x, y, "nsubj")
        and not t.upos(x, "VERB")
        and not t.some(lambda c: t.has(x, c, "cop") and c < y, x, y),
    ),
    (
        "pattern { X -[nsubj]-> Y } without { Y << Z; Z << X; Z [upos=PUNCT] }",
        "XY",
        lambda t, x, y: t.has(x, y, "nsubj")
        and not t.some(lambda z: y < z < x and t.upos(z, "PUNCT"), x, y),
    ),
    (
        "pattern { V -[nsubj]-> S; V -[obj]-> O }",
        "VSO",
        lambda t, v, s, o: t.has(v, s, "nsubj") and t.has(v, o, "obj"),
    ),
    (
        "pattern { H -[case|mark]-> A; H -[1=advmod|amod|det]-> B$; B$ << A }",
        "HAB",
        lambda t, h, a, b: t.has(h, a, "case", "mark")
        and t.base(h, b, "advmod", "amod", "det")
        and b < a,
    ),
    (
        "pattern { X -[conj]-> Y; X -[conj]-> Z; Y.__id__ < Z.__id__ }",
        "XYZ",
        lambda t, x, y, z: t.has(x, y, "conj") and t.has(x, z, "conj") and y < z,
    ),
    (
        "pattern { e: X -[nsubj]-> Y; f: X -[obj|ccomp]-> Z; e << f }",
        "XYZ",
        lambda t, x, y, z: t.has(x, y, "nsubj")
        and t.has(x, z, "obj", "ccomp")
        and within(t.span(y), t.span(z)),
    ),
    (
        "pattern { e: X -[obj]-> Y; f: Z -[amod|det]-> W; e <> f; Y << W; Z ->> W; X ->> Z }",
        "XYZW",
        lambda t, x, y, z, w: t.has(x, y, "obj")
        and t.has(z, w, "amod", "det")
        and y < w
        and t.below(x, z)
        and disjoint(t.span(y), t.span(w)),
    ),
    (
        "pattern { e: X -> Y; f: Z -> W; e >< f; Y [upos=PUNCT] }",
        "XYZW",
        lambda t, x, y, z, w: t.upos(y, "PUNCT")
        and bool(t.labels(x, y))
        and bool(t.labels(z, w))
        and crossing(t.span(y), t.span(w)),
    ),
    (
        "pattern { e: X -[obj]-> Y; Z [upos=ADV]; Z << e }",
        "XYZ",
        lambda t, x, y, z: t.has(x, y, "obj")
        and t.upos(z, "ADV")
        and t.span(y)[0] < z < t.span(y)[1],
    ),
    (
        "pattern { e: X -[1=conj|parataxis]-> Y; Y -> Z }"
        " without { f: Y -> W; f.label = e.label }",
        "XYZ",
        lambda t, x, y, z: t.base(x, y, "conj", "parataxis")
        and bool(t.labels(y, z))
        and not t.some(lambda w: t.labels(y, w) == t.labels(x, y), x, y, z),
    ),
    (
        "global { is_not_projective } pattern { X -[root]-> Y }",
        "XY",
        lambda t, x, y: t.crosses() and t.has(x, y, "root"),
    ),
    (
        "global { is_projective; is_tree } pattern { X [upos=INTJ] }",
        "X",
        lambda t, x: not t.crosses() and t.is_tree() and t.upos(x, "INTJ"),
    ),
    (
        r'global { text = re".*\bnot\b.*" } pattern { X [lemma="not"] }',
        "X",
        lambda t, x: t.get(x, "lemma") == "not"
        and any(
            key.strip() == "text" and re.search(r"\bnot\b", value) for key, _, value in t.comments
        ),
    ),
    ("global { !newpar } pattern { X [upos=X] }", "X", lambda t, x: t.upos(x, "X")
        and all(key.strip() != "newpar" for key, _, _ in t.comments)),
    (
        "pattern { X [upos=NOUN]; Y [upos=NOUN]; X.lemma = Y.lemma; X << Y }",
        "XY",
        lambda t, x, y: t.upos(x, "NOUN") and t.upos(y, "NOUN") and x < y and t.same(x, y, "lemma")
        is True,
    ),
    ("pattern { V [upos=VERB]; W [upos=AUX] } without { V -> W } without { W -> V }", "VW",
        lambda t, v, w: t.upos(v, "VERB") and t.upos(w, "AUX") and not t.labels(v, w)
        and not t.labels(w, v)),
]  # fmt: skip
NON_INJECTIVE = {"B"}  # The nodes that are written with $ in the patterns

# Patterns for graphs with enhanced dependencies
ENHANCED: list[tuple[str, str, Meaning]] = [
    ("pattern { X -[E:nsubj]-> Y }", "XY", lambda t, x, y: t.has(x, y, "E:nsubj")),
    ("pattern { X -> Y }", "XY", lambda t, x, y: bool(t.labels(x, y))),
    (
        "pattern { X -[1=nsubj, enhanced=yes]-> Y; Z -[1=nsubj, !enhanced]-> Y }",
        "XYZ",
        lambda t, x, y, z: (
            any(re.fullmatch("E:nsubj(:.*)?", label) for label in t.labels(x, y))
            and any(re.fullmatch("nsubj(:.*)?", label) for label in t.labels(z, y))
        ),
    ),
    (
        "pattern { X -[1=obl, 2=to|in]-> Y }",
        "XY",
        lambda t, x, y: any(
            re.fullmatch("(E:)?obl:(to|in)(:.*)?", label) for label in t.labels(x, y)
        ),
    ),
    (
        "pattern { X [wordform=__EMPTY__]; X < Y }",
        "XY",
        lambda t, x, y: "." in t.ids[x] and x + 1 == y,
    ),
    (
        "global { is_cyclic } pattern { X -[root]-> Y }",
        "XY",
        lambda t, x, y: t.has(x, y, "root") and any(t.below(b, a) for a, b, _ in t.edges if a != b),
    ),
]


def search_all(table: Table, names: str, meaning: Meaning) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of nodes that a pattern matches; names: of its nodes, one letter each."""
    for nodes in product(range(len(table.nodes)), repeat=len(names)):
        injective = [x for x, name in zip(nodes, names, strict=True) if name not in NON_INJECTIVE]
        if len(set(injective)) == len(injective) and meaning(table, *nodes):
            yield nodes
