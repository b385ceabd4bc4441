"""The family of constituency parsers (Kitaev and Klein 2018)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from depkit.parsers.config import Calibration, ConstituencyConfig, Mean
from depkit.parsers.family import Family
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.family import remove_empty_columns
from depkit.score.evalb import evaluate_trees

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.constituency.examples import TreeExamples
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Constituency(Family):
    """Constituency parsers, which can also predict tags."""

    name = "constituency"
    config = ConstituencyConfig
    metrics = ("LF1", "LP", "LR", "EM")
    # Treebanks of brackets have no text from which a tokenizer could be trained.
    default_tokenizer = "en-ewt"

    def read(self, path: str, encoding: str = "utf-8") -> Iterator[Sentence]:
        """See `Family.read`; raises FormatError for a file without bracketed trees."""
        for sentence in super().read(path, encoding):
            if sentence.constituents is None:
                message = (
                    "the sentence has no constituency tree; a constituency parser is trained on"
                    " bracketed trees such as (S (NP (NN rain)) (VP (VBZ falls)))"
                )
                raise FormatError(*sentence.location(), message)
            yield sentence

    def check(self, config: Any) -> None:
        """See `Family.check`."""
        if not config.inputs.stop:
            raise ConfigError(
                "a constituency parser reads the end of the sentence: set inputs.stop=true"
            )

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Remove predicted columns that are empty in train."""
        return remove_empty_columns(config, train)

    def describe(self, config: Any) -> list[str]:
        """See `Family.describe`."""
        columns = ", ".join(config.scorer.predict) or "none"
        return [f"Predicts: constituents; columns: {columns}"]

    def columns(self, config: Any) -> list[str]:
        """See `Family.columns`."""
        from depkit.parsers.constituency.examples import COLUMN

        return [COLUMN, *config.scorer.predict]

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        """See `Family.symbols`; those of constituents are labels, see `labelled_spans`."""
        from depkit.parsers.constituency.examples import COLUMN, labelled_spans
        from depkit.parsers.inputs.vocabulary import column_symbols

        if column == COLUMN:
            return [symbol for _, symbol in labelled_spans(sentence)]
        return column_symbols(sentence, column)

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """See `Family.targets`; constituents are no targets of words."""
        from depkit.parsers.constituency.examples import COLUMN
        from depkit.parsers.inputs.dataset import IGNORED

        return {
            name: [table.indices.get(symbol, IGNORED) for symbol in self.symbols(sentence, name)]
            for name, table in vocabulary.columns.items()
            if name != COLUMN
        }

    def examples(
        self, sentences: Sequence[Sentence], vocabulary: "Vocabulary", *arguments: Any, **named: Any
    ) -> "TreeExamples":
        """See `Family.examples`."""
        from depkit.parsers.constituency.examples import COLUMN, make_examples

        data = super().examples(sentences, vocabulary, *arguments, **named)
        return make_examples(data.dataset, sentences, vocabulary.columns[COLUMN])

    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """See `Family.network`."""
        from depkit.parsers.constituency.network import ConstituencyNetwork

        return ConstituencyNetwork(config, vocabulary, transformer)

    def parser(self, config: Any, *parts: Any) -> "Parser":
        """See `Family.parser`."""
        from depkit.parsers.constituency.parser import ConstituencyParser

        return ConstituencyParser(config, *parts)

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        """See `Family.combine`."""
        from depkit.parsers.constituency.ensemble import ConstituencyEnsemble
        from depkit.parsers.tagger.ensemble import combine_members

        return combine_members(ConstituencyEnsemble, members, mean, calibration, self.columns)

    def check_combination(self, configs: Sequence[Any]) -> None:
        """All constituency parsers can be combined."""

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        punct: str = "keep",
    ) -> dict[str, float]:
        """Compute labelled F1, precision, recall and exact match with EVALB's COLLINS.prm.

        These parameters leave out punctuation, so `punct` must be "keep"; otherwise ConfigError is
        raised.
        """
        if punct != "keep":
            raise ConfigError("EVALB's parameters say which words count; leave out --punct")
        scores = evaluate_trees(_trees(gold), [_trees(predicted)])[0].scores
        return {name: scores[name] for name in self.metrics}

    def describe_scores(self, punct: str) -> str:
        """See `Family.describe_scores`."""
        return "with the parameters COLLINS.prm of EVALB"


def _trees(sentences: Iterable[Sentence]) -> Iterator[Tree]:
    for sentence in sentences:
        assert sentence.constituents is not None
        yield sentence.constituents
