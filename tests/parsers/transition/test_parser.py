"""Transition parsers: exactness of training and decoding, learning, resuming, memory."""

from copy import deepcopy
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.parsers.families import get_family
from depkit.parsers.inputs.transformer import load_transformer
from depkit.parsers.loading import load
from depkit.parsers.settings import ConfigError, from_dict
from depkit.parsers.transition.config import TransitionConfig, TransitionDecoder, TransitionScorer
from depkit.parsers.transition.decoding import decode_by_arc, decode_by_transition
from depkit.parsers.transition.memory import Composition
from depkit.parsers.transition.network import Reader, number_segments
from depkit.parsers.transition.states import States, legal_transitions, make_units
from depkit.score.evaluators import evaluate
from depkit.trees.shape import has_crossing_arcs, is_tree
from depkit.trees.transitions import (
    LEFT,
    NOTHING,
    RIGHT,
    SWAP,
    apply_transition,
    is_final,
)
from tests.parsers.batches import cpu_batch
from tests.parsers.inputs.small_transformers import save_bert
from tests.parsers.transition.small_recipes import INPUTS, KINDS, make_config, make_recipe
from tests.training.small_runs import (
    Killed,
    kill_training_at,
    run,
    run_until,
    same_weights,
    weights,
)

CPU = torch.device("cpu")


def make_network(kind, sentences, transformer=None, root_label="auto", **scorer):
    torch.manual_seed(3)
    config = make_config(kind, transformer is not None, **scorer)
    config = replace(config, decoder=TransitionDecoder(root_label=root_label))
    family = get_family(config)
    vocabulary = family.vocabulary(sentences, config)
    network = family.network(config, vocabulary, deepcopy(transformer)).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    for module in network.modules():
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
            module.weight.data[module.padding_idx] = 0
    transformer = network.transformer
    return network, family.examples(sentences, vocabulary, config, transformer=transformer)


@pytest.fixture(params=[False, True], ids=["scratch", "pretrained"])
def transformer(request, tmp_path):
    """Return None, or a transformer that is the encoder."""
    return load_transformer(str(save_bert(tmp_path / "bert"))) if request.param else None


def test_the_treebank_has_crossing_arcs(tiny):
    assert any(has_crossing_arcs(np.array(s.head, np.int32)) for s in tiny)


@pytest.mark.parametrize("kind", ["sentence", "arc", "transition"])
def test_units_hold_all_transitions_with_their_states(kind, tiny):
    _, examples = make_network("sentence", tiny)
    oracles = examples.oracles
    units = make_units(oracles, kind)
    assert len(units.unit) == sum(len(oracle.transitions) for oracle in oracles)
    sizes = {"sentence": len(tiny), "arc": sum(map(len, tiny)), "transition": len(units.unit)}
    assert len(units.row) == sizes[kind] == units.unit[-1] + 1
    every = make_units(oracles, "transition")
    np.testing.assert_array_equal(units.nodes, every.nodes)
    row = units.row[units.unit]
    for index in range(len(units.unit)):
        oracle, sentence = oracles[row[index]], tiny[row[index]]
        taken = oracle.transitions[units.step[index]]
        assert units.gold[index] == taken
        s2, s1, _ = units.nodes[index]
        dependent, head = {LEFT: (s2, s1), RIGHT: (s1, s2)}.get(int(taken), (NOTHING, 0))
        assert units.dependent[index] == dependent
        if dependent != NOTHING:
            assert sentence.head[dependent - 1] == head
        # The heads of a unit are those found before its first transition.
        first = units.step[np.flatnonzero(units.unit == units.unit[index])[0]]
        arcs = (oracle.transitions[:first] >= LEFT).sum()
        assert (units.states.heads[units.unit[index]] >= 0).sum() == arcs


