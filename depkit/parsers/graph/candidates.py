"""Parsing where scores are decoded on the host: fixed arcs, several trees, minimum risk.

The scores of all arcs are copied to the host, and arcs that the annotation excludes are masked.
Then trees are decoded, and labels are scored for the arcs that occur in them, each arc once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from depkit.corpus.probabilities import add_probabilities, add_tree_rank
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.columns.arrays import log_softmax
from depkit.parsers.graph.constraints import Constraints, allowed_arcs, read_constraints
from depkit.parsers.graph.valid import CANDIDATES, choose_valid_tree, mask_punctuation
from depkit.treebank.valid_labels import crosses_arcs
from depkit.trees.best_heads import best_heads
from depkit.trees.decode import NoTreeError, decode
from depkit.trees.k_best import decode_best
from depkit.trees.marginals import batch_marginals
from depkit.trees.partition import log_partition

if TYPE_CHECKING:
    from depkit.parsers.graph.parser import GraphParser

MBR = "mbr"  # the decoder of minimum risk


@dataclass(frozen=True)
class Request:
    """What is asked of the decoder; the fields are arguments of `Parser.parse`."""

    algorithm: str
    single_root: bool
    best: int = 1
    keeps_heads: bool = False
    valid: bool = False
    probabilities: str = ""


class Arcs(NamedTuple):
    """The different arcs in the trees of a batch, and their labels; [arcs] each."""

    code: np.ndarray  # (row * length + dependent) * length + head, in rising order
    label: np.ndarray  # the index of the best label
    log_probability: np.ndarray  # the logarithm of the label's probability given the arc


def parse_candidates(
    parser: "GraphParser", batch: Any, sentences: Sequence[Sentence], tags: str, *, request: Request
) -> list[list[Sentence]]:
    """Parse the sentences of a batch; return the trees of each, the best one first.

    Raises FormatError if the annotation of a sentence excludes all trees.
    """
    scores = parser.network.score(batch)
    arc = scores.fetch_arcs()
    num_words = np.array([len(sentence) for sentence in sentences])
    unknown = parser.tagging.unknown_words(sentences)
    best_columns = scores.fetch_columns(unknown)
    columns = list(parser.tagging.columns(sentences, unknown, best_columns, tags))
    constraints: list[Constraints] | None = None
    allowed = None
    if request.valid:
        upos = [_external_tags(*pair) for pair in zip(sentences, columns, strict=True)]
        allowed = np.ones(arc.shape, np.bool_)
        for row, values in enumerate(upos):
            part = slice(0, len(values) + 1)
            mask_punctuation(allowed[row, part, part], np.array(values) == "PUNCT")
    if request.keeps_heads:
        constraints = [read_constraints(sentence) for sentence in sentences]
        allowed = allowed_arcs(constraints, arc.shape[1], parser.root_deprel)
    try:
        trees, marginals = decode_trees(
            arc, num_words, allowed, request=request,
            temperature=parser.config.calibration.marginal,
        )  # fmt: skip
    except NoTreeError as error:
        kind = "projective tree" if request.algorithm == "eisner" else "tree"
        raise FormatError(
            *sentences[error.index].location(),
            f"no {kind} agrees with HEAD and DEPREL of the words and with Heads, NotHead and"
            " Deprels in MISC",
        ) from None
    if request.valid and allowed is not None:
        chooser = _ValidTrees(parser, scores, arc=arc, allowed=allowed, request=request)
        trees, arcs = chooser.choose(sentences, trees, upos)
    else:
        arcs = label_arcs(parser, scores, trees, constraints, length=arc.shape[1])
    writer = _Writer(
        parser, arc, allowed=allowed, constraints=constraints, request=request, marginals=marginals
    )
    results = [
        list(writer.make_sentences(sentence, row, trees[row], arcs=arcs, columns=columns[row]))
        for row, sentence in enumerate(sentences)
    ]
    best = parser.add_deps(scores.graph, [parsed[0] for parsed in results])
    return [[first, *others] for first, (_, *others) in zip(best, results, strict=True)]


def _external_tags(sentence: Sentence, columns: dict[str, list[str]]) -> list[str]:
    """Return the tag of each word, or its feature ExtPos, the tag of the fixed expression it heads.

    columns: the predicted columns.
    """
    tags = list(columns.get("upos", sentence.upos))
    for i, feats in enumerate(columns.get("feats", sentence.feats)):
        if "ExtPos=" in feats:
            tags[i] = feats.partition("ExtPos=")[2].partition("|")[0]
    return tags


def mask_arcs(scores: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """Return scores with -inf at arcs that are not allowed, if any arc is not."""
    return scores if allowed is None else np.where(allowed, scores, np.float32("-inf"))


def decode_trees(
    arc: np.ndarray,
    num_words: np.ndarray,
    allowed: np.ndarray | None,
    *,
    request: Request,
    temperature: float,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Decode the best trees of each sentence of a batch.

    Args:
        arc: Arc scores, [batch, dependent, head].
        num_words: [batch].
        allowed: The result of `allowed_arcs`; None if all arcs are allowed.
        request: The decoder and the number of trees.
        temperature: That of the marginal probabilities.

    Returns:
        The heads of the trees of each sentence, [trees, n]; and the marginal probabilities of all
        arcs, [batch, dependent, head], if they are needed.

    Raises:
        NoTreeError: No tree has allowed arcs only.
    """
    algorithm, single_root = request.algorithm, request.single_root
    scores = mask_arcs(log_softmax(arc), allowed)
    marginals = None
    if algorithm == MBR or request.probabilities == "marginal":
        masked = mask_arcs(arc, allowed).astype(np.float64) / temperature
        marginals = batch_marginals(masked, num_words, single_root)
    if algorithm == MBR and marginals is not None:
        # The expected number of correct heads of a tree is the sum of their probabilities.
        algorithm, scores = "mst", np.where(scores > -np.inf, marginals, -np.inf)
    if request.best > 1:
        return decode_best(
            scores, num_words, request.best, algorithm, single_root=single_root
        ), marginals
    heads, are_decoded = best_heads(scores, num_words + 1, algorithm, single_root)
    undecoded = np.flatnonzero(~are_decoded)
    if undecoded.size:
        try:
            heads[undecoded] = decode(
                scores[undecoded], num_words[undecoded], algorithm, single_root
            )
        except NoTreeError as error:
            raise NoTreeError(str(error), int(undecoded[error.index])) from None
    trees = [head[None, 1 : n + 1] for head, n in zip(heads, num_words, strict=True)]
    return trees, marginals


