"""The REST interface of UDPipe: its models, its parameters, and its formats of input and output.

It is documented at https://lindat.mff.cuni.cz/services/udpipe/api-reference.php. Differences: the
tokenizer has the option `presegmented` only, the tagger has none, the parser has those of
`parser_options`, and generic_tokenizer is the model's own tokenizer. The output `json` is depkit's
addition.
"""

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

from depkit.corpus.io import PathLike, read, write
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.probabilities import group_trees
from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import surface_tokens
from depkit.corpus.text import read_text, split_at_spaces
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.files.hub import is_on_hub, parse_name
from depkit.parsers.base import Parser
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import find_model
from depkit.parsers.parse_options import Tags
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import choose_segment
from depkit.serving.batcher import Annotate
from depkit.serving.parser_options import read_parser_options
from depkit.serving.shared_tokenizer import MAX_SHARED, SharedTokenizer
from depkit.version import __version__

_PART = 8_192  # characters
_INPUTS = ("conllu", "horizontal", "vertical", "generic_tokenizer")


class ParameterError(ValueError):
    """A request has a parameter that cannot be used."""


@dataclass(eq=False)
class ServedModel:
    """A model that requests can name.

    Attributes:
        name: Its name.
        parser: The parser.
        facts: The facts of the model's card.
        tokenizer: Its tokenizer, which splits the texts of several requests together.
        annotators: How sentences are annotated, by whether they are tagged and whether they are
            parsed. As in UDPipe, the tagger replaces tags that are there; without the tagger, they
            are left as they are. Parsing with options is added when it is asked for first.
    """

    name: str
    parser: Parser
    facts: Mapping[str, str | list[str]]
    tokenizer: SharedTokenizer | None = field(init=False)
    annotators: dict[tuple[Any, ...], Annotate] = field(init=False)

    def __post_init__(self) -> None:
        parser = self.parser
        own = parser.tokenizer
        self.tokenizer = SharedTokenizer(own.segment) if own else None
        self.annotators = {
            (False, False): iter,
            (True, False): partial(parser.tag, tags="predict"),
            (False, True): partial(parser.parse, tags="keep"),
            (True, True): partial(parser.parse, tags="predict"),
        }

    def find_annotator(
        self, is_tagged: bool, is_parsed: bool, options: Mapping[str, Any]
    ) -> Annotate:
        """Return the function that annotates sentences, which is the same for the same arguments.

        options: arguments of `Parser.parse`. If `best` is given, the result for a sentence is the
        list of its trees.
        """
        if not options:
            return self.annotators[is_tagged, is_parsed]
        tags: Tags = "predict" if is_tagged else "keep"
        annotate: Annotate = partial(self.parser.parse, tags=tags, **options)
        if options.get("best", 1) > 1:
            annotate = partial(_parse_groups, annotate)
        return self.annotators.setdefault((is_tagged, *sorted(options.items())), annotate)

    @property
    def abilities(self) -> list[str]:
        """What the model can do, in the words of UDPipe."""
        parser = self.parser
        has = (parser.tokenizer, parser.config.predicted_tags, parser.trees)
        names = ("tokenizer", "tagger", "parser")
        return [name for name, value in zip(names, has, strict=True) if value]

    @cached_property
    def answer_head(self) -> bytes:
        """The beginning of the JSON object that answers a request, before the result."""
        head = {"model": self.name, "acknowledgements": self.acknowledgements}
        return json.dumps(head, indent=1, ensure_ascii=False)[:-2].encode()

    @property
    def acknowledgements(self) -> list[str]:
        """What the model was made from, and its licence, as far as its card says."""
        datasets = self.facts.get("datasets", [])
        names = [datasets] if isinstance(datasets, str) else datasets
        licence = self.facts.get("license")
        return [f"treebank: {name}" for name in names] + (
            [f"licence of the model: {licence}"] if licence else []
        )


