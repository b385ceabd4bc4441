"""Random constituency trees."""

from hypothesis import strategies as st

from depkit.corpus.tree import Tree, escape_form

names = st.sampled_from(["S", "NP-SBJ-1", "VP", "PP=2", "X", "ADVP|PRT"])
words = st.text(st.characters(exclude_characters="() \t\r\n\f\v", codec="utf-8"), min_size=1)
leaves = st.builds(lambda tag, word: Tree(tag, (), word), st.sampled_from(["NN", ".", "-LRB-"]),
                   words.map(escape_form))  # fmt: skip
trees = st.recursive(
    st.builds(lambda leaf: Tree("FRAG", [leaf]), leaves),
    lambda children: st.builds(Tree, names, st.lists(children | leaves, min_size=1, max_size=4)),
    max_leaves=20,
)
