"""The networks of the recipes of papers against their equations, word by word and unpadded."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from depkit.nn.charconcat import CHARACTERS_PER_END
from depkit.nn.charlstm import CharLSTM
from depkit.parsers.families import get_family
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import encode
from depkit.parsers.inputs.tables import PAD
from depkit.parsers.network import ParserNetwork
from depkit.training.recipe import make_recipe
from tests.nn import textbook
from tests.parsers.batches import cpu_batch

# The sizes of the recipes, divided by about 50.
LI = ["inputs.word=6", "inputs.tag=4", "inputs.word_min_count=1", "inputs.tag_column=upos"]
SELFATT = [*LI, "encoder.layers=3", "encoder.size=10", "encoder.heads=2", "encoder.head_size=5"]
SELFATT += ["encoder.feedforward=16"]
FACTORED = ["inputs.word=6", "inputs.char=6", "inputs.char_embedding=4", "encoder.layers=3"]
FACTORED += ["encoder.size=6", "encoder.heads=2", "encoder.head_size=4", "encoder.feedforward=10"]
UNFACTORED = [*FACTORED, "encoder.kind=selfatt", "encoder.input_norm=true"]

# The inputs of the default recipe without those that are tested elsewhere
OWN = ["inputs.word=6", "inputs.char=6", "inputs.affix=0", "inputs.prior=0"]
RECIPES = [
    ("li2019-selfatt", SELFATT),
    ("li2019-selfatt", [*SELFATT, "encoder.kind=stacked", "encoder.lstm_size=7"]),
    ("li2019-bilstm", [*LI, "encoder.size=7"]),
    ("factored", FACTORED),
    ("factored", [*FACTORED, "inputs.char_kind=concat", "inputs.char_boundaries=false"]),
    ("factored", [*FACTORED, "inputs.stop=false", "inputs.char_boundaries=false"]),
    ("factored", UNFACTORED),
    ("factored", [*UNFACTORED, "encoder.position_attention=true"]),
    ("factored", [*UNFACTORED, "encoder.combine_positions=concat"]),
    ("selfatt", [*OWN, "encoder.size=8", "encoder.head_size=4"]),
]


@pytest.mark.parametrize(("name", "settings"), RECIPES, ids=str)
def test_the_encoder_reads_and_computes_what_the_paper_says(name, settings, tiny):
    config = make_recipe(name, None, settings).parser
    family = get_family(config)
    vocabulary = family.vocabulary(tiny, config)
    torch.manual_seed(1)
    network = family.network(config, vocabulary).double().eval()
    textbook.randomise(network)
    data = encode(tiny[:6], vocabulary, config.inputs)
    batch = cpu_batch(data, np.arange(len(data)))
    encoded = network.encode(batch)
    for row, size in enumerate(data.sizes.tolist()):
        x = compute_inputs(network, batch, row, size)
        torch.testing.assert_close(encoded[row, :size], compute_encoding(network, x)[:size])


def compute_inputs(network: ParserNetwork, batch: Batch, row: int, size: int) -> Tensor:
    """Concatenate or sum the vectors of the words of a sentence, [length, size]."""
    inputs = network.inputs
    parts = [inputs.word.weight[batch["word"][row, :size]]]
    if inputs.part("tag") is not None:
        parts.append(inputs.tag.weight[batch["tag"][row, :size]])
    if inputs.part("char") is not None:
        forms = batch["form"][row, :size].tolist()
        words = [batch["characters"][form, : batch["form_sizes"][form]] for form in forms]
        parts.append(torch.stack([compute_characters(network, word) for word in words]))
    x = sum(parts) if inputs.is_sum else torch.cat(parts, -1)
    if isinstance(network.projection, nn.Linear):
        x = x @ network.projection.weight.T + network.projection.bias
    return x if network.stop is None else torch.cat((x, network.stop[None]))


def compute_characters(network: ParserNetwork, word: Tensor) -> Tensor:
    char = network.inputs.char
    if isinstance(char, CharLSTM):
        x = char.embedding.weight[word]
        ends = [
            textbook.run_lstm(lstm, states)[-1]
            for lstm, states in ((char.forward_lstm, x), (char.backward_lstm, x.flip(0)))
        ]
        return torch.cat(ends)
    indices = word.tolist()
    read = []
    for side in (indices, indices[::-1]):
        read += (side + CHARACTERS_PER_END * [PAD])[:CHARACTERS_PER_END]
    x = char.embedding.weight[torch.tensor(read)].flatten()
    projection = network.inputs.char.projection
    return projection.weight @ x + projection.bias


def compute_encoding(network: ParserNetwork, x: Tensor) -> Tensor:
    encoder, kind = network.encoder, type(network.encoder).__name__
    if kind == "BiLSTM":
        return textbook.run_bilstm(encoder, x)
    if kind == "Stacked":
        x = textbook.run_bilstm(encoder.lstm, x)
        x = x @ encoder.projection.weight.T + encoder.projection.bias
        encoder = encoder.selfattention
    return textbook.encode(encoder, x)
