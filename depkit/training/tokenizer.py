"""Training of a tokenizer from a treebank's tokens and the white space between them."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import compress, starmap

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.corpus.patterns import HYPHENS, MARKS, PATTERNS, find_marks, find_matches
from depkit.corpus.sentence import Sentence
from depkit.corpus.sentence_ends import (
    BEFORE_CAPITALS,
    CONTINUATIONS,
    ENCLOSED,
    ENDS,
    JOINED,
    UNFINISHED,
    find_continuations,
    find_ends,
    is_enclosed,
    is_joined,
    is_unfinished,
)
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
from depkit.parsers.text.multiword import MultiwordTable, build_multiword_table
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import (
    INSIDE,
    LOOKUP,
    SENTENCE,
    SINGLE,
    SPLIT,
    TOKEN,
    Tokenizer,
    build_character_table,
    category,
    cut_slices,
    encode_text,
    pad,
)  # fmt: skip
from depkit.parsers.text.tokenizer_file import read_tokenizer_notes, write_tokenizer
from depkit.training.data import digests
from depkit.training.origin import Origin, ResumeError, check_origin, make_origin
from depkit.training.plan import Plan
from depkit.training.recipe import TokenizerTraining
from depkit.training.text_variants import (
    Text,
    TextVariants,
    choose_abbreviations,
    choose_clitics,
    cut_text,
    list_abbreviations,
    read_paragraphs,
)

EMBEDDING = 32  # size of a character's embedding
DILATIONS = (1, 2, 4, 8, 16)  # 31 characters before and after a character are read
BATCH_CHARACTERS = 3000  # maximum number in a batch, padding included

MIN_UPDATES = 300  # a small treebank is trained on for more epochs to reach this
# If at least this share of the words that follow a word is capitalised, nouns are, as in German
CAPITALISED_NOUNS = 0.25
MIN_FINAL_WORD = 5  # how often one of the `final_words` of a tokenizer must occur
# The second group is the full stop after the word, if there is one.
_SHORT_WORD = re.compile(r"(?<![\w'’.@/-])([^\W\d_]{2,4})(?!\w)(\.?)")
_INNER_WORD = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+")
SegmentedTexts = list[list[list[Token]]]  # texts, sentences, tokens


@dataclass(frozen=True)
class Passage:
    """A paragraph of a treebank with the labels of its characters."""

    text: str
    ends: np.ndarray  # [n], INSIDE, TOKEN or SENTENCE: what ends after a character
    multiword: np.ndarray  # [n], SINGLE, SPLIT or LOOKUP: how a token is split into words
    treebank: int = 0  # the index of its treebank


def has_text(sentences: Sequence[Sentence]) -> bool:
    """Whether a treebank records the white space between its tokens."""
    return any(
        line.startswith(("# text =", "# text=")) or "SpaceAfter=No" in line
        for sentence in sentences
        for line in sentence.lines
    )


def make_passages(sentences: Sequence[Sentence]) -> list[Passage]:
    """Return the paragraphs of a treebank, with one space for any white space."""
    return list(map(_make_passage, read_paragraphs(sentences)))


def _make_passage(tokens: Text, treebank: int = 0) -> Passage:
    texts: list[str] = []
    ends: list[int] = []
    multiword: list[int] = []
    for token in tokens:
        after = " " * token.has_space
        texts.append(token.text + after)
        end = SENTENCE if token.ends_sentence else TOKEN
        ends += [INSIDE] * (len(token.text) - 1) + [end] + [INSIDE] * len(after)
        multiword += _multiword_labels(token.text, token.words) + [SINGLE] * len(after)
    text = "".join(texts).rstrip()
    size = len(text)
    return Passage(text, np.array(ends[:size]), np.array(multiword[:size]), treebank)


def _multiword_labels(text: str, words: Sequence[str]) -> list[int]:
    """Return the `multiword` labels of the characters of a token that consists of these words."""
    labels = [SINGLE] * len(text)
    if len(words) > 1 and "".join(words) != text:
        labels[-1] = LOOKUP
    elif len(words) > 1:
        last = -1
        for word in words[:-1]:
            last += len(word)
            labels[last] = SPLIT
    return labels


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
    paragraphs = [text for text, _ in texts]
    tokenizer = _make_tokenizer(settings, texts, device, initial.characters if initial else None)
    if initial:
        tokenizer.network.load_state_dict(initial.network.state_dict())
    network = tokenizer.network
    zeros = torch.zeros(len(treebanks), EMBEDDING, device=device)
    vectors = torch.nn.Embedding.from_pretrained(zeros, freeze=len(treebanks) == 1)
    categories = _category_indices(tokenizer.characters)
    variants = _make_variants(paragraphs, tokenizer.multiwords)
    treebank_slices = _make_slices(starmap(_make_passage, texts), tokenizer.characters)
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
        passages = (
            _make_passage(variants.vary(part, random), treebank)
            for part, treebank in compress(parts, changed)
        )
        slices = [*treebank_slices, *_make_slices(passages, tokenizer.characters)]
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
    device: torch.device,
    characters: Table | None = None,
) -> Tokenizer:
    """Make a tokenizer with an untrained network, for these characters or those of the treebank.

    texts: the paragraphs, each with the index of its treebank.
    """
    passages = list(starmap(_make_passage, texts))
    tokens = [(token, treebank) for paragraph, treebank in texts for token in paragraph]
    table = build_multiword_table(
        ((token.text, token.words) for token, treebank in tokens if treebank == 0),
        ((token.text, token.words) for token, treebank in tokens if treebank != 0),
    )
    spaces = any(" " in token.text for token, _ in tokens)
    characters = characters or build_character_table(passage.text for passage in passages)
    network = TokenizerNetwork(
        len(characters), EMBEDDING, settings.size, dilations=DILATIONS, dropout=settings.dropout
    ).to(device)
    patterns = (*choose_patterns(passages), *choose_sentence_rules(passages))
    engine = TorchEngine(network, device)
    abbreviations = frozenset(choose_abbreviations(token for token, _ in tokens))
    return Tokenizer(
        characters, table, spaces, engine, patterns, convolves=True, abbreviations=abbreviations,
        final_words=frozenset(choose_final_words(passages)),
        abbreviated=frozenset(find_abbreviated(token.text for token, _ in tokens)),
        clitics=frozenset(choose_clitics(token.text for token, treebank in tokens if not treebank)),
    )  # fmt: skip


def choose_sentence_rules(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the names of the rules of `corpus.sentence_ends` that treebanks do not contradict.

    At most a tenth of the places that a rule finds contradict it, and for JOINED, ENCLOSED and
    UNFINISHED at most one in a hundred ends of sentences. Of several treebanks, only the one as
    which text is split is considered, but all for CONTINUATIONS, which are rare. The rules of
    BEFORE_CAPITALS and of middle initials are not used where nouns are capitalised.
    """
    first = [passage for passage in passages if passage.treebank == 0]
    words = _INNER_WORD.findall("\n".join(passage.text for passage in first))
    capitals = sum(word[0].isupper() for word in words)
    has_capitals = capitals >= CAPITALISED_NOUNS * max(len(words), 100)
    excluded = BEFORE_CAPITALS | {"middle initials"} if has_capitals else frozenset()
    rules = {name: (find_continuations, n) for name, n in CONTINUATIONS.items()}
    rules |= dict.fromkeys(ENDS, (find_ends, 0))
    for name, (find, min_matches) in rules.items():
        if name in excluded:
            continue
        is_end = [
            passage.ends[offset] == SENTENCE
            for passage in (first if name in ENDS else passages)
            for offset in find(passage.text, [name])
        ]
        num_wrong = sum(end != (name in ENDS) for end in is_end)
        if len(is_end) >= min_matches and 10 * num_wrong <= len(is_end):
            yield name
    ends = [
        (passage.text, offset)
        for passage in first
        for offset in np.flatnonzero(passage.ends[:-1] == SENTENCE).tolist()
    ]
    contradictions = {
        JOINED: sum(not text[n + 1].isspace() and is_joined(text, n) for text, n in ends),
        ENCLOSED: sum(is_enclosed(*end) for end in ends),
        UNFINISHED: sum(is_unfinished(*end) for end in ends),
    }
    yield from (name for name, number in contradictions.items() if 100 * number <= len(ends))


