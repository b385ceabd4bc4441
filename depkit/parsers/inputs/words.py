"""The input of words: an embedding of each word that is frequent enough in train."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.part import Part, Rows, Text
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN, TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


class Words(Part):
    """Embeddings of words."""

    name = "word"
    group = "word"
    table = "words"
    first_symbols = SPECIAL
    weight = 2.0  # the word counts twice in Li et al. (2019)
    depends_on_form = True

    @property
    def size(self) -> int:
        return self.inputs.word

    @property
    def vector_dropout(self) -> float:
        return self.inputs.word_dropout

    def _symbols(self, sentence: Sentence) -> Sequence[str]:
        return list(map(str.lower, sentence.form)) if self.inputs.lowercase else sentence.form

    def table_rule(self) -> TableRule:
        return TableRule(self.table, self._symbols, SPECIAL, self.inputs.word_min_count)

    def encode(self, text: Text, vocabulary: "Vocabulary") -> dict[str, Rows]:
        get, lowercase = vocabulary.words.get, self.inputs.lowercase
        find = (lambda form: get(form.lower())) if lowercase else get
        return {"word": text.per_form(find, PAD, ROOT)}

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from depkit.nn.words import WordEmbedding

        inputs = self.inputs
        # Otherwise every word of the training data has its own row, and that of unknown words is
        # never trained.
        trains_unknown = inputs.word_min_count > 1 or inputs.word_unknown > 0
        module = WordEmbedding(len(vocabulary.words), inputs.word, padding_idx=PAD)
        module.weight.data.mul_(inputs.word_std)
        if not trains_unknown:
            module.weight.data[UNKNOWN].zero_()
        return module

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["word"], self.inputs.word_unknown, UNKNOWN, (PAD, ROOT))

    def embeddings(self, module: Any) -> dict[str, Any]:
        return {"word": module}

    def start_epoch(self, module: Any, words: dict[str, Rows]) -> None:
        module.count(words["word"][:])

    def describe(self) -> str:
        return "words"
