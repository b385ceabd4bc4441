"""Patterns of nodes in a constituency tree: the language of the tables of rules.

A pattern is a list of conditions on a node, separated by commas, all of which must hold. A
condition is a path followed by a test: `prev VB*/be` is true if the sibling right before the node
is a form of the verb `be`. The steps of a path are the names in STEPS; without a path, the test is
of the node itself. If a step leads to several nodes, one that passes the rest is enough.

A test is one or more alternatives, separated by `|`: a label (`NP`), the beginning of a label
(`VB*`), a label with a function tag (`NP-TMP`), any label (`*`), or the name of a pattern that was
defined before; `comma`, `colon` and `dollar` are the labels of these signs. After `/` follow words,
one of which must be the node's head word; `lexicon` names them. `not` before a condition negates
it; `or` between conditions means that one of them is enough, and binds more closely than a comma.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from depkit.convert.constituents import FUNCTION_TAGS, REACH, Node
from depkit.convert.coordination import STEPS as COORDINATION_STEPS
from depkit.convert.gaps import STEPS as GAP_STEPS

Test = Callable[[Node], bool]
Step = Callable[[Node], Sequence[Node]]
Path = Callable[[Node], Node | None]

ALIASES = {"comma": ",", "colon": ":", "dollar": "$"}


def _preceding(node: Node) -> Sequence[Node]:
    index = node.child_index
    return node.parent.children[max(0, index - REACH) : index] if node.parent else ()


def _following(node: Node) -> Sequence[Node]:
    index = node.child_index + 1
    return node.parent.children[index : index + REACH] if node.parent else ()


def _between(node: Node) -> Sequence[Node]:
    if not node.parent:
        return ()
    index, head = node.child_index, node.parent.head_child.child_index
    start = min(index, head) + 1
    return node.parent.children[start : min(max(index, head), start + REACH)]


def _ancestors(node: Node) -> Sequence[Node]:
    ancestors = []
    while node.parent:
        node = node.parent
        ancestors.append(node)
    return ancestors


def _clause(node: Node) -> Sequence[Node]:
    while node.parent:
        node = node.parent
        if node.label in ("S", "SQ", "SINV"):
            return (node,)
    return ()


def _spine(node: Node) -> Sequence[Node]:
    spine = [node]
    while node.children:
        node = node.head_child
        spine.append(node)
    return spine


STEPS: dict[str, Step] = {
    "prev": lambda node: _preceding(node)[-1:],  # the sibling right before the node
    "next": lambda node: _following(node)[:1],  # the sibling right after it
    "after": _preceding,  # any sibling before the node, which is after it
    "before": _following,  # any sibling after the node, which is before it
    "between": _between,  # any sibling between the node and its parent's head child
    "parent": lambda node: (node.parent,) if node.parent else (),
    "inside": _ancestors,  # any constituent around the node
    "clause": _clause,  # the smallest clause around the node
    "head": lambda node: (node.parent.head_child,) if node.parent else (),
    "word": lambda node: (node.head,),  # the head word
    "core": lambda node: (node.head_child,) if node.children else (),
    "spine": _spine,  # the node, its head child, the head child of that one, and so on
    "has": lambda node: node.children[:REACH],  # any child
    "first": lambda node: node.children[:1],
    "last": lambda node: node.children[-1:],
    **COORDINATION_STEPS,
    **GAP_STEPS,
}


class _Labels(dict[str, bool]):
    """Whether a label is one of some alternatives, each a label or the beginning of one (`VB*`)."""

    def __init__(self, alternatives: Sequence[str]) -> None:
        super().__init__()
        self._exact = {ALIASES.get(name, name) for name in alternatives if name[-1] != "*"}
        self._beginnings = tuple(name[:-1] for name in alternatives if name[-1] == "*")

    def __missing__(self, label: str) -> bool:
        self[label] = label in self._exact or label.startswith(self._beginnings)
        return self[label]


def compile_pattern(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return the test that a pattern stands for; raises ValueError for what is not a pattern."""
    return _all_of([_compile_alternatives(part, definitions) for part in text.split(", ")])


