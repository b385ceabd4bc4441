"""`depkit train`: trains a parser on treebanks and writes a model directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING
from depkit.cli.output import print_message


def train_command(
    train: options.TrainFiles,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    recipe: options.Recipe = "selfatt",
    config: options.Config = "",
    settings: options.Settings = None,
    features: options.TrainFeatures = None,
    dev_features: options.DevFeatures = "",
    parses: options.Parses = None,
    dev_parses: options.DevParses = "",
    init: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Start from the weights of this trained model, with the same network, vocabulary"
            " and tokenizer.",
            rich_help_panel=MODEL,
        ),
    ] = "",
    seed: options.TrainSeed = 1,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Train this many models, with seeds from --seed upwards, in the directories"
            " seed-1, seed-2 and so on of the output directory. Print the mean and the standard"
            " deviation of their dev scores, and copy the best model into the output directory.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    punct: options.TrainPunct = "",
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.TrainVerbose = False,
) -> None:
    """Train a parser, and with it a tagger and a tokenizer.

    During training, the output directory always contains the model of the best epoch so far, a
    log (log.jsonl) and the state from which --resume continues. When training is finished, a
    model card (README.md) is added, and the parser is calibrated on the development treebank: of
    the arcs to which depkit parse --prob gives a probability of 0.9, about 90% are then correct.

    The settings of the recipe determine the parts of a word's vector; --set changes them.
    inputs.word=100 adds a word embedding of size 100; 0 omits it. inputs.tag=100 adds an embedding
    of the tag in the input: the XPOS tag; with inputs.tag_column=upos, the UPOS tag; with
    inputs.tag_column=ppos, the predicted tag of CoNLL-09 (PPOS). inputs.char=100 adds a vector of
    the characters of the word, which is computed by an LSTM or, with inputs.char_kind=concat, from
    the concatenated embeddings of the characters. inputs.affix=100 adds a vector of its prefixes,
    suffixes and shape. inputs.prior=50 adds a vector of the tags that words with the same form or
    the same endings have in the training treebank.
    inputs.vectors.file=FILE adds pretrained vectors in the format of GloVe, word2vec or fastText.
    inputs.lexicon=FILE adds the words of a CoNLL-U file to the lemma dictionary.

    If the sentences are from several treebanks, inputs.treebank=12 adds a vector of the treebank,
    so that each can keep its own annotation style. The name of a treebank is that of its file
    without the extension and without -ud-train, -train, -dev and the like; that of ewt/train.conllu
    is ewt. Parsing uses the vector of the treebank with the name of the input file, or that of
    depkit parse --treebank NAME.

    inputs.context.source=transformer adds the output of the transformer inputs.context.model, which
    is a directory or a name on the Hugging Face hub. It can be any encoder that AutoModel loads, if
    it has a fast tokenizer and weights in safetensors. By default it is frozen: its output is
    computed once and cached in ~/.cache/depkit or DEPKIT_CACHE, which you can empty at any time.
    With inputs.context.tune=true, it is trained together with the parser.
    inputs.context.source=elmo adds the ELMo vectors of --features and --dev-features; this needs
    the package h5py.

    With --parses and --recipe refine, the parser learns to correct the trees of another parser; it
    reads these trees in addition to the words (inputs.draft). The trees of the training sentences
    must have as many errors as those that will be corrected, so they must come from parsers that
    were not trained on these sentences: depkit parse --out-of-fold makes them.

    encoder.kind is bilstm, selfatt, factored (self-attention that separates contents and
    positions), stacked (self-attention that reads the output of a BiLSTM) or none.
    encoder.recurrent_dropout=0.33 adds dropout between the time steps of a BiLSTM.
    --verbose prints all settings; depkit/parsers/config.py and depkit/training/recipe.py explain
    them.

    PyTorch's launcher torchrun starts several processes that train one parser together: on CPUs, or
    with one GPU for each process. Each process computes training.accumulate batches of each update,
    so an update of N processes has N times as many batches as an update of one process. If this is
    too many, lower training.accumulate or training.batch_tokens. Only the first process writes
    files, computes the scores on the development treebank, and trains the tokenizer. Each process
    uses one CPU thread, or the number of threads that --threads gives. All processes must read the
    same files, and --resume requires the same number of processes. If one process fails, all
    processes end; --resume then continues the run.

    Example: depkit train train.conllu --dev dev.conllu -o en.model --max-time 90m

    Example: torchrun --standalone --nproc-per-node 2 --no-python depkit train train.conllu --dev
    dev.conllu -o en.model

    Example: depkit train it_isdt-ud-train.conllu it_vit-ud-train.conllu --dev it_isdt-ud-dev.conllu
    -o it.model --set inputs.treebank=12

    Example: depkit train train.conllu --dev dev.conllu -o en.glove --set
    inputs.vectors.file=glove.6B.100d.txt

    Example: depkit train train.conllu --dev dev.conllu -o en.bert --set
    inputs.context.source=transformer --set inputs.context.model=google-bert/bert-base-cased

    Example: depkit train train.conllu --dev dev.conllu --parses train-parsed.conllu --dev-parses
    dev-parsed.conllu --recipe refine -o en.refiner

    Example: depkit train train.conllu --dev dev.conllu -o en.elmo --recipe li2019-elmo --features
    train.hdf5 --dev-features dev.hdf5
    """
    options.check_inputs([*train, dev, *(parses or []), dev_parses], quiet)
    options.check_punct(punct or "keep")

    from depkit.training import run

    with note_interruption("--resume continues from the last checkpoint, if there is one", quiet):
        run.train(
            train, output, dev, dev_split, recipe, config, settings or [], features or [],
            dev_features, init, seed, seeds, epochs, patience, max_time, resume, device, threads,
            encoding, quiet, verbose, keep_state, punct, parses or [], dev_parses,
        )  # fmt: skip


@contextmanager
def note_interruption(advice: str, quiet: bool) -> Iterator[None]:
    """Print advice on how to resume if Ctrl-C interrupts the body of the with statement."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            print_message(f"depkit: note: the run was interrupted; {advice}")
        raise
