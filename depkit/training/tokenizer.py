"""Training a tokenizer from a treebank's tokens and the white space between them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import surface_tokens
from depkit.corpus.text import Token
from depkit.parsers.device import send
from depkit.parsers.inputs.batches import IGNORED, length_batches
from depkit.parsers.inputs.vocabulary import Table
from depkit.parsers.model_directory import tokenizer_notes, write_tokenizer
from depkit.parsers.text.multiword import build_multiword_table
from depkit.parsers.text.tokenizer import (
    INSIDE,
    LOOKUP,
    SENTENCE,
    SINGLE,
    SPLIT,
    TOKEN,
    Tokenizer,
    TokenizerNetwork,
    build_characters,
    category,
    cut_windows,
    encode_text,
    pad,
)  # fmt: skip
from depkit.training.data import digests
from depkit.training.origin import Origin, ResumeError, check_origin, make_origin
from depkit.training.recipe import Recipe, TokenizerTraining

LEAST_UPDATES = 300  # a small treebank is read more often
Segmented = list[list[list[Token]]]


@dataclass(frozen=True)
class Passage:
    """A paragraph of a treebank: its text, and the labels of its characters, [n] each."""

    text: str
    ends: np.ndarray
    multiword: np.ndarray


def has_text(sentences: Sequence[Sentence]) -> bool:
    """Whether a treebank says how its tokens stand in a text."""
    return any(
        line.startswith(("# text =", "# text=")) or "SpaceAfter=No" in line
        for sentence in sentences
        for line in sentence.lines
    )


def passages(sentences: Sequence[Sentence]) -> list[Passage]:
    """The paragraphs of a treebank, all white space one space."""
    found: list[Passage] = []
    texts: list[str] = []
    ends: list[int] = []
    multiword: list[int] = []

    def close() -> None:
        text = "".join(texts).rstrip()
        if text:
            size = len(text)
            found.append(Passage(text, np.array(ends[:size]), np.array(multiword[:size])))

    for sentence in sentences:
        if any(line.startswith(("# newpar", "# newdoc")) for line in sentence.lines):
            close()
            texts, ends, multiword = [], [], []
        tokens = surface_tokens(sentence)
        for token in tokens:
            text = " ".join(token.text.split()) or "_"
            after = " " * bool(token.after)
            words = sentence.form[token.first : token.last + 1]
            texts.append(text + after)
            end = SENTENCE if token is tokens[-1] else TOKEN
            ends += [INSIDE] * (len(text) - 1) + [end] + [INSIDE] * len(after)
            multiword += _multiword_labels(text, words) + [SINGLE] * len(after)
    close()
    return found


def _multiword_labels(text: str, words: Sequence[str]) -> list[int]:
    labels = [SINGLE] * len(text)
    if len(words) > 1 and "".join(words) != text:
        labels[-1] = LOOKUP
    elif len(words) > 1:
        place = -1
        for word in words[:-1]:
            place += len(word)
            labels[place] = SPLIT
    return labels


def provide_tokenizer(
    directory: Path,
    recipe: Recipe,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    device: torch.device,
    seed: int,
    max_time: float,
    report: Callable[[str], None],
) -> float:
    """Train a tokenizer into a model directory, where the treebank has a text.

    A tokenizer that is there already, of the same data, settings and seed, stays.
    max_time: seconds for the whole training, of which about a fifth is spent here at most.
    Returns the seconds that it took, once; at most half of `max_time`, so that some are left.
    Raises ResumeError if one of other data is there.
    """
    settings = recipe.tokenizer
    if not settings.enabled or not has_text(train):
        return 0.0
    origin = make_origin(seed, {"tokenizer": asdict(settings)}, digests(train, dev))
    notes = tokenizer_notes(directory)
    if "origin" in notes:
        check_origin(directory, Origin(**notes["origin"]), origin)
    elif notes:
        raise ResumeError(
            f"{directory}: the tokenizer there was trained by another version of depkit; train into"
            " another directory"
        )
    else:
        began = time.monotonic()
        tokenizer, scores = train_tokenizer(
            settings, train, dev, device, seed, max_time / 5, report
        )
        notes = {"origin": asdict(origin), "seconds": time.monotonic() - began, "scores": scores}
        write_tokenizer(directory, tokenizer, notes)
    return min(float(notes["seconds"]), max_time / 2)


def train_tokenizer(
    settings: TokenizerTraining,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    device: torch.device,
    seed: int = 1,
    max_time: float = float("inf"),
    report: Callable[[str], None] = lambda text: None,
) -> tuple[Tokenizer, dict[str, float]]:
    """The tokenizer of the best epoch by the mean of dev token, word and sentence F1; these.

    max_time: seconds; the rate falls with the epochs or with the time, whichever is sooner.
    """
    torch.manual_seed(seed)
    paragraphs = passages(train)
    tokenizer = _untrained(settings, paragraphs, train, device)
    network = tokenizer.network
    common = _categories(tokenizer.characters)
    windows = _windows(paragraphs, tokenizer.characters)
    sizes = np.array([window.shape[1] for window in windows])
    per_epoch = len(length_batches(sizes, settings.batch_characters, np.random.default_rng(0)))
    epochs = max(settings.epochs, -(-LEAST_UPDATES // per_epoch))
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.rate)
    best, best_scores, best_weights = -1.0, {}, {}
    began = time.monotonic()
    update = 0
    for epoch in range(epochs):
        random = np.random.default_rng([seed, epoch])
        network.train()
        total = torch.zeros((), device=device)
        for rows in length_batches(sizes, settings.batch_characters, random):
            done = max(update / (epochs * per_epoch), (time.monotonic() - began) / max_time)
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * max(0.0, 1 - done)
            loss = _loss(network, [windows[row] for row in rows.tolist()], common, random, device)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            update += 1
            if time.monotonic() - began > max_time:
                break
        scores = segmentation_scores(tokenizer, dev)
        mean = sum(scores.values()) / len(scores)
        if mean > best:
            best, best_scores = mean, scores
            best_weights = {name: each.clone() for name, each in network.state_dict().items()}
        over = epoch + 1 == epochs or time.monotonic() - began > max_time
        if over or (epoch + 1) % max(1, epochs // 10) == 0:
            told = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
            report(
                f"tokenizer epoch {epoch + 1}  loss {float(total) / per_epoch:.4f}  dev F1: {told}"
            )
        if over:
            break
    network.load_state_dict(best_weights)
    return tokenizer, best_scores


def _categories(characters: Table) -> np.ndarray:
    """For each number, that of its character's category; the others stand for themselves."""
    common = np.arange(len(characters))
    for symbol, number in characters.numbers.items():
        if len(symbol) == 1:
            common[number] = characters.numbers[category(symbol)]
    return common


