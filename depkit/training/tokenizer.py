"""Training of a tokenizer from a treebank's tokens and the white space between them."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import compress, starmap

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.corpus.sentence import Sentence
from depkit.corpus.text import Token
from depkit.files.digest import digest
from depkit.parsers.columns.lemma_dictionary import sort_by_frequency
from depkit.parsers.engine.device import send
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.inputs.batching import length_batches
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.tables import Table
from depkit.parsers.inputs.treebank import treebank_name
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import (
    Tokenizer,
    build_character_table,
    category,
    cut_slices,
    encode_text,
    pad,
)
from depkit.parsers.text.tokenizer_file import read_tokenizer_notes, write_tokenizer
from depkit.training.data import digests
from depkit.training.multiwords import build_multiword_table
from depkit.training.origin import Origin, ResumeError, check_origin, make_origin
from depkit.training.passages import Passage, Text, make_passage, read_paragraphs
from depkit.training.plan import Plan
from depkit.training.recipe import TokenizerTraining
from depkit.training.text_rules import choose_text_rules
from depkit.training.text_variants import TextVariants, cut_text, has_no_spaces

EMBEDDING = 32  # size of a character's embedding
DILATIONS = (1, 2, 4, 8, 16)  # 31 characters before and after a character are read
BATCH_CHARACTERS = 3000  # maximum number in a batch, padding included

MIN_UPDATES = 300  # a small treebank is trained on for more epochs to reach this
SegmentedTexts = list[list[list[Token]]]  # texts, sentences, tokens


def has_text(sentences: Sequence[Sentence]) -> bool:
    """Whether a treebank records the white space between its tokens."""
    return any(
        line.startswith(("# text =", "# text=")) or "SpaceAfter=No" in line
        for sentence in sentences
        for line in sentence.lines
    )


def provide_tokenizer(plan: Plan) -> float:
    """Train a tokenizer and write it into a model directory, if the treebank has its text.

    A tokenizer in the directory that was trained on the same data with the same settings and seed
    is left unchanged. A new one takes about a fifth of the training's time at most.

    Returns:
        The seconds that the tokenizer took when it was trained, but at most half of the time.

    Raises:
        ConfigError: See `list_treebanks`.
        ResumeError: If the directory has a copied tokenizer, or one with other training data,
            settings or seed.
    """
    settings, directory, seed = plan.recipe.tokenizer, plan.directory, plan.seed
    if not settings.enabled or not has_text(plan.train):
        return 0.0
    treebanks = list_treebanks(plan)
    data = digests(plan.train, plan.dev)
    if len(treebanks) > 1:
        data["other names of treebanks"] = digest(*treebanks)
    origin = make_origin(seed, {"tokenizer": asdict(settings)}, data)
    notes = read_tokenizer_notes(directory)
    if "origin" in notes:
        original = Origin(**notes["origin"])
        # A setting that depkit did not have when this tokenizer was trained may have its default.
        defaults = make_origin(seed, {"tokenizer": asdict(TokenizerTraining())}, {}).settings
        unchanged = dict(defaults.items() & origin.settings.items())
        check_origin(directory, replace(original, settings=unchanged | original.settings), origin)
    elif notes:
        raise ResumeError(
            f"{directory}: the tokenizer there was copied from another model (resume with the same"
            " `init`), or trained by another version of depkit (train into another directory)"
        )
    else:
        started = time.monotonic()
        tokenizer, scores = train_tokenizer(
            settings, plan.train, plan.dev, plan.device, seed=seed, max_time=plan.max_time / 5,
            report=plan.reporter.say, treebanks=treebanks,
        )  # fmt: skip
        notes = {"origin": asdict(origin), "seconds": time.monotonic() - started, "scores": scores}
        write_tokenizer(directory, tokenizer, notes, choose_storage(plan))
    return min(float(notes["seconds"]), plan.max_time / 2)


def choose_storage(plan: Plan) -> str:
    """Return the type of the tokenizer's weights in the model directory."""
    return "int8" if plan.recipe.training.storage == "int8" else "float16"


