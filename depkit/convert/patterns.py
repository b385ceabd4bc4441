"""Patterns of nodes in a constituency tree: the language of the tables of rules.

A pattern is a list of conditions on a node, separated by commas, all of which must hold. A
condition is a path followed by a test: `prev VB*/be` is true if the sibling before the node is a
verb form of `be`. The steps of a path are the names in `STEPS`; without a path, the test is of
the node itself. A step that leads to several nodes is true if one of them passes the rest.

A test is one or more alternatives, separated by `|`: a label (`NP`), the beginning of a label
(`VB*`), a label with a function tag (`NP-TMP`), or the name of a pattern that the table defines
(`time`); `comma` and `colon` are the labels of these marks. After `/` follow words, of which the
node's head word must be one: words are named as by `lexicon.closed_class`. `not` before a
condition negates it; `or` between conditions means that one of them is enough.
"""

from collections.abc import Callable, Iterable, Mapping

from depkit.convert.constituents import Node

Test = Callable[[Node], bool]
Nodes = Iterable[Node]

ALIASES = {"comma": ",", "colon": ":", "dollar": "$"}
_NOTHING: tuple[Node, ...] = ()


def _previous(node: Node) -> Nodes:
    index = node.child_index
    return (node.parent.children[index - 1],) if node.parent and index else _NOTHING


def _next(node: Node) -> Nodes:
    siblings = node.parent.children if node.parent else _NOTHING
    return siblings[node.child_index + 1 : node.child_index + 2]


def _preceding(node: Node) -> Nodes:
    return node.parent.children[: node.child_index] if node.parent else _NOTHING


def _following(node: Node) -> Nodes:
    return node.parent.children[node.child_index + 1 :] if node.parent else _NOTHING


def _between(node: Node) -> Nodes:
    """Return the siblings between a node and its parent's head child."""
    if not node.parent:
        return _NOTHING
    index, head = node.child_index, node.parent.head_child.child_index
    return node.parent.children[min(index, head) + 1 : max(index, head)]


def _ancestors(node: Node) -> Nodes:
    while node.parent:
        node = node.parent
        yield node


def _core(node: Node) -> Nodes:
    return (node.head_child,) if node.children else _NOTHING


def _spine(node: Node) -> Nodes:
    """Return a node and the head children below it, down to its head word."""
    yield node
    while node.children:
        node = node.head_child
        yield node


STEPS: dict[str, Callable[[Node], Nodes]] = {
    "prev": _previous,  # the sibling right before the node
    "next": _next,  # the sibling right after it
    "before": _following,  # the node is before ...: any sibling after it
    "after": _preceding,  # the node is after ...: any sibling before it
    "between": _between,  # any sibling between it and the parent's head child
    "parent": lambda node: (node.parent,) if node.parent else _NOTHING,
    "inside": _ancestors,  # any constituent above it
    "head": lambda node: (node.parent.head_child,) if node.parent else _NOTHING,
    "word": lambda node: (node.head,),  # its head word
    "core": _core,  # its head child
    "spine": _spine,  # itself, its head child, the head child of that one, and so on
    "has": lambda node: node.children,  # any of its children
    "first": lambda node: node.children[:1],
    "last": lambda node: node.children[-1:],
}


class _Labels(dict[str, bool]):
    """Whether a label is one of some alternatives, each a label or the beginning of one (`VB*`)."""

    def __init__(self, alternatives: Iterable[str]) -> None:
        super().__init__()
        self._exact = {ALIASES.get(name, name) for name in alternatives if name[-1] != "*"}
        self._prefixes = tuple(name[:-1] for name in alternatives if name[-1] == "*")

    def __missing__(self, label: str) -> bool:
        self[label] = label in self._exact or label.startswith(self._prefixes)
        return self[label]


def compile_pattern(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return the test that a pattern stands for; raises ValueError for what is not a pattern."""
    tests = [_compile_alternatives(part, definitions) for part in text.split(", ")]
    return _all_of(tests)


def _all_of(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        one, two = tests
        return lambda node: one(node) and two(node)
    if len(tests) == 3:
        one, two, three = tests
        return lambda node: one(node) and two(node) and three(node)
    return lambda node: all([test(node) for test in tests])


def any_of(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]

    def test_any(node: Node) -> bool:
        return any(test(node) for test in tests)

    return test_any


def _compile_alternatives(text: str, definitions: Mapping[str, Test]) -> Test:
    return any_of([_compile_condition(part.split(), definitions) for part in text.split(" or ")])


def _compile_condition(parts: list[str], definitions: Mapping[str, Test]) -> Test:
    if parts and parts[0] == "not":
        positive = _compile_condition(parts[1:], definitions)
        return lambda node: not positive(node)
    if len(parts) == 1:
        return compile_test(parts[0], definitions)
    if not parts or parts[0] not in STEPS:
        raise ValueError(f"not a condition: {' '.join(parts)}")
    step, rest = STEPS[parts[0]], _compile_condition(parts[1:], definitions)

    def follow(node: Node) -> bool:
        for other in step(node):  # noqa: SIM110 - a loop is faster than a generator
            if rest(other):
                return True
        return False

    return follow


def compile_test(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return the test of a node's label and words: `NP`, `VB*/be|have`, `NP-TMP|time`."""
    labels, _, words = text.partition("/") if len(text) > 1 else (text, "", "")
    labels = labels or "*"
    plain: list[str] = []
    tests: list[Test] = []
    for name in labels.split("|"):
        if name in definitions:
            tests.append(definitions[name])
        elif "-" in name and name[0] != "-":
            tests.append(_tagged(*name.split("-")))
        elif name == name.upper() or name in ALIASES:
            plain.append(name)
        else:
            raise ValueError(f"there is no pattern with the name {name}")
    if plain:
        table = _Labels(plain)
        tests.append(lambda node: table[node.label])
    test = (lambda node: True) if plain == ["*"] else any_of(tests)
    if not words:
        return test
    names = frozenset(words.split("|"))
    if plain == ["*"]:
        return lambda node: node.head.closed_class in names
    return lambda node: node.head.closed_class in names and test(node)


def _tagged(label: str, tag: str) -> Test:
    letter = tag[0]
    return lambda node: node.label == label and letter in node.function_tags


Path = Callable[[Node], Node | None]


def compile_path(text: str, definitions: Mapping[str, Test]) -> Path:
    """Return the way to another node: `next CD`, `parent prev VBG`; the nearest node is taken."""
    steps = text.split()
    last = "*" if steps[-1] in STEPS else steps.pop()
    functions = [STEPS[step] for step in steps]
    test = compile_test(last, definitions)

    def find(node: Node, depth: int = 0) -> Node | None:
        if depth == len(functions):
            return node if test(node) else None
        nodes = functions[depth](node)
        for other in reversed(nodes) if steps[depth] == "after" else nodes:  # type: ignore[call-overload]
            found = find(other, depth + 1)
            if found is not None:
                return found
        return None

    return find


def label_test(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return a quick test that every node passes that passes `compile_test(text)`.

    It depends on nothing but the node's label.
    """
    names = text.partition("/")[0].split("|")
    if any(name in definitions for name in names):
        return lambda node: True
    table = _Labels([name.split("-")[0] if name[0] != "-" else name for name in names])
    return lambda node: table[node.label]