def _windows(paragraphs: Sequence[Passage], characters: Table) -> list[np.ndarray]:
    """Pieces of the paragraphs, [3, n]: characters, what ends after them, multiword."""
    windows = []
    for paragraph in paragraphs:
        rows = (encode_text(paragraph.text, characters)[0], paragraph.ends, paragraph.multiword)
        whole = np.stack(rows)
        windows += [whole[:, begin:end] for begin, end, _, _ in cut_windows(whole.shape[1])]
    return windows


def _untrained(
    settings: TokenizerTraining,
    paragraphs: Sequence[Passage],
    train: Sequence[Sentence],
    device: torch.device,
) -> Tokenizer:
    texts = [paragraph.text for paragraph in paragraphs]
    looked_up = (
        (token.text, tuple(words))
        for sentence in train
        for token in surface_tokens(sentence)
        if token.last > token.first
        and "".join(words := sentence.form[token.first : token.last + 1]) != token.text
    )
    spaces = any(" " in token.text for each in train for token in surface_tokens(each))
    characters = build_characters(texts)
    network = TokenizerNetwork(
        len(characters), settings.embedding, settings.size, settings.dropout
    ).to(device)
    return Tokenizer(characters, build_multiword_table(looked_up), spaces, network, device)


def _loss(
    network: TokenizerNetwork,
    windows: Sequence[np.ndarray],
    common: np.ndarray,
    random: np.random.Generator,
    device: torch.device,
) -> Tensor:
    """Cross-entropy; now and then a character is read as its category, to learn that too."""
    numbers = [
        np.where(random.random(window.shape[1]) < 0.02, common[window[0]], window[0])
        for window in windows
    ]
    characters, sizes = pad(numbers)
    loss = torch.zeros((), device=device)
    for row, scores in enumerate(network(send(characters, device), send(sizes, device)), start=1):
        target = np.full(characters.shape, IGNORED)
        target[np.arange(target.shape[1]) < sizes.numpy()[:, None]] = np.concatenate(
            [window[row] for window in windows]
        )
        loss = loss + functional.cross_entropy(
            scores.flatten(0, 1), send(torch.as_tensor(target), device).flatten(),
            ignore_index=IGNORED,
        )  # fmt: skip
    return loss


def segmentation_scores(tokenizer: Tokenizer, sentences: Sequence[Sentence]) -> dict[str, float]:
    """F1 of the tokens, with how they are cut into words, and of the sentences, in percent."""
    paragraphs = passages(sentences)
    texts = [paragraph.text for paragraph in paragraphs]
    found = tokenizer.segment(texts)
    ends = np.concatenate([paragraph.ends for paragraph in paragraphs])
    multiword = np.concatenate([paragraph.multiword for paragraph in paragraphs])
    gold = tokenizer.decode(texts, ends, multiword, np.arange(len(ends)))
    parts = [(_tokens(found), _tokens(gold)), (_bounds(found), _bounds(gold))]
    return {
        name: 200 * len(one & other) / (len(one) + len(other))
        for name, (one, other) in zip(("tokens", "sentences"), parts, strict=True)
    }


def _tokens(texts: Segmented) -> set[tuple]:
    return {(i, token) for i, text in enumerate(texts) for tokens in text for token in tokens}


def _bounds(texts: Segmented) -> set[tuple]:
    return {(i, each[0][0], each[-1][1]) for i, text in enumerate(texts) for each in text}