def _parse_groups(parse: Annotate, sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    return group_trees(parse(sentences))


@dataclass(frozen=True)
class Query:
    """The parameters of a request for /process, checked."""

    model: ServedModel
    sentences: Iterator[Sentence]
    annotate: Annotate
    output: str
    is_grouped: bool = False  # whether `annotate` returns a list of trees for each sentence
    has_probabilities: bool = False  # whether the results have them


class Models:
    """The models that a server was started with; the first one is the default."""

    def __init__(self, models: Mapping[str, tuple[PathLike, Parser]]) -> None:
        """Take loaded parsers, with their names and the directories that they come from."""
        self.models = {
            name: ServedModel(name, parser, read_card_facts(find_model(path)))
            for name, (path, parser) in models.items()
        }

    def describe(self) -> dict[str, Any]:
        """Return the answer to /models."""
        return {
            "models": {name: model.abilities for name, model in self.models.items()},
            "default_model": next(iter(self.models)),
        }

    def find(self, name: str) -> ServedModel:
        """Return the model with a name or else, as in UDPipe, with a part of it before a hyphen.

        Models are looked up among those that were loaded, never among files.
        """
        if not name:
            return next(iter(self.models.values()))
        if name in self.models:
            return self.models[name]
        for known, model in self.models.items():
            if known.startswith(f"{name}-"):
                return model
        raise ParameterError(
            f"there is no model {name[:100]!r}; the models are {', '.join(self.models)}"
        )

    def parse_query(self, parameters: Mapping[str, str]) -> Query:
        """Check the parameters of /process. Raises ParameterError."""
        if "data" not in parameters:
            raise ParameterError("the parameter data is missing")
        model = self.find(parameters.get("model", ""))
        output, output_options = _split_format(parameters.get("output", ""))
        if output not in OUTPUTS:
            raise ParameterError(
                f"there is no output {output[:100]!r}; it can be {', '.join(OUTPUTS)}"
            )
        _read_options(f"output {output}", output_options, _FORMAT_OPTIONS.get(output, ()))
        _read_options("tagger", parameters.get("tagger", ""))
        does = {name: name in parameters for name in ("tokenizer", "tagger", "parser")}
        for name in ("tagger", "parser"):
            if does[name] and name not in model.abilities:
                raise ParameterError(f"the model {model.name} has no {name}")
        try:
            options = read_parser_options(parameters.get("parser", ""))
        except ValueError as error:
            raise ParameterError(str(error)) from None
        if output not in _OUTPUTS_WITH_TREES:
            options.pop("best", None)
        # Forms in browsers and some clients send each line end as two characters.
        data = parameters["data"].removeprefix(BOM).replace("\r\n", "\n")
        if does["tokenizer"]:
            sentences = _tokenize(model, data, parameters["tokenizer"])
        else:
            sentences = _read(model, data, *_split_format(parameters.get("input", "")))
        annotate = model.find_annotator(does["tagger"], does["parser"], options)
        return Query(
            model, sentences, annotate, output,
            is_grouped=options.get("best", 1) > 1, has_probabilities="prob" in options,
        )  # fmt: skip


def name_models(models: Sequence[PathLike]) -> dict[str, PathLike]:
    """Name models as requests name them: bundled ones by their names, directories by theirs.

    A model of the hub has the name of its repository. Raises ConfigError if two models have the
    same name.
    """
    named: dict[str, PathLike] = {}
    for model in models:
        directory = parse_name(model)[0] if is_on_hub(model) else os.path.abspath(find_model(model))
        name = os.path.basename(directory)
        if name in named:
            raise ConfigError(f"two models are called {name}; rename the directory of one")
        named[name] = model
    return named


def check_model(name: str, parser: Parser) -> None:
    """Raise ConfigError if the server cannot use a model."""
    if parser.trees == "constituents":
        raise ConfigError(f"{name} predicts constituents; the server answers with dependencies")
    if parser.config.inputs.context.source == "elmo":
        raise ConfigError(f"{name} reads ELMo vectors, which requests do not contain")


def render_answer(query: Query, results: Iterable[Any]) -> Iterator[bytes]:
    """Yield the JSON object that answers a request in parts: model, acknowledgements, result.

    The results are read lazily, so that only the text of earlier ones is in memory.
    """
    if query.is_grouped:
        results = chain.from_iterable(results)
    model = query.model
    yield model.answer_head + b',\n "result": '
    if query.output == "json":
        yield b"["
        for number, line in enumerate(to_json_lines(results, query.has_probabilities)):
            yield b",\n" * (number > 0) + line.rstrip("\n").encode()
        yield b"]\n}\n"
        return
    yield b'"'
    for text in _WRITERS[query.output](model, results):
        yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
    yield b'"\n}\n'


def describe_error(error: Exception) -> str:
    """Describe an error in the data of a request, which has no file name."""
    if isinstance(error, FormatError):
        parts = (f"line {error.line}" if error.line else "", error.sent_id, error.message)
        return ": ".join(part for part in ("data", *parts) if part)
    return str(error)


# Version 2 of CoNLL-U is the only one here, so this option of UDPipe changes nothing.
_FORMAT_OPTIONS = {"conllu": ("v2",)}


def _split_format(value: str) -> tuple[str, str]:
    """Return the name of a format and its options, such as v2 in conllu=v2 or conllu;v2.

    An empty name stands for the default.
    """
    name = value.partition("=")[0].partition(";")[0]
    return name or "conllu", value[len(name) + 1 :]


def _read_options(owner: str, text: str, known: Sequence[str] = ()) -> set[str]:
    """Return the options in a text, which semicolons separate.

    Raises ParameterError for an unknown one.
    owner: whose options they are, for the error; known: the options that it has.
    """
    options = {option.strip() for option in text.split(";")} - {""}
    if unknown := options.difference(known):
        advice = f"; it can be {', '.join(known)}" if known else ""
        raise ParameterError(f"the {owner} has no option {min(unknown)[:100]!r}{advice}")
    return options


def _tokenize(model: ServedModel, data: str, options: str) -> Iterator[Sentence]:
    if "presegmented" in _read_options("tokenizer", options, ["presegmented"]):
        segment = choose_segment("lines", model.parser.tokenizer, "data")
        return read_text([data], segment, by_line=True, file="data", by_block=True)
    if not model.tokenizer:
        raise ParameterError(f"the model {model.name} has no tokenizer")
    segment = model.tokenizer.make_segmenter(data)
    if len(data) <= MAX_SHARED:
        return read_text([data], segment, file="data", by_block=True)
    # A long text is segmented in parts, so that other requests do not wait for the whole of it.
    parts = (data[start : start + _PART] for start in range(0, len(data), _PART))
    return read_text(parts, segment, file="data")


def _read(model: ServedModel, data: str, input: str, options: str) -> Iterator[Sentence]:
    if input == "generic_tokenizer":
        return _tokenize(model, data, options)
    if input not in _INPUTS:
        raise ParameterError(f"there is no input {input[:100]!r}; it can be {', '.join(_INPUTS)}")
    _read_options(f"input {input}", options, _FORMAT_OPTIONS.get(input, ()))
    if input == "horizontal":
        return read_text([data], split_at_spaces, by_line=True, file="data", keep_spaces=True)
    if input == "vertical":
        return _read_vertical(data)
    return read(io.StringIO(data, newline="\n"), "conllu")


def _read_vertical(data: str) -> Iterator[Sentence]:
    """Read one word a line, in its first column; a blank line ends a sentence."""
    words: list[str] = []
    number = 0
    for line in chain(io.StringIO(data, newline="\n"), ["\n"]):
        word = line.partition("\t")[0].strip()
        if word:
            words.append(word)
        elif words:
            number += 1
            yield Sentence.from_words(words, {"sent_id": str(number)})
            words = []


class _Target:
    """A stream that collects what is written."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.writelines = self.parts.extend
        self.write = self.parts.append


def _write_conllu(model: ServedModel, sentences: Iterable[Sentence]) -> Iterator[str]:
    yield f"# generator = depkit {__version__}\n# udpipe_model = {model.name}\n"
    if licence := model.facts.get("license"):
        yield f"# udpipe_model_licence = {licence}\n"
    for sentence in sentences:
        target: Any = _Target()
        write(sentence, target)
        yield "".join(target.parts)


def _write_horizontal(model: ServedModel, sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        # A space inside a word becomes a no-break space, as in UDPipe.
        yield " ".join(form.replace(" ", "\xa0") for form in sentence.form) + "\n"


def _write_vertical(model: ServedModel, sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        yield "".join(f"{form}\n" for form in sentence.form) + "\n"


def _write_plaintext(model: ServedModel, sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        for token in surface_tokens(sentence):
            yield token.before + token.text + token.after


_WRITERS: dict[str, Callable[[ServedModel, Iterable[Sentence]], Iterator[str]]] = {
    "conllu": _write_conllu,
    "horizontal": _write_horizontal,
    "vertical": _write_vertical,
    "plaintext": _write_plaintext,
}
OUTPUTS = (*_WRITERS, "json")
_OUTPUTS_WITH_TREES = ("conllu", "json")