def list_treebanks(plan: Plan) -> list[str]:
    """Return the names of the treebanks that have vectors, first the one as which text is split.

    Raises ConfigError if `tokenizer.treebank` is not the name of a treebank of train with text.
    """
    chosen = plan.recipe.tokenizer.treebank
    if not plan.recipe.parser.inputs.treebank:
        if chosen:
            raise ConfigError(
                "tokenizer.treebank needs a model with vectors of treebanks (inputs.treebank)"
            )
        return [""]
    names = sort_by_frequency(Counter(map(treebank_name, plan.train)))
    with_text = [
        name
        for name, sentences in zip(names, _group_by_treebank(plan.train, names), strict=True)
        if has_text(sentences)
    ]
    first = chosen or with_text[0]
    if first not in with_text:
        raise ConfigError(
            f"tokenizer.treebank={first!r} is not the name of a treebank of train with text; these"
            f" are {', '.join(with_text)}"
        )
    return [first, *(name for name in names if name != first)]


def train_tokenizer(
    settings: TokenizerTraining,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    device: torch.device,
    *,
    seed: int = 1,
    max_time: float = float("inf"),
    report: Callable[[str], None] = lambda text: None,
    initial: Tokenizer | None = None,
    treebanks: Sequence[str] = ("",),
) -> tuple[Tokenizer, dict[str, float]]:
    """Train a tokenizer.

    The learning rate falls to 0 with the epochs or with the time, whichever ends sooner, and the
    weights after the last update are kept: dev is often too small to select an epoch.

    Args:
        settings: Section tokenizer of the recipe.
        train: The sentences of the treebanks.
        dev: The sentences that are scored; if there are any of the first treebank, only these.
        device: Where the network is trained.
        seed: Of the weights, of the order of the texts and of the changes to them.
        max_time: The maximum number of seconds.
        report: Receives a line for some epochs.
        initial: A tokenizer with whose characters and weights the training begins, as the recipe
            en-ewt says.
        treebanks: The names of the treebanks that the sentences are from, see
            `inputs.treebank.treebank_name`. Each has a vector, which is added to the embeddings of
            its characters. The tokenizer splits text as the first treebank does; sentences of
            other treebanks than these, also those of dev, are taken for sentences of that one.

    Returns:
        The tokenizer, and its dev scores, see `segmentation_scores`.
    """
    torch.manual_seed(seed)
    groups = _group_by_treebank(train, treebanks)
    texts = [(text, i) for i, group in enumerate(groups) for text in read_paragraphs(group)]
    dev = _group_by_treebank(dev, treebanks)[0] or dev
    passages = list(starmap(make_passage, texts))
    tokenizer = _make_tokenizer(settings, texts, passages, device, initial=initial)
    characters, network = tokenizer.characters, tokenizer.network
    zeros = torch.zeros(len(treebanks), EMBEDDING, device=device)
    vectors = torch.nn.Embedding.from_pretrained(zeros, freeze=len(treebanks) == 1)
    categories = _category_indices(characters)
    variants = _make_variants([text for text, _ in texts], tokenizer)
    treebank_slices = _make_slices(passages, characters)
    sizes = np.array([part.shape[1] for part in treebank_slices])
    per_epoch = len(length_batches(sizes, BATCH_CHARACTERS, np.random.default_rng(0)))
    epochs = max(settings.epochs, -(-MIN_UPDATES // per_epoch))
    optimizer = torch.optim.Adam([*network.parameters(), vectors.weight], lr=settings.rate)
    started = time.monotonic()
    for epoch in range(epochs):
        random = np.random.default_rng([seed, epoch])
        network.train()
        total = torch.zeros((), device=device)
        parts = [(part, i) for text, i in texts for part in cut_text(text, random)]
        changed = random.random(len(parts)) < settings.variants
        varied = (
            make_passage(variants.vary(part, random), treebank)
            for part, treebank in compress(parts, changed)
        )
        slices = [*treebank_slices, *_make_slices(varied, characters)]
        sizes = np.array([part.shape[1] for part in slices])
        batches = length_batches(sizes, BATCH_CHARACTERS, random)
        for update, indices in enumerate(batches):
            done = (epoch + update / len(batches)) / epochs
            fraction = max(done, (time.monotonic() - started) / max_time)
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * max(0.0, 1 - fraction)
            batch = [slices[i] for i in indices.tolist()]
            loss = _loss(
                network, batch, vectors=vectors, categories=categories, random=random, device=device
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            if time.monotonic() - started > max_time:
                break
        is_last = epoch + 1 == epochs or time.monotonic() - started > max_time
        if is_last or (epoch + 1) % max(1, epochs // 10) == 0:
            with _with_vector(network, vectors.weight.data[0]):
                scores = segmentation_scores(tokenizer, dev)
            score_list = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
            report(
                f"tokenizer epoch {epoch + 1}  loss {float(total) / (update + 1):.4f}"
                f"  dev F1: {score_list}"
            )
        if is_last:
            break
    network.embedding.weight.data += vectors.weight.data[0]
    return tokenizer, scores


def _group_by_treebank(
    sentences: Sequence[Sentence], treebanks: Sequence[str]
) -> list[list[Sentence]]:
    """Return the sentences of each of these treebanks; those of others are in the first group."""
    groups: dict[str, list[Sentence]] = {name: [] for name in treebanks}
    for sentence in sentences:
        groups.get(treebank_name(sentence), groups[treebanks[0]]).append(sentence)
    return list(groups.values())


@contextmanager
def _with_vector(network: TokenizerNetwork, vector: Tensor) -> Iterator[None]:
    """Add the vector of a treebank to the embeddings of all characters."""
    weight = network.embedding.weight.data
    original = weight.clone()
    weight += vector
    yield
    weight.copy_(original)


def _category_indices(characters: Table) -> np.ndarray:
    """Return for each symbol the index of its category, or of the symbol if not a character."""
    indices = np.arange(len(characters))
    for symbol, index in characters.indices.items():
        if len(symbol) == 1:
            indices[index] = characters.indices[category(symbol)]
    return indices


def _make_slices(passages: Iterable[Passage], characters: Table) -> list[np.ndarray]:
    """Cut passages into slices, [4, n]: indices of characters, both labels, index of the treebank.

    The slices of a long passage overlap.
    """
    slices = []
    for passage in passages:
        indices, offsets = encode_text(passage.text, characters)
        last = np.append(offsets[1:], len(passage.text)) - 1  # characters of the symbols
        treebank = np.full(len(indices), passage.treebank)
        whole = np.stack((indices, passage.ends[last], passage.multiword[last], treebank))
        slices += [whole[:, begin:end] for begin, end, _, _ in cut_slices(len(indices))]
    return slices


def _make_tokenizer(
    settings: TokenizerTraining,
    texts: Sequence[tuple[Text, int]],
    passages: Sequence[Passage],
    device: torch.device,
    *,
    initial: Tokenizer | None = None,
) -> Tokenizer:
    """Make a tokenizer with an untrained network, or with the characters and weights of another.

    texts: the paragraphs, each with the index of its treebank. passages: the same paragraphs with
    the labels of their characters.
    """
    tokens = [(token, treebank) for paragraph, treebank in texts for token in paragraph]
    table = build_multiword_table(
        ((token.text, token.words) for token, treebank in tokens if treebank == 0),
        ((token.text, token.words) for token, treebank in tokens if treebank != 0),
        ((token.text, token.words) for token, _ in tokens if token.is_misspelled),
    )
    spaces = any(" " in token.text for token, _ in tokens)
    if initial:
        characters, num_pairs = initial.characters, initial.network.num_pairs
    else:
        num_pairs = (
            settings.pairs
            if has_no_spaces([token for token, treebank in tokens if not treebank])
            else 0
        )
        characters = build_character_table(passage.text for passage in passages)
    network = TokenizerNetwork(
        len(characters), EMBEDDING, settings.size, dilations=DILATIONS, dropout=settings.dropout,
        pairs=num_pairs,
    ).to(device)  # fmt: skip
    if initial:
        network.load_state_dict(initial.network.state_dict())
    engine, rules = TorchEngine(network, device), choose_text_rules(texts, passages)
    return Tokenizer(characters, table, spaces, engine, rules)


def _make_variants(paragraphs: Sequence[Text], tokenizer: Tokenizer) -> TextVariants:
    table = tokenizer.multiwords
    endings = {words[-1] for words in table.tokens.values()} - table.after
    return TextVariants(paragraphs, endings, tokenizer.rules.abbreviations)


def _loss(
    network: TokenizerNetwork,
    slices: Sequence[np.ndarray],
    *,
    vectors: torch.nn.Embedding,
    categories: np.ndarray,
    random: np.random.Generator,
    device: torch.device,
) -> Tensor:
    """Return the sum of the cross-entropies of both labels.

    2% of the characters are replaced by their categories, which stand for unknown characters.
    """
    indices = [
        np.where(random.random(part.shape[1]) < 0.02, categories[part[0]], part[0])
        for part in slices
    ]
    characters, sizes = pad(indices)
    arrays = [send(torch.from_numpy(array), device) for array in (characters, sizes)]
    loss = torch.zeros((), device=device)
    treebanks = torch.from_numpy(np.array([part[3, 0] for part in slices]))
    for row, scores in enumerate(network(*arrays, vectors(send(treebanks, device))), start=1):
        target = np.full(characters.shape, IGNORED)
        target[np.arange(characters.shape[1]) < sizes[:, None]] = np.concatenate(
            [part[row] for part in slices]
        )
        loss = loss + functional.cross_entropy(
            scores.flatten(0, 1), send(torch.as_tensor(target), device).flatten(),
            ignore_index=IGNORED,
        )  # fmt: skip
    return loss


def segmentation_scores(tokenizer: Tokenizer, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Compute the F1 scores of "tokens" and "sentences", in percent.

    A token is correct if it has the gold position and is split into the gold words.
    """
    paragraphs = list(read_paragraphs(sentences))
    predicted = tokenizer.segment([make_passage(paragraph).text for paragraph in paragraphs])
    gold = list(map(_segment_as_gold, paragraphs))
    pairs = {
        "tokens": (_token_set(predicted), _token_set(gold)),
        "sentences": (_sentence_spans(predicted), _sentence_spans(gold)),
    }
    return {
        name: 200 * len(system & correct) / (len(system) + len(correct))
        for name, (system, correct) in pairs.items()
    }


def _segment_as_gold(paragraph: Text) -> list[list[Token]]:
    """Return the gold tokens of each sentence, as `Tokenizer.segment` would for this text."""
    sentences: list[list[Token]] = [[]]
    start = 0
    for token in paragraph:
        end = start + len(token.text)
        sentences[-1].append((start, end, token.words if len(token.words) > 1 else None))
        start = end + token.has_space
        if token.ends_sentence:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def _token_set(texts: SegmentedTexts) -> set[tuple]:
    """Return all tokens, with the index of their text."""
    return {(i, token) for i, text in enumerate(texts) for tokens in text for token in tokens}


def _sentence_spans(texts: SegmentedTexts) -> set[tuple]:
    """Return (index of the text, start, end) of all sentences."""
    return {(i, tokens[0][0], tokens[-1][1]) for i, text in enumerate(texts) for tokens in text}