def test_chosen_units_are_those_of_all_units(tiny):
    _, examples = make_network("sentence", tiny)
    oracles = examples.oracles[:4]
    whole = make_units(oracles, "arc")
    choices = [np.array([0, 2]), np.array([1]), np.array([0, 1, 2]), np.array([2])]
    units = make_units(oracles, "arc", choices)
    kept = [i for row, choice in enumerate(choices)
            for i in np.flatnonzero(whole.row == row)[choice]]  # fmt: skip
    np.testing.assert_array_equal(units.row, whole.row[kept])
    mask = np.isin(whole.unit, kept)
    np.testing.assert_array_equal(units.nodes, whole.nodes[mask])
    np.testing.assert_array_equal(units.gold, whole.gold[mask])
    for unit, index in enumerate(kept):
        n = units.states.sizes[unit]
        assert units.states.heads[unit, :n].tolist() == whole.states.heads[index, :n].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_each_state_by_itself(kind, tiny, transformer):
    """The encoder reads one state at a time, which is built anew from the gold transitions."""
    sentences = tiny[:3] + [s for s in tiny if has_crossing_arcs(np.array(s.head, np.int32))][:1]
    network, examples = make_network(kind, sentences, transformer, states=0)
    loss = network(cpu_batch(examples, np.arange(len(sentences))))
    transition_losses, label_losses = [], []
    for index, sentence in enumerate(sentences):
        batch = cpu_batch(examples, np.array([index]))
        words = network.word_vectors(batch)
        gold = examples.oracles[index]
        history = memory = None
        if network.history is not None:
            history, memory = network.history.start(1, CPU)
        composed = network.composition.start(words) if network.composition else None
        states = States.first(np.array([len(sentence)]))
        labels = np.zeros((1, len(sentence)), np.int64)
        for taken in gold.transitions.tolist():
            encoded = network.encode_states(words, states, labels)
            nodes = states.first_nodes()
            scores = network.score_transitions(encoded, np.zeros(1, int), nodes, history)
            legal = torch.from_numpy(legal_transitions(nodes, network.single_root))
            scores = scores.masked_fill(~legal, float("-inf")).log_softmax(-1)
            transition_losses.append(-scores[0, taken])
            label = head = dependent = 0
            s2, s1, _ = nodes[0]
            if taken in (LEFT, RIGHT):
                dependent, head = (s2, s1) if taken == LEFT else (s1, s2)
                label = int(gold.labels[dependent - 1]) + 1
                label_scores = network.score_labels(
                    encoded, np.zeros(1, int), nodes=nodes, taken=np.array([taken]), history=history
                )
                label_losses.append(-label_scores.log_softmax(-1)[0, label - 1])
                labels[0, dependent - 1] = label
            if composed is not None:
                arcs = np.array([[head], [dependent], [taken], [label]])
                composed = network.composition(composed, arcs)
                words = composed.vectors
            if network.history is not None:
                history, memory = network.history.add(
                    torch.tensor([taken]), torch.tensor([label]), memory
                )
            apply_transition(taken, *states.arrays(0))
        assert states.heads[0].tolist() == sentence.head
    expected = torch.stack(transition_losses).mean() + torch.stack(label_losses).mean()
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)
    loss.backward()