def label_arcs(
    parser: "GraphParser",
    scores: Any,
    trees: Sequence[np.ndarray],
    constraints: Sequence[Constraints] | None,
    *,
    length: int,
) -> Arcs:
    """Label the arcs of the trees of a batch; a word with a fixed label has any label here."""
    codes = []
    for index, heads in enumerate(trees):
        words = np.arange(1, heads.shape[1] + 1)
        codes.append(((index * length + words) * length + heads).ravel())
    code = np.unique(np.concatenate(codes))
    row, dependent, head = code // length**2, code // length % length, code % length
    labels = scores.fetch_labels(row, dependent, head)  # [arcs, label]
    impossible = mask_root_labels(head, labels.shape[1], parser.root_label)
    indices = parser.vocabulary.columns["deprel"].indices
    for number, sentence in enumerate(constraints or ()):
        for word, names in sentence.possible_labels.items():
            excluded = np.ones(labels.shape[1], np.bool_)
            excluded[[indices[name] for name in names]] = False
            for i in np.flatnonzero((row == number) & (dependent == word)).tolist():
                # A fixed head can contradict the rule of the root's label, which then yields.
                both = impossible[i] | excluded
                impossible[i] = excluded if both.all() else both
    labels = np.where(impossible, np.float32("-inf"), labels)
    best = labels.argmax(-1)
    log_probability = log_softmax(labels / np.float32(parser.config.calibration.label))
    return Arcs(code, best, np.take_along_axis(log_probability, best[:, None], 1)[:, 0])


