"""Head children by rules, after Magerman (1995) and Collins (1999, appendix A).

Content words are preferred over function words, as Stanford dependencies require (de Marneffe et
al., 2006). The rules alone are correct for seven in eight constituents; the linear model that
chooses head children uses their choice as one observation.
"""

from depkit.convert.constituents import PUNCTUATION, Node

# For each category, the labels of head children in order of preference; the children are searched
# from the left (<) or from the right (>).
RULES = {
    "S": "> VP S SBAR ADJP UCP NP",
    "SQ": "> SQ VP NP ADJP VBZ VBD VBP VB MD",
    "SINV": "> VP S VBZ VBD VBP VB MD SINV ADJP NP",
    "SBARQ": "> SQ S SINV SBARQ FRAG",
    "SBAR": "> S SQ SINV SBAR FRAG VP WHNP WHPP WHADVP WHADJP IN DT",
    "VP": "< VP ADJP NP VBD VBN VBZ VBG VBP VB MD TO NN NNS JJ PP S SBAR",
    "NP": "> NN NNS NNP NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP",
    "NX": "> NN NNS NNP NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP",
    "QP": "> $ NNS NN CD JJ RB DT JJR JJS",
    "ADJP": "> JJ JJR JJS VBN VBG ADJP NN NNS $ QP RB NP",
    "ADVP": "> RB RBR RBS IN ADVP JJ JJR NP CD RP",
    "PP": "< IN TO VBG VBN RP PP FW JJ RB",
    "PRT": "< RP",
    "CONJP": "> CC RB IN",
    "WHNP": "< NN NNS WP WDT WP$ WHNP NP WHADJP WHPP",
    "WHADVP": "> WRB WHADVP CC",
    "WHPP": "< IN TO",
    "X": "> NN NNS NNP",
}
_PARSED_RULES = {label: (rule[0] == "<", rule[1:].split()) for label, rule in RULES.items()}
_NEVER_HEAD = PUNCTUATION | {"CC", "PRN"}


def head_by_rule(node: Node) -> int:
    """Return the index of a constituent's head child by the rules."""
    children = node.children
    if node.label in ("NP", "NX") and children[0].label == "NP" and children[-1].label[0] != "N":
        return 0
    from_left, preferred_labels = _PARSED_RULES.get(node.label, (True, []))
    indices = range(len(children)) if from_left else range(len(children) - 1, -1, -1)
    labels = [child.label for child in children]
    for label in preferred_labels:
        if label in labels:
            return next(index for index in indices if labels[index] == label)
    return next((index for index in indices if labels[index] not in _NEVER_HEAD), indices[0])