def choose_final_words(passages: Iterable[Passage]) -> set[str]:
    """Return the words of two to four letters that are no abbreviations and can end a sentence.

    They are in lower case, and the last word before a full stop of some sentence. Left out are
    words that, in lower or upper case, form one token with a full stop, or precede a full stop and
    white space inside a sentence, and those of abbreviations.txt. A tokenizer is least certain of
    sentence ends after short words, because many abbreviations are as short.
    """
    counts, final, abbreviated = Counter[str](), set[str](), set[str]()
    for passage in passages:
        text, ends = passage.text, passage.ends
        for match in _SHORT_WORD.finditer(text):
            word, end = match[1], match.end(1) - 1
            counts[word] += 1
            if not match[2]:
                continue
            if ends[end] == INSIDE:
                abbreviated.add(word.lower())
            elif ends[end + 1] == SENTENCE:
                final.add(word)
            elif text[end + 2 : end + 3].isspace():
                abbreviated.add(word.lower())
    known = final - abbreviated - set(list_abbreviations())
    return {word for word in known if word.islower() and counts[word] >= MIN_FINAL_WORD}


def find_abbreviated(tokens: Iterable[str]) -> set[str]:
    """Return the words of several letters that are tokens together with a full stop.

    They are in lower case and without the full stop.
    """
    words = {token[:-1].lower() for token in tokens if token.endswith(".")}
    return {word for word in words if word.isalpha() and len(word) > 1}