@pytest.mark.parametrize("training", [False, True])
def test_hidden_arcs_let_one_reading_train_all_transitions(training, tiny, transformer):
    sentences = tiny[:4]
    network, examples = make_network("sentence-graph", sentences, transformer, graph_dropout=1.0)
    batch = cpu_batch(examples, np.arange(len(sentences)))
    read = []
    encode_states = network.encode_states

    def encode(words, states, labels):
        read.append(states)
        return encode_states(words, states, labels)

    network.encode_states = encode
    network.training = training  # its parts stay without dropout
    loss = network(batch)
    if not training:
        assert len(read[0].sizes) > len(sentences)
        assert (read[0].heads >= 0).any()
        return
    assert len(read[0].sizes) == len(sentences)
    assert (read[0].heads < 0).all()
    units = make_units(examples.oracles, "sentence")
    labels = np.concatenate([oracle.labels for oracle in examples.oracles])
    first = States.first(batch.sizes - 1)
    encoded = encode_states(network.word_vectors(batch), first, np.zeros_like(first.heads))
    scores = network.score_transitions(encoded, units.unit, units.nodes)
    legal = legal_transitions(units.nodes, network.single_root)
    scores = scores.masked_fill(torch.from_numpy(~legal), float("-inf"))
    transitions = torch.nn.functional.cross_entropy(scores, torch.from_numpy(units.gold))
    arcs = np.flatnonzero(units.dependent != NOTHING)
    scores = network.score_labels(
        encoded, units.unit[arcs], nodes=units.nodes[arcs], taken=units.gold[arcs]
    )
    starts = np.cumsum([0, *map(len, sentences)])[units.unit[arcs]]
    gold = torch.from_numpy(labels[starts + units.dependent[arcs] - 1])
    expected = transitions + torch.nn.functional.cross_entropy(scores, gold)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_decoded_like_single_sentences(kind, single_root, tiny, transformer):
    sentences = tiny[:5] + [s for s in tiny if has_crossing_arcs(np.array(s.head, np.int32))][:2]
    network, examples = make_network(kind, sentences, transformer)
    decode = decode_by_transition if network.scorer.reads == "state" else decode_by_arc
    with torch.no_grad():
        batch = cpu_batch(examples, np.arange(len(sentences)))
        together = States.first(batch.sizes - 1)
        labels = decode(network.start(batch), together, single_root)
        for row, sentence in enumerate(sentences):
            batch = cpu_batch(examples, np.array([row]))
            states = States.first(batch.sizes - 1)
            alone = decode(network.start(batch), states, single_root)
            n = len(sentence)
            assert states.heads[0, :n].tolist() == together.heads[row, :n].tolist()
            assert alone[0, :n].tolist() == labels[row, :n].tolist()
            assert is_tree(states.heads[0, :n])
            assert not single_root or (states.heads[0, :n] == 0).sum() == 1


@pytest.mark.parametrize("root_label", ["root", ""])
@pytest.mark.parametrize("kind", ["sentence", "sentence-graph", "state"])
def test_the_root_label_is_given_only_to_children_of_the_root(kind, root_label, tiny, transformer):
    network, examples = make_network(kind, tiny, transformer, root_label=root_label)
    decode = decode_by_transition if network.scorer.reads == "state" else decode_by_arc
    batch = cpu_batch(examples, np.arange(len(tiny)))
    states = States.first(batch.sizes - 1)
    with torch.no_grad():
        labels = decode(network.start(batch), states, False)
    root = examples.oracles[0].labels[tiny[0].head.index(0)]
    is_word = np.arange(labels.shape[1]) < states.sizes[:, None]
    is_right = ((states.heads == 0) == (labels == root))[is_word]
    # Without a root label, every relation can be predicted everywhere.
    assert is_right.all() == bool(root_label)


def test_compiled_runs_of_transitions_take_the_best_one(tiny):
    """decode_by_arc computes the scores of transitions without the module of the network."""
    network, examples = make_network("sentence-graph", tiny[:6])
    batch = cpu_batch(examples, np.arange(6))
    with torch.no_grad():
        words = network.word_vectors(batch)
        fast = States.first(batch.sizes - 1)
        labels = decode_by_arc(Reader(network, words), fast, True)
        for row in range(6):
            states = States.first(batch.sizes[row : row + 1] - 1)
            found = np.zeros((1, int(states.sizes[0])), np.int64)
            word = words[row : row + 1, : int(batch.sizes[row])]
            encoded = network.encode_states(word, states, found + 1)
            while not is_final(*states.arrays(0)[1:3]):
                nodes = states.first_nodes()
                scores = network.score_transitions(encoded, np.zeros(1, int), nodes)[0].numpy()
                scores[~legal_transitions(nodes, True)[0]] = -np.inf
                taken = int(scores.argmax())
                if taken >= LEFT:
                    chosen = network.score_labels(
                        encoded, np.zeros(1, int), nodes=nodes, taken=np.array([taken])
                    )
                    dependent = nodes[0, 0] if taken == LEFT else nodes[0, 1]
                    found[0, dependent - 1] = int(chosen.argmax())
                apply_transition(taken, *states.arrays(0))
                if taken >= LEFT:
                    encoded = network.encode_states(word, states, found + 1)
            n = int(states.sizes[0])
            assert states.heads[0].tolist() == fast.heads[row, :n].tolist()
            assert found[0].tolist() == labels[row, :n].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_fits_a_treebank_with_crossing_arcs(kind, tiny, tmp_path):
    is_crossing = [has_crossing_arcs(np.array(s.head, np.int32)) for s in tiny]
    order = sorted(zip(is_crossing, map(len, tiny), range(len(tiny)), strict=True))
    sentences = [tiny[i] for *_, i in [*order[:6], *order[-2:]]]
    if kind == "sentence":
        # After a SWAP, the same three nodes can be the first ones in two states. This model does
        # not read anything else, so it cannot learn two transitions for them.
        sentences = sentences[:6]
    epochs = 80 if "summary" in kind else 50
    recipe = make_recipe(kind, states=0, epochs=epochs, patience=epochs, batch_tokens=40, rate=5e-3)
    assert run_until(100.0, recipe, sentences, tmp_path / "model") == 100.0
    parser = load(tmp_path / "model", "cpu", threads=1)
    blank = [new_sentence(sentence.form) for sentence in sentences]
    assert evaluate(sentences, list(parser.parse(blank))).LAS == 100.0


