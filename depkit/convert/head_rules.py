"""Head children by table, after Magerman (1995) and Collins (1999, appendix A).

With content words before function words, as Stanford dependencies want them: de Marneffe et al.
(2006). The tables alone are right for seven in eight constituents; the learned choice takes
their answer as one observation.
"""

from depkit.convert.constituents import PUNCTUATION, Node

# Which child is the head, by category: labels in order of preference, sought from the left (<) or
# from the right (>).
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
_RULES = {label: (rule[0] == "<", rule[1:].split()) for label, rule in RULES.items()}
_NEVER = PUNCTUATION | {"CC", "PRN"}


def by_rule(node: Node) -> int:
    """The place of a constituent's head child by the tables."""
    kids = node.kids
    if node.label in ("NP", "NX") and kids[0].label == "NP" and kids[-1].label[0] != "N":
        return 0
    forward, wanted = _RULES.get(node.label, (True, []))
    places = range(len(kids)) if forward else range(len(kids) - 1, -1, -1)
    labels = [kid.label for kid in kids]
    for label in wanted:
        if label in labels:
            return next(place for place in places if labels[place] == label)
    return next((place for place in places if labels[place] not in _NEVER), places[0])
