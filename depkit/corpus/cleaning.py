"""What parsers and converters keep of a bracketed tree: its words and the constituents over them.

`prepare_tree` prepares trees as Kitaev and Klein (2018) and the parsers before them do. Chains of
unary constituents are handled in `spans`.
"""

from depkit.corpus.tree import Tree

WRAPPERS = ("", "TOP", "ROOT", "S1")  # labels of a bracket around a whole tree
EMPTY = "-NONE-"  # the tag of traces and other empty elements


def clean_tree(tree: Tree) -> Tree | None:
    """Return a tree without empty elements and without its outer bracket.

    Constituents that contain nothing but empty elements are removed as well. An outer bracket has
    no label, or the label TOP, ROOT or S1. If it contains a single constituent or word, it is
    removed, and its label is the attribute `wrapper` of the result. If several such brackets are
    nested, all are removed, and `wrapper` is the label of the outermost one. The attribute
    `source` is kept. Returns None if there are no words.
    """
    clean = remove_empty_elements(tree)
    root = clean
    while root and _is_outer(root) and len(root.children) == 1:
        root = root.children[0]
    if not clean or not root or clean is root is tree:
        return clean
    wrapper = None if root is clean else clean.name
    return Tree(root.name, root.children, root.word, root.line, wrapper=wrapper, source=tree.source)


def _is_outer(tree: Tree) -> bool:
    return tree.name in WRAPPERS and len(tree.children) > 0


def find_wrapper(tree: Tree) -> str | None:
    """Return the label of the outer bracket that a tree had in its file, None if it had none.

    tree: as `clean_tree` returns it.
    """
    if tree.wrapper is None and _is_outer(tree):
        return tree.name
    return tree.wrapper


def restore_wrapper(tree: Tree) -> Tree:
    """Return a tree with the outer bracket `tree.wrapper`, if that is not None.

    If the root of the tree is itself an outer bracket, the new one replaces it.
    """
    if tree.wrapper is None:
        return tree
    return Tree(tree.wrapper, tree.children if _is_outer(tree) else [tree])


def remove_empty_elements(tree: Tree) -> Tree | None:
    """Return a tree without empty elements, or the tree itself if it has none.

    Constituents that contain nothing else are removed as well. Returns None if no word is left.
    """
    nodes = tree.nodes()
    if not any(not node.children and (node.name == EMPTY or not node.word) for node in nodes):
        return tree
    results: list[Tree | None] = []  # a stack of subtrees whose parent has not been built yet
    for node in reversed(nodes):  # children before their parents
        first_child = len(results) - len(node.children)
        children = [child for child in results[first_child:] if child]
        is_kept = children or (node.word and node.name != EMPTY)
        new = Tree(node.name, children, node.word, node.line) if is_kept else None
        results[first_child:] = [new]
    return results[0]


def prepare_tree(tree: Tree) -> Tree:
    """Return a clean tree with the labels that a constituency parser predicts.

    Function tags, co-indices and features are removed from labels and tags, and only the first of
    several alternative labels remains: NP-SBJ-1 becomes NP, PRT|ADVP becomes PRT. The root is
    always a constituent with a label: if it is a word or has no label, it becomes TOP.

    tree: as `clean_tree` returns it.
    """
    results: list[Tree] = []
    for node in reversed(tree.nodes()):  # children before their parents
        first_child = len(results) - len(node.children)
        label = node.label.split("|")[0] if node.children else node.label
        results[first_child:] = [Tree(label, results[first_child:], node.word, node.line)]
    root = results[0]
    if not root.children:
        return Tree("TOP", [root], "", root.line)
    return root if root.name else Tree("TOP", root.children, "", root.line)