@pytest.mark.parametrize("kind", ["sentence-graph", "state"])
def test_a_resumed_run_gives_the_model_of_an_uninterrupted_run(kind, tiny, tmp_path):
    recipe = make_recipe(kind)
    recipe = replace(recipe, parser=replace(recipe.parser, inputs=replace(INPUTS, dropout=0.3)))
    run(recipe, tiny, tmp_path / "whole")
    for moment in (1, 8):
        cut = tmp_path / f"cut-{moment}"
        with kill_training_at(moment), pytest.raises(Killed):
            run(recipe, tiny, cut)
        run(recipe, tiny, cut, resume=True)
        assert same_weights(weights(tmp_path / "whole"), weights(cut))


def test_swap_is_needed_for_crossing_arcs(tiny):
    _, examples = make_network("sentence", tiny)
    for oracle, sentence in zip(examples.oracles, tiny, strict=True):
        crossing = has_crossing_arcs(np.array(sentence.head, np.int32))
        assert (oracle.transitions == SWAP).any() == crossing


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reads": "sentence", "history": 5}, r"scorer\.history needs scorer\.reads=state"),
        ({"reads": "sentence", "summary": True}, r"scorer\.summary needs"),
        ({"reads": "sentence", "composition": True}, r"scorer\.composition needs"),
        ({"reads": "sentence", "separate_positions": True}, r"scorer\.separate_positions needs"),
    ],
)
def test_settings_without_effect_are_refused(changes, message):
    config = make_config("sentence", **changes)
    with pytest.raises(ConfigError, match=message):
        from_dict(TransitionConfig, asdict(config))


@pytest.mark.parametrize("skip", [True, False])
def test_composition_with_skip_connections_starts_as_the_identity(skip):
    comp = Composition(TransitionScorer(reads="state", compose_skip=skip), 4, 3)
    words = torch.randn(1, 5, 4)
    composed = comp(comp.start(words), np.array([[1], [2], [RIGHT], [1]]))
    assert torch.equal(composed.vectors, words) == skip


