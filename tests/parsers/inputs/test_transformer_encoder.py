"""A pretrained transformer as the encoder: pieces, arcs, windows, and what it learns."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from depkit.corpus.sentence import new_sentence
from depkit.nn.graph_attention import heads_of_positions
from depkit.nn.settings import PretrainedEncoder
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family
from depkit.parsers.graph.config import BiaffineConfig, Scorer
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.hidden_layers import checkpoint_layers
from depkit.parsers.inputs.transformer import TransformerError, load_transformer
from depkit.parsers.inputs.transformer_encoder import GRAPH, TransformerEncoder
from depkit.parsers.loading import load
from depkit.parsers.model_directory import WEIGHTS
from depkit.parsers.settings import ConfigError
from depkit.score.evaluators import evaluate
from depkit.training.data import Data
from depkit.training.recipe import Recipe, Training, make_recipe
from depkit.training.run import prepare, train_model
from depkit.training.schedule import parameter_groups
from tests.nn.textbook import find_relation
from tests.parsers.batches import cpu_batch
from tests.parsers.inputs.small_transformers import SIZES, save_bert, save_pretrained, word_pieces
from tests.training.small_runs import Killed, kill_training_at

CPU = torch.device("cpu")
SENTENCE = new_sentence(["the", "dogs", "cab"]).with_tree([2, 0, 2], ["det", "root", "obj"])
# Its pieces: [CLS] the dog ##s c ##a ##b [SEP]


@pytest.fixture
def folder(tmp_path):
    return str(save_bert(tmp_path / "bert"))


@pytest.fixture
def bert(folder):
    return load_transformer(folder)


def make_config(model="bert", draft=0, **context):
    context = Context(source="transformer", model=model, tune=True, layers="single", top=1,
                      size=0, available=4, width=16, **context)  # fmt: skip
    inputs = Inputs(word=0, draft=draft, dropout=0.0, context=context)
    scorer = Scorer(arc=16, label=16, dropout=0.0, predict=[])
    return BiaffineConfig(inputs, PretrainedEncoder(), scorer)


def make_network(bert, draft=0):
    config, transformer = make_config(draft=draft), deepcopy(bert)
    family = get_family(config)
    sentences = [SENTENCE.with_draft(SENTENCE)] if draft else [SENTENCE]
    vocabulary = family.vocabulary(sentences, config)
    torch.manual_seed(1)
    network = family.network(config, vocabulary, transformer).eval()
    examples = family.examples(
        sentences, vocabulary, config, context=None, transformer=network.transformer
    )
    return network, cpu_batch(examples, np.array([0]))


def test_words_have_the_vectors_of_their_first_pieces(bert):
    network, batch = make_network(bert)
    states = bert.body(batch["pieces.ids"], return_dict=True).last_hidden_state[0]
    torch.testing.assert_close(network.encode(batch)[0], states[[0, 1, 2, 4]])


def test_arcs_are_between_first_pieces_and_to_further_pieces(bert):
    network, batch = make_network(bert)
    sequences = network.pieces(batch)
    (heads,) = sequences.graph(torch.tensor([SENTENCE.head])).tolist()
    assert heads == [-1, 2, 0, 2, 2, 4, 4, -1]


def test_without_vectors_of_relations_the_transformer_is_unchanged(bert):
    network, batch = make_network(bert, draft=1)
    plain, plain_batch = make_network(bert)
    for name, weight in network.named_parameters():
        if GRAPH in name or "pieces.label" in name:
            assert weight.requires_grad
            torch.nn.init.zeros_(weight)
    torch.testing.assert_close(network.encode(batch), plain.encode(plain_batch))


def test_each_part_of_a_draft_is_read(bert):
    network, batch = make_network(bert, draft=1)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    encoded = network.encode(batch)
    heads, labels = batch["draft.head"], batch["draft.label"]
    for change in (
        {"draft.head": heads.clone().index_fill_(1, torch.tensor([1]), 3)},
        {"draft.label": labels.flip(1)},
    ):
        changed = replace(batch, arrays=batch.arrays | change)
        assert not torch.allclose(network.encode(changed), encoded)


def test_the_attention_of_a_layer_is_that_of_the_equations(bert):
    """Of the first layer, whose input is known, with relations that are not zero."""
    encoder = TransformerEncoder(
        bert.width, PretrainedEncoder(), transformer=bert, reads_graph=True
    )
    layer = bert.body.encoder.layer[0].attention.self
    for weight in getattr(layer, GRAPH).parameters():
        torch.nn.init.normal_(weight)
    x, arcs = torch.randn(1, 5, 16), heads_of_positions(torch.tensor([[2, 0, 2, 3]]), 5)
    passes = []

    def record(module, arguments, output):
        passes.append((arguments[0][0], output[0][0]))

    layer.register_forward_hook(record)
    encoder(x, torch.tensor([5]), arcs, host_lengths=np.array([5]))
    ((inputs, outputs),) = passes
    heads = [part(inputs).view(5, 2, 8) for part in (layer.query, layer.key, layer.value)]
    graph = getattr(layer, GRAPH)
    expected = torch.zeros(5, 2, 8)
    for head in range(2):
        query, key, value = (part[:, head] for part in heads)
        for i in range(5):
            relation = torch.tensor([find_relation(arcs[0].tolist(), i, j) for j in range(5)])
            weights = ((key + graph.keys[relation]) @ query[i] / 8**0.5).softmax(0)
            expected[i, head] = weights @ (value + graph.values[relation])
    torch.testing.assert_close(outputs, expected.flatten(1))


def test_gradients_are_those_without_checkpointing(bert):
    """Two sequences of different lengths are read separately, each with its own graph."""
    encoder = TransformerEncoder(
        bert.width, PretrainedEncoder(), transformer=bert, reads_graph=True
    ).train()
    lengths = np.array([5, 23])
    graph = heads_of_positions(torch.stack([torch.arange(22).where(torch.arange(22) < n - 1, -1)
                                            for n in lengths.tolist()]), 23)  # fmt: skip
    x, gradients = torch.randn(2, 23, 16), []
    for module in bert.body.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(2):
        leaf = x.clone().requires_grad_()
        encoder(leaf, torch.tensor(lengths), graph, host_lengths=lengths).square().sum().backward()
        gradients.append(leaf.grad)
        checkpoint_layers(bert.body)
    assert gradients[0].abs().sum() > 0
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize("length", [24, 25, 36, 37, 60])
def test_long_sequences_are_read_in_windows(bert, length):
    """The transformer reads 24 positions; each sequence has the same result as alone."""
    encoder = TransformerEncoder(
        bert.width, PretrainedEncoder(), transformer=bert, reads_graph=True
    )
    sizes = np.array([length, 24, 7])
    x, words = torch.randn(3, length, 16), torch.arange(length - 1)
    heads = torch.stack([(words + 1).where(words < size - 2, -1) for size in sizes.tolist()])
    graph = heads_of_positions(heads, length)

    def encode(row, window):
        begin, end, _ = window.indices(length)
        inside = graph[[row], window] - begin
        inside[(inside < 0) | (inside >= end - begin)] = -1
        size = np.array([end - begin])
        return encoder(x[[row], window], torch.tensor(size), inside, host_lengths=size)[0]

    encoded = encoder(x, torch.tensor(sizes), graph, host_lengths=sizes)
    for row, size in enumerate(sizes.tolist()):
        torch.testing.assert_close(encoded[row, :size], encode(row, slice(0, size)))
    torch.testing.assert_close(encoded[0, :10], encode(0, slice(0, 24))[:10])
    if (length - 24) % 12 == 0:  # then the last window is full
        torch.testing.assert_close(encoded[0, -10:], encode(0, slice(-24, None))[-10:])


def test_only_the_first_layers_are_kept(folder):
    whole, two = load_transformer(folder), load_transformer(folder, depth=2)
    ids = torch.tensor([[1, 5, 6, 2]])
    states = whole.body(ids, output_hidden_states=True, return_dict=True).hidden_states
    assert (two.layers, len(states)) == (3, 4)
    torch.testing.assert_close(two.body(ids, return_dict=True).last_hidden_state, states[2])
    with pytest.raises(TransformerError, match="the transformer has 3 layers"):
        load_transformer(folder, depth=4)


def test_a_transformer_with_its_own_attention_is_refused(tmp_path):
    config = transformers.DebertaV2Config(
        vocab_size=30, max_position_embeddings=24, relative_attention=True, **SIZES
    )
    folder = save_pretrained(tmp_path, transformers.DebertaV2Model, config, word_pieces())
    with pytest.raises(TransformerError, match="deberta-v2 cannot read a graph"):
        transformer = load_transformer(str(folder))
        TransformerEncoder(8, PretrainedEncoder(), transformer=transformer, reads_graph=True)


def train(folder, sentences, output, **training):
    recipe = Recipe(make_config(folder, draft=1), training=Training(**training))
    plan = prepare(recipe, Data(sentences, sentences, []), output, CPU)
    return train_model(replace(plan, resume=True))


def test_new_weights_have_their_own_rate_and_all_are_trained_saved_and_loaded(
    folder, tiny, tmp_path
):
    flat = [s.with_draft(s.with_tree([0] + [1] * (len(s) - 1), ["dep"] * len(s))) for s in tiny]
    settings = {"epochs": 5, "optimizer": "adamw", "weight_decay": 0.01, "context_rate": 1e-3,
                "rate": 1e-2, "precision": "float32"}  # fmt: skip
    train(folder, flat, tmp_path / "model", **settings)
    parser = load(tmp_path / "model", "cpu", "float32")
    groups = parameter_groups(parser.network, Training(rate=2.0, context_rate=1.0))
    names = {id(weight): name for name, weight in parser.network.named_parameters()}
    by_rate = {group["rate"]: {names[id(w)] for w in group["params"]} for group in groups}
    assert all(name.startswith("inputs.context.body.") for name in by_rate[1.0])
    assert any(GRAPH in name for name in by_rate[2.0])
    assert not any(GRAPH in name for name in by_rate[1.0])
    before = load_file(f"{folder}/model.safetensors")
    trained = load_file(tmp_path / "model" / WEIGHTS)
    for name, weight in before.items():
        if "pooler" not in name and "position" not in name and "key.bias" not in name:
            assert not torch.equal(trained[f"inputs.context.body.{name}"], weight), name
    score = evaluate(tiny, parser.parse(flat)).LAS
    log = (tmp_path / "model" / "log.jsonl").read_text()
    assert f'"LAS": {score}' in log


@pytest.mark.parametrize("moment", [1, 4])
def test_a_resumed_run_gives_the_same_weights(folder, tiny, tmp_path, moment):
    settings = {"epochs": 2, "optimizer": "adamw", "batch_tokens": 60,
                "precision": "float32"}  # fmt: skip
    drafted = [s.with_draft(s) for s in tiny]
    train(folder, drafted, tmp_path / "whole", **settings)
    with kill_training_at(moment), pytest.raises(Killed):
        train(folder, drafted, tmp_path / "cut", **settings)
    train(folder, drafted, tmp_path / "cut", **settings)
    whole, cut = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


TUNED = ["context.source=transformer", "context.model=x", "context.tune=true", "context.size=0"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TUNED[:2], "needs a transformer that is trained"),
        (TUNED, r"inputs\.word must be 0, because the transformer reads only word pieces and tags"),
        (
            [*TUNED, "word=0", "affix=0", "prior=0", "context.pooling=last"],
            r"inputs\.context\.pooling must be",
        ),
    ],
)
def test_other_inputs_are_refused(settings, message):
    overrides = [f"inputs.{setting}" for setting in settings]
    with pytest.raises(ConfigError, match=message):
        make_recipe("bilstm", None, ["encoder.kind=transformer", *overrides])