def compile_path(text: str, definitions: Mapping[str, Test]) -> Path:
    """Return a function that finds the nearest node at the end of a path, such as `next CD`."""
    steps = text.split()
    test = compile_test("*" if steps[-1] in STEPS else steps.pop(), definitions)
    functions = [(STEPS[step], step == "after") for step in steps]

    def find(node: Node, depth: int = 0) -> Node | None:
        if depth == len(functions):
            return node if test(node) else None
        step, is_reversed = functions[depth]
        nodes = step(node)
        for other in reversed(nodes) if is_reversed else nodes:
            found = find(other, depth + 1)
            if found is not None:
                return found
        return None

    return find


def compile_test(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return the test of a node's label and words: `NP`, `VB*/be|have`, `NP-TMP|time`."""
    names, words = _split_test(text)
    plain = [name for name in names if name not in definitions and not _has_function_tag(name)]
    for name in plain:
        if name != name.upper() and name not in ALIASES:
            raise ValueError(f"there is no pattern with the name {name}")
    tests = [definitions[name] for name in names if name in definitions]
    tests += [_tagged(name) for name in names if _has_function_tag(name)]
    if plain:
        table = _Labels(plain)
        tests.append(lambda node: table[node.label])
    test = any_of(tests)
    if not words:
        return test
    if plain == ["*"]:
        return lambda node: node.head.closed_class in words
    return lambda node: node.head.closed_class in words and test(node)


def label_test(text: str, definitions: Mapping[str, Test]) -> Test:
    """Return a test of the label alone, which all nodes pass that pass `compile_test(text)`."""
    names, _ = _split_test(text)
    if any(name in definitions for name in names):
        return lambda node: True
    table = _Labels([name.split("-")[0] if _has_function_tag(name) else name for name in names])
    return lambda node: table[node.label]


def any_of(tests: Sequence[Test]) -> Test:
    """Return a test that is true if one of some tests is."""
    if len(tests) == 1:
        return tests[0]

    def test_any(node: Node) -> bool:
        for test in tests:
            if test(node):
                return True
        return False

    return test_any


def _all_of(tests: Sequence[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    first, rest = tests[0], _all_of(tests[1:])
    return lambda node: first(node) and rest(node)


def _compile_alternatives(text: str, definitions: Mapping[str, Test]) -> Test:
    return any_of([_compile_condition(part.split(), definitions) for part in text.split(" or ")])


def _compile_condition(parts: Sequence[str], definitions: Mapping[str, Test]) -> Test:
    if parts[:1] == ["not"]:
        negated = _compile_condition(parts[1:], definitions)
        return lambda node: not negated(node)
    if len(parts) == 1:
        return compile_test(parts[0], definitions)
    if not parts or parts[0] not in STEPS:
        raise ValueError(f"not a condition: {' '.join(parts)}")
    step, rest = STEPS[parts[0]], _compile_condition(parts[1:], definitions)

    def follow(node: Node) -> bool:
        for other in step(node):
            if rest(other):
                return True
        return False

    return follow


def _split_test(text: str) -> tuple[list[str], frozenset[str]]:
    labels, _, words = text.partition("/") if len(text) > 1 else (text, "", "")
    return labels.split("|"), frozenset(filter(None, words.split("|")))


def _has_function_tag(name: str) -> bool:
    return name.rpartition("-")[2] in FUNCTION_TAGS


def _tagged(name: str) -> Test:
    label, _, tag = name.rpartition("-")
    letter = FUNCTION_TAGS[tag]
    return lambda node: node.label == label and letter in node.function_tags


def read_definitions(text: str, builtin: Mapping[str, Test]) -> dict[str, Test]:
    """Read named patterns, `name := pattern` on each line; lines of one name are alternatives.

    `builtin` are patterns that are defined in Python. Raises ValueError for what is no definition.
    """
    definitions = dict(builtin)
    for line in _content_lines(text):
        name, sign, pattern = line.partition(" := ")
        if not sign:
            raise ValueError(f"not a definition: {line}")
        test = compile_pattern(pattern, definitions)
        definitions[name] = any_of([definitions[name], test]) if name in definitions else test
    return definitions


def _content_lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines() if line and not line.startswith("# "))