@pytest.mark.parametrize("skip", [True, False])
def test_all_words_are_composed_as_in_the_paper(skip, tiny):
    """Eqs. 11 and 12, word by word: a word keeps its most recent dependent, with its label."""
    network, examples = make_network("state", tiny, compose_skip=skip)
    comp, sentence = network.composition.double(), 3
    (size, (oracle,)) = (len(tiny[sentence]), examples.oracles[sentence : sentence + 1])
    words = torch.randn(1, size + 1, network.encoder_input_size, dtype=torch.float64)
    states, composed = States.first(np.array([size])), comp.start(words)
    vectors = dict(enumerate(words[0]))
    recent = dict.fromkeys(vectors, (comp.no_dependent, comp.labels.weight[0]))
    for taken in oracle.transitions.tolist():
        s2, s1, _ = states.first_nodes()[0].tolist()
        head = dependent = label = 0
        if taken in (LEFT, RIGHT):
            dependent, head = (s2, s1) if taken == LEFT else (s1, s2)
            label = int(oracle.labels[dependent - 1]) + 1
            row = label + comp.num_labels * (taken == RIGHT)
            recent[head] = (vectors[dependent], comp.labels.weight[row])
        apply_transition(taken, *states.arrays(0))
        composed = comp(composed, np.array([[head], [dependent], [taken], [label]]))
        for node in [n for n in vectors if n == 0 or states.heads[0, n - 1] < 0]:
            x = torch.cat((vectors[node], *recent[node]))
            new = comp.second(torch.tanh(comp.first(x)))
            vectors[node] = new + vectors[node] if skip else new
        for node, vector in vectors.items():
            torch.testing.assert_close(composed.vectors[0, node], vector)
    assert (states.heads[0] >= 0).all()


def test_the_classifier_of_labels_reads_the_history(tiny):
    """Eq. 5 and section 4.1.2."""
    network, _ = make_network("state", tiny)
    assert network.label.first.in_features == 2 * network.size + 12
    assert network.transition.first.in_features == 3 * network.size + 12


@pytest.mark.parametrize("kind", ["sentence-graph", "state"])
def test_the_root_is_a_position_of_its_own(kind, tiny, tmp_path):
    transformer = load_transformer(str(save_bert(tmp_path / "bert")))
    network, examples = make_network(kind, tiny[:3], transformer)
    batch = cpu_batch(examples, np.arange(3))
    plain = network.pieces(batch)
    sequences = plain.with_root(network.root)
    assert (sequences.lengths == plain.lengths + 1).all()
    torch.testing.assert_close(sequences.vectors[:, 1], network.root.expand(3, -1))
    words, without = sequences.words(sequences.vectors), plain.words(plain.vectors)
    torch.testing.assert_close(words[:, 0], network.root.expand(3, -1))
    for row, size in enumerate(batch.sizes.tolist()):
        torch.testing.assert_close(words[row, 1:size], without[row, 1:size])
    heads = torch.zeros(3, batch.length - 1, dtype=torch.int64)
    assert (sequences.graph(heads)[:, 2] == 1).all()  # the head of the first word
    network.zero_grad()
    network(batch).backward()
    assert network.root.grad.abs().max() > 0


def test_every_segment_has_a_trained_vector(tiny, tmp_path):
    transformer = load_transformer(str(save_bert(tmp_path / "bert")))
    network, examples = make_network("state-graph", tiny[:3], transformer, states=0)
    network(cpu_batch(examples, np.arange(3))).backward()
    assert (network.segments.weight.grad.abs().amax(1) > 0).all()


def test_positions_can_be_numbered_in_each_segment(tiny, tmp_path):
    assert number_segments(np.array([[0, 0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0, 0]])).tolist() == [
        [0, 1, 2, 0, 1, 0, 1], [0, 0, 1, 2, 0, 0, 1]
    ]  # fmt: skip
    transformer = load_transformer(str(save_bert(tmp_path / "bert")))
    read = []
    for separate in (False, True):
        network, examples = make_network(
            "state", tiny[:3], transformer, states=0, separate_positions=separate
        )
        run_encoder = network.encoder.forward

        def forward(
            x, lengths, graph=None, positions=None, *, host_lengths, run_encoder=run_encoder
        ):
            read.append(positions)
            encode = partial(run_encoder, x, lengths, graph, host_lengths=host_lengths)
            if positions is not None:
                index = torch.arange(x.shape[1]).expand(x.shape[:2])
                torch.testing.assert_close(encode(index), encode())
                assert not torch.allclose(encode(positions), encode())
            return encode(positions)

        network.encoder.forward = forward
        network(cpu_batch(examples, np.arange(3)))
    assert read[0] is None
    assert read[1][0].tolist()[:5] == [0, 1, 2, 0, 1]  # CLS, the root, SEP, and two words