def mask_root_labels(heads: np.ndarray, labels: int, root_label: int | None) -> np.ndarray:
    """Return which labels are impossible because only children of the root have the root's label.

    heads: [arcs]; labels: the number of labels; root_label: the index of the root's label, None if
    all labels are possible everywhere. Returns [arcs, label] bool.
    """
    if root_label is None:
        return np.zeros((len(heads), labels), np.bool_)
    impossible: np.ndarray = (heads == 0)[:, None] != (np.arange(labels) == root_label)
    return impossible


class _ValidTrees:
    """Chooses valid trees of the sentences of a batch with their relations."""

    def __init__(
        self,
        parser: "GraphParser",
        scores: Any,
        *,
        arc: np.ndarray,
        allowed: np.ndarray,
        request: Request,
    ) -> None:
        self.scores, self.request, self.length = scores, request, arc.shape[1]
        self.rules, self.root_label = parser.valid_labels, parser.root_label
        self.temperature = np.float32(parser.config.calibration.label)
        marginal = np.float32(parser.config.calibration.marginal)
        self.arc = mask_arcs(log_softmax(arc / marginal), allowed)
        self.labels: dict[int, np.ndarray] = {}  # [label] by the code of an arc, see `Arcs`

    def choose(
        self, sentences: Sequence[Sentence], trees: Sequence[np.ndarray], upos: Sequence[list[str]]
    ) -> tuple[list[np.ndarray], Arcs]:
        """Return the valid trees, [1, n] each, and their arcs.

        trees: the best trees, [1, n]; upos: the tags of each sentence.

        Raises FormatError at a sentence for which the model does not have the relations.
        """
        pairs = enumerate(trees)
        self._fetch(np.concatenate([self._code(row, heads[0]) for row, heads in pairs]))
        chosen, codes, labels, log_probability = [], [], [], []
        for row, tags in enumerate(upos):
            words = np.arange(1, len(tags) + 1)
            result = self._choose_one(row, trees[row], tags)
            if result is None:
                raise FormatError(
                    *sentences[row].location(),
                    "the model does not have the relations that a valid tree of this sentence"
                    " needs, such as root and punct",
                )
            heads, label = result
            chosen.append(heads[None])
            codes.append(self._code(row, heads))
            labels.append(label)
            table = self._score(row, heads)
            log_probability.append(table[words - 1, label])
        return chosen, Arcs(*map(np.concatenate, (codes, labels, log_probability)))

    def _choose_one(
        self, row: int, trees: np.ndarray, tags: list[str]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the heads of a valid tree of a sentence and the indices of their relations."""
        n = len(tags)
        heads = trees[0]
        is_punct = np.array(tags) == "PUNCT"
        table = self._score(row, heads)
        if not (crosses_arcs(heads) & is_punct).any():
            result = self.rules.choose(heads, tags, table)
            if result is not None and (result[0] == table.argmax(1)).all():
                return heads, result[0]
        algorithm = "eisner" if self.request.algorithm == "eisner" else "mst"
        scores = self.arc[row, : n + 1, : n + 1]
        more = decode_best(
            scores[None], [n], CANDIDATES, algorithm, single_root=self.request.single_root
        )[0]
        return choose_valid_tree(
            scores, np.concatenate((trees, more)), tags, rules=self.rules,
            score_labels=partial(self._score, row),
        )  # fmt: skip

    def _code(self, row: int, heads: np.ndarray) -> np.ndarray:
        words = np.arange(1, len(heads) + 1)
        code: np.ndarray = (row * self.length + words) * self.length + heads
        return code

    def _score(self, row: int, heads: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the relations of the arcs of a tree, [n, label]."""
        codes = self._code(row, heads)
        self._fetch(codes)
        return np.stack([self.labels[code] for code in codes.tolist()])

    def _fetch(self, codes: np.ndarray) -> None:
        """Compute the log-probabilities of the relations of those arcs that are not known yet."""
        new = np.array([code for code in codes.tolist() if code not in self.labels], np.int64)
        if new.size:
            length = self.length
            head = new % length
            labels = self.scores.fetch_labels(new // length**2, new // length % length, head)
            impossible = mask_root_labels(head, labels.shape[1], self.root_label)
            labels = np.where(impossible, np.float32("-inf"), labels)
            self.labels |= zip(new.tolist(), log_softmax(labels / self.temperature), strict=True)


class _Writer:
    """Makes the sentences of a batch from their trees, with probabilities if they are asked for."""

    def __init__(
        self,
        parser: "GraphParser",
        arc: np.ndarray,
        *,
        allowed: np.ndarray | None,
        constraints: Sequence[Constraints] | None,
        request: Request,
        marginals: np.ndarray | None,
    ) -> None:
        self.parser, self.arc, self.allowed = parser, arc, allowed
        self.constraints, self.request, self.marginals = constraints, request, marginals

    def make_sentences(
        self,
        sentence: Sentence,
        row: int,
        trees: np.ndarray,
        *,
        arcs: Arcs,
        columns: dict[str, list[str]],
    ) -> Iterator[Sentence]:
        """Yield a sentence with each of its trees, [trees, n]; columns: further ones to change."""
        n, length = len(sentence), self.arc.shape[1]
        words = np.arange(1, n + 1)
        symbols = self.parser.vocabulary.columns["deprel"].symbols
        fixed = self.constraints[row].labels if self.constraints else {}
        arc_probability = self._arc_probabilities(row, n) if self.request.probabilities else None
        tree_probability = self._tree_probabilities(row, trees) if self.request.best > 1 else None
        for number, heads in enumerate(trees):
            index = np.searchsorted(arcs.code, (row * length + words) * length + heads)
            label_probability = arcs.log_probability[index].astype(np.float64)
            label_probability[[word - 1 for word in fixed]] = 0.0
            deprels = [
                fixed.get(word) or symbols[label]
                for word, label in enumerate(arcs.label[index].tolist(), start=1)
            ]
            changed = dict(columns)
            if arc_probability is not None:
                changed["misc"] = add_probabilities(
                    sentence.column("misc"),
                    arc_probability[words - 1, heads].tolist(),
                    np.exp(label_probability).tolist(),
                )
            if self.request.keeps_heads and sentence.is_annotated:
                result = sentence.with_columns(changed)  # DEPS and empty nodes fit the tree.
            else:
                result = sentence.with_tree(heads.tolist(), deprels, changed)
            if tree_probability is not None:
                probability = np.exp(tree_probability[number] + label_probability.sum())
                result = add_tree_rank(result, number + 1, len(trees), float(probability))
            yield result

    def _masked(self, row: int, n: int) -> np.ndarray:
        """Return the scores of the allowed arcs of a sentence, [n + 1, n + 1]."""
        part = slice(0, n + 1)
        allowed = None if self.allowed is None else self.allowed[row, part, part]
        return mask_arcs(self.arc[row, part, part], allowed)

    def _arc_probabilities(self, row: int, n: int) -> np.ndarray:
        """Compute the probabilities of all arcs of a sentence, [n, n + 1]."""
        if self.marginals is not None and self.request.probabilities == "marginal":
            return self.marginals[row, 1 : n + 1, : n + 1]
        temperature = np.float32(self.parser.config.calibration.arc)
        result: np.ndarray = np.exp(log_softmax(self._masked(row, n)[1:] / temperature))
        return result

    def _tree_probabilities(self, row: int, trees: np.ndarray) -> np.ndarray:
        """Compute the logarithms of the probabilities of trees without their labels, [trees]."""
        n = trees.shape[1]
        scores = self._masked(row, n).astype(np.float64) / self.parser.config.calibration.marginal
        total = log_partition(scores[None], [n], self.request.single_root)[0]
        result: np.ndarray = scores[np.arange(1, n + 1), trees].sum(-1) - total
        return result
