"""Tiny transformers with random weights and a handful of word pieces."""

from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.pieces import find_segment_format, make_piece_arrays, split_into_pieces

CPU = torch.device("cpu")
TEXT = ["the dog barks at the small dogs", "a barking dog is not small"]
WORD_PIECES = (
    "[PAD] [UNK] [CLS] [SEP] the dog ##s bark ##ing small a b c ##a ##b ##c at . ! 学 sinh h ##oc"
).split()


def fast_tokenizer(backend, template: str, unk: str, pad: str, cls: str, sep: str):
    ids = [(piece, backend.token_to_id(piece)) for piece in (cls, sep)]
    backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=ids)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token=unk, pad_token=pad, cls_token=cls, sep_token=sep,
        model_max_length=1000,
    )  # fmt: skip


def word_pieces(template: str = "[CLS] $A [SEP]"):
    """A tokenizer like BERT's with a handful of pieces."""
    ids = {piece: i for i, piece in enumerate(WORD_PIECES)}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return fast_tokenizer(backend, template, "[UNK]", "[PAD]", "[CLS]", "[SEP]")


def byte_pieces(prefix_space: bool = False):
    """A tokenizer like RoBERTa's: pieces of bytes; a space belongs to the word behind it."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TEXT, trainer)
    return fast_tokenizer(backend, "<s> $A </s>", "<unk>", "<pad>", "<s>", "</s>")


def starts_and_sizes(sentences) -> tuple[np.ndarray, np.ndarray]:
    """The starts and sizes of sentences, as in a Dataset."""
    sizes = np.array([len(sentence) + 1 for sentence in sentences])
    return 1 + np.cumsum(sizes) - sizes, sizes


WEIGHTS = "model.safetensors"
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32,
    "initializer_range": 0.5,
}  # fmt: skip


def save_bert(folder: Path, model: str = "BertModel") -> Path:
    config = transformers.BertConfig(
        vocab_size=len(WORD_PIECES), max_position_embeddings=24, **SIZES
    )
    return save_pretrained(folder, getattr(transformers, model), config, word_pieces())


def save_roberta(folder: Path) -> Path:
    tokenizer = byte_pieces()
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=26, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, type_vocab_size=1, **SIZES,
    )  # fmt: skip
    return save_pretrained(folder, transformers.RobertaModel, config, tokenizer)


def save_pretrained(folder: Path, model, config, tokenizer) -> Path:
    torch.manual_seed(0)
    model(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_batch(transformer, sentences, pooling="mean", overlap=4):
    format = find_segment_format(transformer.tokenizer, transformer.max_pieces)
    starts, sizes = starts_and_sizes(sentences)
    pieces = split_into_pieces(sentences, transformer.tokenizer)
    length = int(sizes.max())
    arrays = make_piece_arrays(
        pieces, starts, sizes, length, format=format, pooling=pooling, overlap=overlap
    )
    return send_batch(Batch(sizes, length, 0, arrays), CPU)


def edit_weights(folder: Path, change) -> None:
    path = folder / WEIGHTS
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