def choose_patterns(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the names of the patterns that a treebank does not contradict, see `corpus.patterns`.

    At most a tenth of the matches in the treebank are other tokens than those of the pattern. Only
    the treebank as which text is split is considered. A pattern of MARKS without a match is used. A
    rule on HYPHENS is used if tokens begin or end with at most one in fifty of them.
    """
    passages = [passage for passage in passages if passage.treebank == 0]
    for name, pattern in PATTERNS.items():
        matches = [
            any(
                passage.ends[start : stop - 1].any() or (is_end and not passage.ends[stop - 1])
                for start, stop, is_end in spans
            )
            for passage in passages
            for spans in find_matches(passage.text, pattern)
        ]
        if len(matches) >= pattern.min_matches and 10 * sum(matches) <= len(matches):
            yield name
    for name in MARKS:
        are_tokens = [
            passage.ends[mark] and (mark == 0 or passage.ends[mark - 1] or text[mark - 1] == " ")
            for passage in passages
            for text in [passage.text]
            for mark in find_marks(text, [name])
        ]
        if 10 * sum(map(bool, are_tokens)) >= 9 * len(are_tokens):
            yield name
    for (split, joined), hyphen in HYPHENS.items():
        borders = Counter(
            (passage.ends[match.start() - 1] != INSIDE, passage.ends[match.start()] != INSIDE)
            for passage in passages
            for match in hyphen.finditer(passage.text)
        )
        if 50 * (borders[True, False] + borders[False, True]) <= borders.total():
            yield joined if borders[False, False] > borders[True, True] else split


def _make_variants(paragraphs: Sequence[Text], table: MultiwordTable) -> TextVariants:
    endings = {words[-1] for words in table.tokens.values()}
    return TextVariants(paragraphs, endings - (table.after or frozenset()))


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
    paragraphs = make_passages(sentences)
    texts = [paragraph.text for paragraph in paragraphs]
    predicted = tokenizer.segment(texts)
    ends = np.concatenate([paragraph.ends for paragraph in paragraphs])
    multiword = np.concatenate([paragraph.multiword for paragraph in paragraphs])
    gold = tokenizer.decode(texts, ends, multiword, np.arange(len(ends)))
    pairs = {
        "tokens": (_token_set(predicted), _token_set(gold)),
        "sentences": (_sentence_spans(predicted), _sentence_spans(gold)),
    }
    return {
        name: 200 * len(system & correct) / (len(system) + len(correct))
        for name, (system, correct) in pairs.items()
    }


def _token_set(texts: SegmentedTexts) -> set[tuple]:
    """Return all tokens, with the index of their text."""
    return {(i, token) for i, text in enumerate(texts) for tokens in text for token in tokens}


def _sentence_spans(texts: SegmentedTexts) -> set[tuple]:
    """Return (index of the text, start, end) of all sentences."""
    return {(i, tokens[0][0], tokens[-1][1]) for i, text in enumerate(texts) for tokens in text}
