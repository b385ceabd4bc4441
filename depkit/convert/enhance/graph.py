"""The graph of a sentence while enhanced dependencies are added to its tree."""

from collections.abc import Iterator, Sequence

from depkit.corpus.enhanced import PATH, Relation
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation
from depkit.files.errors import FormatError

WH_TAGS = ("WDT", "WP", "WP$", "WRB")  # of the Penn Treebank: interrogative and relative words


class GrowingGraph:
    """The tree of a sentence, and its enhanced relations so far, which begin as those of the tree.

    Words are numbered from 1; 0 is the root. All lists have an entry for the root.

    universal: [words + 1] The relations of the tree without their subtypes.
    children: [words + 1] The dependents in the tree, in the order of the sentence.
    relations: [words + 1] The enhanced heads and labels of each word, as the keys of a dict.
    added: [words + 1] The dependents and labels of the relations that were added to each head.

    Raises FormatError if the heads are not a tree.
    """

    def __init__(self, sentence: Sentence) -> None:
        self.head = [0, *sentence.head]
        self.deprel = ["", *sentence.deprel]
        self.universal = [base_relation(label) for label in self.deprel]
        self.form = ["", *sentence.form]
        # Words without a lemma are known by their form; for function words, it is mostly the lemma.
        pairs = zip(sentence.form, sentence.lemma, strict=True)
        self.lemma = ["", *(form.lower() if lemma == "_" else lemma for form, lemma in pairs)]
        self.upos = ["", *sentence.upos]
        self.feats = ["", *sentence.feats]
        # The tags that stand for PronType in a sentence without FEATS
        self.wh_tags = WH_TAGS if set(sentence.feats) == {"_"} else ()
        self.xpos = ["", *sentence.xpos]
        self.size = len(self.head)
        self.children: list[list[int]] = [[] for _ in self.head]
        for word in self.words():
            self.children[self.head[word]].append(word)
        if min(self.head) < 0 or len(list(self.subtree(0))) < self.size:
            message = "the heads are not a tree, to which enhanced dependencies could be added"
            raise FormatError(*sentence.location(), f"{message}; see depkit check")
        self.relations: list[dict[Relation, None]] = [
            {pair: None} for pair in zip(self.head, self.deprel, strict=True)
        ]
        self.relations[0] = {}
        self.added: list[list[tuple[int, str]]] = [[] for _ in self.head]
        self._coordinators: dict[int, dict[int, list[int]]] = {}

    def words(self) -> range:
        return range(1, self.size)

    def dependents(self, word: int, *relations: str) -> list[int]:
        """Return the dependents in the tree with one of the given universal relations."""
        return [child for child in self.children[word] if self.universal[child] in relations]

    def add(self, word: int, head: int, label: str) -> None:
        """Add a relation, unless the word has it or the head is the word itself."""
        if word != head and (head, label) not in self.relations[word]:
            self.relations[word][head, label] = None
            self.added[head].append((word, label))

    def arguments(self, head: int, *relations: str) -> list[tuple[int, str]]:
        """Return the first dependent with one of the given universal relations, and its conjuncts.

        Relations that have been added count as well. Returns words and labels.
        """
        pairs = [(child, self.deprel[child]) for child in self.children[head]]
        found = [
            (word, label)
            for word, label in sorted(pairs + self.added[head])
            if base_relation(label) in relations
        ]
        return [x for x in found if self.first_conjunct(x[0]) == self.first_conjunct(found[0][0])]

    def coordinators(self, word: int) -> list[int]:
        """Return the coordinators of a conjunct, else of the next one, else of the previous one."""
        head = self.head[word]
        if head not in self._coordinators:
            conjuncts = self.dependents(head, "conj")
            own = [self.dependents(conjunct, "cc") for conjunct in conjuncts]
            # The backward pass copies the coordinators of the next conjunct, the forward pass those
            # of the previous one to conjuncts that have none after them.
            for order in (reversed(range(len(own))), iter(range(len(own)))):
                last: list[int] = []
                for index in order:
                    last = own[index] = own[index] or last
            self._coordinators[head] = dict(zip(conjuncts, own, strict=True))
        return self._coordinators[head][word]

    def first_conjunct(self, word: int) -> int:
        """Return the first conjunct of the outermost coordination of a word, or the word itself.

        A root that is itself called `conj` is the first conjunct.
        """
        while self.universal[word] == "conj" and self.head[word]:
            word = self.head[word]
        return word

    def is_elided(self, word: int) -> bool:
        """Return whether a word has been attached to an elided predicate."""
        return any(PATH in label for _, label in self.relations[word])

    def has_feature(self, word: int, *features: str) -> bool:
        return not set(features).isdisjoint(self.feats[word].split("|"))

    def subtree(self, word: int, without: Sequence[str] = ()) -> Iterator[int]:
        """Yield a word and its descendants, nearest first.

        without: the relations of the dependents whose subtrees are left out.
        """
        queue = [word]
        for found in queue:
            yield found
            queue += [child for child in self.children[found] if self.deprel[child] not in without]
