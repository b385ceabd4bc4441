"""The input of words: an embedding of each word that is frequent enough in train."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depkit.corpus.letter_case import lower
from depkit.corpus.sentence import Sentence
from depkit.files.bounds import setting
from depkit.parsers.inputs.part import EncodingInput, Part, Rows
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN, TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class WordSettings:
    """The settings of section inputs for words."""

    word: int = 100  # size of the word embedding
    # words that occur less often in train are unknown words
    word_min_count: int = setting(2, minimum=1)
    # during training, a word that occurs c times in train is replaced by the unknown word with
    # probability z / (z + c), where z is this setting; 0 replaces no words
    word_unknown: float = setting(0.0, needs="word")
    # Standard deviation of the initial word embeddings. The code of Li et al. (2019) has 0.07 where
    # they are added to pretrained vectors, whose elements have a standard deviation of 1.
    word_std: float = setting(1.0, needs="word")
    # dropout of the vector of the word, pretrained vectors included, with one mask for a whole
    # sentence
    word_dropout: float = setting(0.0, below=1)
    lowercase: bool = True  # look words up in lower case


class Words(Part):
    """Embeddings of words."""

    settings = WordSettings
    inputs: WordSettings
    name = main_setting = "word"
    group = "word"
    table = "words"
    first_symbols = SPECIAL
    weight = 2.0  # the word counts twice in Li et al. (2019)
    depends_on_form = True

    @property
    def vector_dropout(self) -> float:
        return self.inputs.word_dropout

    def _symbols(self, sentence: Sentence) -> Sequence[str]:
        return list(map(lower, sentence.form)) if self.inputs.lowercase else sentence.form

    def table_rule(self) -> TableRule:
        return TableRule(self.table, self._symbols, SPECIAL, self.inputs.word_min_count)

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        get, dotless = vocabulary.words.get, vocabulary.dotless

        def find_lower_case(form: str) -> int:
            # A vocabulary may have been made with `str.lower`, which makes two characters of İ.
            index = get(form.lower())
            return get(lower(form, dotless)) if index == UNKNOWN else index

        find = find_lower_case if self.inputs.lowercase else get
        return {"word": source.per_form(find, PAD, ROOT)}

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
