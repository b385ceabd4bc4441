"""Small parsers with random weights, and what tests ask of them."""

from dataclasses import asdict, replace

import numpy as np
import torch

from depkit.corpus.sentence import new_sentence
from depkit.parsers.config import Inputs
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.engine.weights import write_weights
from depkit.parsers.families import get_family, make_parser_config
from depkit.parsers.graph.config import BiaffineConfig, Calibration, Decoder, Scorer
from depkit.parsers.model_directory import write_description
from tests.parsers.batches import cpu_batch

CPU = torch.device("cpu")
SIZES = {"layers": 1, "size": 8, "heads": 2, "head_size": 4, "feedforward": 8}


def build_parser(config, treebank):
    """Return a parser of any family with initial weights."""
    torch.manual_seed(0)
    family = get_family(config)
    vocabulary = family.vocabulary(treebank, config)
    network = family.network(config, vocabulary).eval()
    return family.parser(config, vocabulary, TorchEngine(network, CPU))


def make_parser(treebank, inputs=None, root="single", root_label="root", encoder="bilstm"):
    """Return a biaffine parser with random scores; initial scorer weights are 0."""
    config = BiaffineConfig(
        inputs or Inputs(word=6, char=4),
        make_parser_config({"encoder": SIZES | {"kind": encoder}}).encoder,
        Scorer(arc=7, label=5, predict=["upos", "feats"]),
        Decoder(root=root, root_label=root_label),
    )
    parser = build_parser(config, treebank)
    for weight in (parser.network.arc.weight, parser.network.label.weight):
        torch.nn.init.normal_(weight)
    return parser


def save_parser(parser, directory):
    """Write a parser as a model directory, and return its path."""
    directory.mkdir(exist_ok=True)
    write_description(directory, asdict(parser.config), parser.vocabulary)
    write_weights(directory, parser.network)
    return directory


def tree(words, heads, upos, deprels):
    columns = {"head": [str(h) for h in heads], "upos": upos.split(), "deprel": deprels.split()}
    return new_sentence(words.split(), columns)


def make_one_batch(parser, sentences):
    """Return the sentences as one batch for a parser or an ensemble."""
    return cpu_batch(parser.make_preparer()(sentences, []), np.arange(len(sentences)))


def texts(sentences):
    return list(map(str, sentences))


def make_random_parser(sentences, seed, **settings):
    """Return a parser from `make_parser` with other random weights."""
    return randomise_weights(make_parser(sentences, **settings), seed)


def randomise_weights(parser, seed):
    torch.manual_seed(seed)
    for weight in parser.network.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return parser


WARM = Calibration(arc=2.5, label=0.4, marginal=1.7)


def set_calibration(parser, calibration=WARM):
    return replace(parser, config=replace(parser.config, calibration=calibration))


def compute_scores(parser, sentence):
    """Return the arc scores of a sentence, and the label scores at its heads."""
    scores = parser.engine.score(make_one_batch(parser, [sentence]))
    heads = np.zeros(scores.arc.shape[:2], np.int32)
    heads[0, 1 : len(sentence) + 1] = sentence.head
    with parser.engine.context():
        _, label = scores.label_scores(heads, parser.root_label)
    size = len(sentence) + 1
    return scores.arc[0, :size, :size].double().detach(), label[0, :size].double().detach()
