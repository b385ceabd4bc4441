"""Random trees with the labels of the Penn Treebank."""

from hypothesis import strategies as st

from depkit.corpus.tree import Tree

labels = st.sampled_from(
    "S SBAR SQ SINV SBARQ VP NP NP-TMP NX QP PP ADJP ADVP-TMP S-ADV UCP CONJP PRN FRAG INTJ X WHNP"
    " TOP NAC ODD".split()
)
tags = st.sampled_from(
    "NN NNS NNP CD $ JJ JJR RB DT PRP IN TO VB VBD VBN VBG VBZ MD CC , . : `` '' POS EX WDT WP RP"
    " -LRB- UNKNOWN".split()
)
forms = st.sampled_from("the more than is been to million and today not at least x".split())


def phrases(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.builds(Tree, labels, st.lists(children, min_size=1, max_size=6))


trees = st.recursive(st.builds(Tree, tags, st.just(()), forms), phrases, max_leaves=40)
