"""Train or parse with ufal.udpipe, on one thread, run by a Python that has it installed:

python udpipe_run.py parse MODEL FILE OUTPUT
python udpipe_run.py annotate MODEL FILE OUTPUT
python udpipe_run.py train MODEL TREEBANK [projective|swap [full]]

parse reads raw text with blank lines between paragraphs, writes CoNLL-U, and prints a line of JSON:
the seconds without imports, and the number of words of the output. annotate reads and writes
CoNLL-U. train trains a tagger and parser with the options of the published models and this
transition system. With "full", it trains a tokenizer, too, and the parser begins with word2vec
vectors of the treebank, as those of the published models do; this needs gensim. Without a system,
it trains all three with UDPipe's default options, but with fewer iterations, which is sufficient to
measure the speed.
"""

import json
import sys
import time
from zlib import crc32

from ufal.udpipe import (
    InputFormat,
    Model,
    OutputFormat,
    ProcessingError,
    Sentence,
    Sentences,
    Trainer,
)

# Options of the published models for UD 2.5. The tagger has two models: one for tags and features,
# one for lemmas.
TAGGER = """
    models=2; templates_1=tagger; guesser_suffix_rules_1=8; guesser_enrich_dictionary_1=6;
    guesser_prefixes_max_1=0; use_lemma_1=1; use_xpostag_1=1; use_feats_1=1; provide_lemma_1=0;
    provide_xpostag_1=1; provide_feats_1=1; prune_features_1=0; templates_2=lemmatizer;
    guesser_suffix_rules_2=8; guesser_enrich_dictionary_2=6; guesser_prefixes_max_2=4;
    use_lemma_2=1; use_xpostag_2=0; use_feats_2=0; provide_lemma_2=1; provide_xpostag_2=0;
    provide_feats_2=0; prune_features_2=0
"""
PARSER = """
    iterations=30; embedding_upostag=20; embedding_feats=20; embedding_xpostag=0;
    embedding_form=50; embedding_lemma=0; embedding_deprel=20; learning_rate=0.01;
    learning_rate_final=0.001; l2=0.5; hidden_layer=200; batch_size=10; structured_interval=8;
"""
TOKENIZER = """
    dimension=24; epochs=100; initialization_range=0.5; batch_size=50; learning_rate=0.005;
    learning_rate_final=0; dropout=0.1
"""
# The options of word2vec for the published models: -cbow 0 -size 50 -window 10 -negative 5 -hs 0
# -sample 1e-1 -iter 15 -min-count 2
WORD2VEC = {
    "sg": 1, "vector_size": 50, "window": 10, "negative": 5, "hs": 0, "sample": 1e-1,
    "epochs": 15, "min_count": 2,
}  # fmt: skip
ORACLES = {"projective": "dynamic", "swap": "static_lazy"}


def parse(model: str, file: str, output: str) -> None:
    began, words = time.perf_counter(), 0
    loaded = Model.load(model)
    if loaded is None:
        sys.exit(f"{model} is not a model of UDPipe")
    reader = loaded.newTokenizer(Model.DEFAULT)
    writer = OutputFormat.newOutputFormat("conllu")
    error = ProcessingError()
    sentence = Sentence()
    with open(file, encoding="utf-8") as text, open(output, "w", encoding="utf-8") as target:
        reader.setText(text.read())
        while reader.nextSentence(sentence, error):
            loaded.tag(sentence, Model.DEFAULT)
            loaded.parse(sentence, Model.DEFAULT)
            words += len(sentence.words) - 1
            target.write(writer.writeSentence(sentence))
            sentence = Sentence()
    if error.occurred():
        sys.exit(error.message)
    print(json.dumps({"seconds": time.perf_counter() - began, "words": words}))


def read(file: str) -> Sentences:
    sentences, error = Sentences(), ProcessingError()
    reader = InputFormat.newInputFormat("conllu")
    with open(file, encoding="utf-8") as text:
        reader.setText(text.read())
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = Sentence()
    if error.occurred():
        sys.exit(error.message)
    return sentences


def annotate(model: str, file: str, output: str) -> None:
    loaded = Model.load(model)
    writer = OutputFormat.newOutputFormat("conllu")
    with open(output, "w", encoding="utf-8") as target:
        for sentence in read(file):
            loaded.tag(sentence, Model.DEFAULT)
            loaded.parse(sentence, Model.DEFAULT)
            target.write(writer.writeSentence(sentence))


def write_vectors(sentences: Sentences, file: str) -> None:
    """Train vectors of words on sentences; they are the same in each run."""
    from gensim.models import Word2Vec

    words = [[word.form.replace(" ", "_") for word in list(s.words)[1:]] for s in sentences]
    model = Word2Vec(words, workers=1, seed=1, hashfxn=lambda x: crc32(x.encode()), **WORD2VEC)
    model.wv.save_word2vec_format(file)


def train(model: str, treebank: str, system: str = "", full: str = "") -> None:
    sentences = read(treebank)
    options = ["epochs=10", "iterations=5", "iterations=3"]
    if system:
        parser = f"{PARSER} transition_system={system}; transition_oracle={ORACLES[system]}"
        options = [Trainer.NONE, *("".join(text.split()) for text in (TAGGER, parser))]
    if full:
        options[0] = "".join(TOKENIZER.split())
        options[2] += f";embedding_form_file={model}.vectors"
        write_vectors(sentences, f"{model}.vectors")
    error = ProcessingError()
    trained = Trainer.train("morphodita_parsito", sentences, Sentences(), *options, error)
    if error.occurred():
        sys.exit(error.message)
    with open(model, "wb") as file:
        file.write(trained)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"train": train, "parse": parse, "annotate": annotate}[command](*arguments)
