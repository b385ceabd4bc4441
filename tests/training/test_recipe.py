"""Recipes: shipped recipes load, settings override files, and errors name the setting."""

import tomllib
from dataclasses import replace

import pytest

from depkit.nn.settings import BiLSTM
from depkit.parsers.settings import ConfigError, to_toml
from depkit.training.recipe import (
    Training,
    from_tables,
    make_recipe,
    read_recipe_text,
    recipe_names,
    recipe_settings,
)
from depkit.training.schedule import rate_factor


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_recipes_load(name):
    make_recipe(name)


def test_other_names_of_recipes_can_be_used():
    assert make_recipe("kk2018-factored") == make_recipe("factored")
    assert "kk2018-factored" not in recipe_names()


def test_settings_of_all_families_and_encoders_are_listed():
    names = recipe_settings()
    assert len(names) == len(set(names))
    assert {"about", "encoder.attend", "encoder.recurrent_dropout", "inputs.context.model",
            "scorer.predict", "training.rate", "decoder.root", "family"} <= set(names)  # fmt: skip
    assert not {"calibration.arc", "encoder", "parser"} & set(names)


def test_misspelled_settings_of_a_file_get_a_suggestion(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("layer = 2\n[encoder]\nsize = 16\n")
    with pytest.raises(ConfigError, match=r"'layer'; did you mean .*encoder\.layers"):
        make_recipe("bilstm", str(file))


def test_a_recipe_extends_its_base():
    bert, plain = make_recipe("li2019-bert"), make_recipe("li2019-selfatt")
    assert replace(bert.parser, inputs=plain.parser.inputs) == plain.parser
    assert bert.training == plain.training
    inputs = bert.parser.inputs
    assert (inputs.word, inputs.tag, inputs.word_min_count) == (0, 100, 3)
    assert (inputs.context.layers, inputs.context.top) == ("average", 4)


def test_li2019_selfatt_has_the_values_of_the_paper():
    recipe = make_recipe("li2019-selfatt")
    encoder, inputs, training = recipe.parser.encoder, recipe.parser.inputs, recipe.training
    assert (encoder.layers, encoder.size, encoder.feedforward, encoder.heads) == (8, 200, 800, 8)
    assert (training.beta1, training.beta2, training.epsilon) == (0.9, 0.98, 1e-6)
    assert (training.rate, training.epochs, training.patience) == (0.0012, 1000, 100)
    assert inputs.word + inputs.tag == encoder.size
    assert not encoder.norm_first


def test_li2019_bilstm_differs_only_in_encoder_and_rate():
    recipes = [make_recipe(f"li2019-{kind}") for kind in ("selfatt", "bilstm")]
    selfatt, bilstm = (
        replace(
            recipe,
            parser=replace(recipe.parser, encoder=BiLSTM()),
            training=replace(recipe.training, rate=1.0),
        )
        for recipe in recipes
    )
    assert selfatt == bilstm
    assert selfatt.training.schedule == "step"
    assert selfatt.training.punct == "ptb"
    encoder = recipes[1].parser.encoder
    assert (encoder.layers, encoder.size) == (3, 400)
    assert (encoder.dropout, encoder.recurrent_dropout) == (0.33, 0.33)


def test_rotary_positions_of_a_recipe_do_not_apply_to_a_factored_encoder():
    recipe = make_recipe("selfatt", None, ["encoder.kind=factored"])
    assert recipe.parser.encoder.positions == "sinusoidal"
    assert recipe.parser.encoder.layers == make_recipe("selfatt").parser.encoder.layers
    with pytest.raises(ConfigError, match="positions is 'rotary'"):
        make_recipe("selfatt", None, ["encoder.kind=factored", "encoder.positions=rotary"])


def test_settings_override_the_file_and_the_file_the_recipe(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[encoder]\nlayers = 2\nsize = 16\n[training]\nepochs = 3\n")
    recipe = make_recipe("bilstm", str(file), ["encoder.layers=1", "training.precision=float32"])
    assert recipe.parser.encoder == BiLSTM(layers=1, size=16)
    assert (recipe.training.epochs, recipe.training.precision) == (3, "float32")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "there is no recipe 'nonsense'; choose from bilstm"),
        (("selfat",), "there is no recipe 'selfat'; did you mean selfatt?"),
        (("bilstm", None, ["encoder.layer=1"]), "'encoder.layer'; did you mean encoder.layers?"),
        (("bilstm", None, ["layers=1"]), "'layers'; did you mean .*encoder.layers"),
        (
            ("bilstm", None, ["flavour=1"]),
            "there is no setting 'flavour'; choose from about, .*training",
        ),
        (
            ("bilstm", None, ["encoder.projects_inputs=true"]),
            "there is no setting 'encoder.projects_inputs'",
        ),
        (("bilstm", None, ["family="]), "family is ''; it can be biaffine"),
        (("bilstm", None, ["encoder.layers"]), "not KEY=VALUE"),
        (("bilstm", None, ["encoder.layers=many"]), "takes a value of type int"),
        (("small", None, ["inputs.word=0", "inputs.char=0"]), "nothing to read"),
        (("bilstm", None, ["inputs.context.source=transformer"]), "go together"),
        (("bilstm", None, ["inputs.context.model=x"]), "go together"),
        (("bilstm", None, ["inputs.context.tune=true"]), "context.tune requires"),
        (("li2019-elmo", None, ["inputs.context.layers=single"]), "top is 0"),
        (("bilstm", None, ["encoder.recurrent_dropout=1"]), "from 0 to less than 1"),
        (
            ("selfatt", None, ["encoder.recurrent_dropout=0.3"]),
            "with encoder.kind=bilstm or stacked",
        ),
        (("bilstm", None, ["encoder.window=5"]), "encoder.window can only be set with"),
        (("selfatt", None, ["encoder.relaxed=true"]), "relaxed needs a window"),
        (("selfatt", None, ["encoder.head_size=25"]), "head_size is 25; .* needs an even number"),
        (("selfatt", None, ["encoder.rotary_base=1"]), "rotary_base is 1.0; it takes a number ab"),
        (
            ("selfatt", None, ["encoder.combine_positions=concat"]),
            "combine_positions=concat needs position vectors",
        ),
        (
            ("selfatt", None, ["encoder.position_attention=true"]),
            "position_attention needs position vectors",
        ),
        (("li2019-selfatt", None, ["encoder.rotary_base=50"]), "rotary_base has no effect"),
        (("selfatt", None, ["encoder.drop_positions=false"]), "drop_positions has no effect"),
        (("selfatt", None, ["inputs.tag_dropout=0.2"]), "without inputs.tag; set both"),
        (("li2019-bilstm", None, ["inputs.char_boundaries=true"]), "without inputs.char; set"),
        (("selfatt", None, ["training.plateau=3"]), "with training.schedule=linear; .* plateau"),
        (("bilstm", None, ["training.decay=0.5"]), "exponential or step or plateau"),
        (("factored", None, ["encoder.positions=rotary"]), "positions is 'rotary'"),
        (("factored", None, ["encoder.convolution=3"]), "with encoder.kind=selfatt"),
        (("bilstm", None, ["training.punct=commas"]), "training.punct: there is no punctuation"),
        (("tagger", None, ["training.punct=upos"]), "family=tagger has no scores that leave"),
        (("bilstm", None, ["encoder.kind=none", "inputs.stop=true"]), "stop has no effect"),
        (("factored", None, ["training.patience=5"]), "training.plateau is 5, but"),
        (("factored", None, ["training.keep=last"]), "choose another schedule"),
        (("selfatt", None, ["encoder.attend=[content]"]), "attend can only be set with"),
        (("factored", None, ["encoder.attend=['content', 'both']"]), "2 entries for 8"),
        (("bilstm", None, ["scorer.tree=false", "training.select=LAS"]), "family=tagger it can be"),
        (("bilstm", None, ["training.select=tags"]), "family=biaffine it can be LAS, UAS"),
        (("bilstm", None, ["family=tagger", "scorer.tree=true"]), "leave scorer.tree out"),
        (("bilstm", None, ["family=easyfirst"]), "family is 'easyfirst'; it can be biaffine"),
        (("bilstm", None, ["calibration.arc=2"]), "calibration .* cannot be set"),
        (("tagger", None, ["scorer.predict=[]"]), "nothing to predict"),
        (("selfatt", None, ["tokenizer.pairs=100"]), "pairs is 100; it must be 0 or a power"),
        (
            ("tagger", None, ["decoder.algorithm=eisner"]),
            "^decoder.algorithm can only be set with family=biaffine, not with family=tagger$",
        ),
        (("tagger", None, ["decoder=3"]), "there is no setting 'decoder'"),
        (("tagger", None, ["decoder.foo=3"]), "there is no setting 'decoder.foo'"),
        (("tagger", None, ["decoder.rot=single"]), "did you mean decoder.root"),
        (("tagger", None, ["scorer.arc=100"]), "scorer.arc can only be .* family=biaffine, not"),
        (("selfatt", None, ["scorer.history=200"]), "history can only be .* family=transition"),
        (
            ("mh2020-sent", None, ["scorer.predict=[upos]"]),
            "family=biaffine or constituency or tagger, not with family=transition",
        ),
        (("bilstm", None, ["inputs.context.depth=6"]), "no effect with .*context.source=none"),
        (("bilstm", None, ["inputs.context.size=50"]), "source to transformer or elmo"),
        (("bilstm", None, ["inputs.context.revision=main"]), "without inputs.context.model"),
        (("li2019-elmo", None, ["inputs.context.pooling=last"]), "source to transformer$"),
        (("li2019-bert", None, ["inputs.context.checkpointing=true"]), "without .*context.tune"),
        (("bilstm", None, ["inputs.vectors.tune=true"]), "without inputs.vectors.file"),
        (("bilstm", None, ["inputs.vectors.scale=false"]), "without inputs.vectors.file"),
        (("bilstm", None, ["inputs.word=0", "inputs.word_unknown=2"]), "without inputs.word"),
        (("selfatt", None, ["encoder=3"]), "encoder is a table of settings, not 3"),
    ],
)
def test_errors_name_the_setting(arguments, message):
    with pytest.raises(ConfigError, match=message):
        make_recipe(*arguments)


def test_settings_without_effect_can_be_written_with_their_defaults():
    defaults = ["scorer.arc=500", "decoder.algorithm=mst", "inputs.context.depth=0"]
    assert make_recipe("tagger", settings=defaults) == make_recipe("tagger")
    for hidden in (250, 500):  # the defaults of two families
        assert make_recipe("selfatt", settings=[f"scorer.hidden={hidden}"]) == make_recipe()


def test_several_recipes_of_a_family_do_not_share_settings_of_another_family():
    make_recipe("bilstm", settings=["encoder.window=5"], shared=True)
    with pytest.raises(ConfigError, match="can only be set with family=transition"):
        make_recipe("bilstm", settings=["scorer.history=200"], shared=True)


def test_every_setting_of_a_text_can_be_read_again():
    text = "".join(map(chr, range(128))) + "\x85é\u2028\N{CAT}"
    recipe = make_recipe("tagger", settings=[f"about={text}"])
    assert recipe.about == text
    assert from_tables(tomllib.loads(to_toml(recipe.tables()))) == recipe


def test_a_text_that_cannot_be_stored_is_refused():
    with pytest.raises(ConfigError, match=r"^inputs.vectors.file is 'a\\udcff', which cannot be"):
        make_recipe("tagger", settings=["inputs.vectors.file=a\udcff"])


@pytest.mark.parametrize("text", ["[" * 5000, "9" * 5000, "{a" + ".a" * 50 + "=1}"])
def test_a_value_that_is_not_toml_is_a_text(text):
    assert make_recipe("tagger", settings=[f"about={text}"]).about == text


def test_a_file_names_the_recipe_that_it_changes(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("base = 'small'\n[encoder]\nlayers = 1\n")
    recipe = make_recipe(str(file))
    assert recipe == make_recipe("small", settings=["encoder.layers=1"]) != make_recipe("small")
    assert recipe == make_recipe(file=file) == make_recipe("small", file)
    with pytest.raises(ConfigError, match="changes the recipe small, not bilstm"):
        make_recipe("bilstm", file)


def test_a_parser_without_trees_is_a_tagger():
    assert make_recipe("tagger").parser.family == "tagger"
    for setting in ("family=tagger", "scorer.tree=false"):
        assert make_recipe("bilstm", settings=[setting]).parser.family == "tagger"
    recipe = make_recipe("bilstm", settings=["scorer.tree=true"])
    assert recipe == make_recipe("bilstm") and recipe.parser.family == "biaffine"


def test_a_recipe_written_as_toml_is_read_unchanged():
    for name in recipe_names():
        recipe = make_recipe(name)
        assert from_tables(tomllib.loads(to_toml(recipe.tables()))) == recipe


def test_a_config_of_a_model_without_some_settings_gives_its_parser_with_any_recipe(tmp_path):
    model = make_recipe("li2019-selfatt")
    (tmp_path / "config.toml").write_text(f"format_version = 1\n{to_toml(model.tables())}")
    tables = tomllib.loads((tmp_path / "config.toml").read_text())
    for name in ("convolution", "activation", "zero_init"):
        del tables["encoder"][name]
    (tmp_path / "config.toml").write_text(to_toml(tables))
    for recipe in ("selfatt", "bilstm"):
        assert make_recipe(recipe, str(tmp_path / "config.toml")).parser == model.parser


def test_a_broken_file_is_named(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[encoder\n")
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        make_recipe("bilstm", str(file))


def test_rates_follow_the_schedule():
    steps = Training(schedule="exponential", rate=1.0, decay=0.75, decay_updates=10, warmup=4)
    factors = [rate_factor(steps, i, 0.0, 99) for i in (0, 1, 3, 4, 14)]
    assert factors == [0.25, 0.5, 1.0, 1.0, 0.75]
    steps = Training(schedule="step", rate=1.0, decay=0.75, decay_updates=10, warmup=4)
    factors = [rate_factor(steps, i, 0.0, 99) for i in (0, 3, 4, 13, 14, 23, 24)]
    assert factors == pytest.approx([0.25, 1, 1, 1, 0.75, 0.75, 0.5625])
    plateau = Training(schedule="plateau", rate=1.0, decay=0.5, warmup=4)
    factors = [rate_factor(plateau, i, 0.5, 99, reductions=2) for i in (0, 3, 4, 99)]
    assert factors == pytest.approx([0.25, 1, 0.25, 0.25])
    linear = Training(schedule="linear", rate=1.0, warmup=2)
    factors = [rate_factor(linear, i, i / 10, 10) for i in (0, 1, 2, 4, 6, 10)]
    assert factors == pytest.approx([0.5, 1.0, 1.0, 0.75, 0.5, 0.0])
    # if the run is limited by time, the warm-up may have taken more than its share
    assert rate_factor(linear, 2, 0.5, 10) == pytest.approx(0.625)
    assert rate_factor(Training(schedule="constant", rate=1.0), 99, 0.99, 100) == 1.0
    # The warm-up takes at most a fifth of the run.
    short = Training(schedule="linear", rate=1.0, warmup=100)
    factors = [rate_factor(short, i, i / 20, 20) for i in (0, 2, 4, 8, 12, 16)]
    assert factors == pytest.approx([0.01, 0.5, 1.0, 0.75, 0.5, 0.25])


def test_a_recipe_can_be_a_file_that_changes_another_recipe(tmp_path):
    (tmp_path / "mine.toml").write_text('base = "bilstm"\n[training]\nepochs = 7\n')
    mine, bilstm = make_recipe(str(tmp_path / "mine.toml")), make_recipe("bilstm")
    assert mine == replace(bilstm, training=replace(bilstm.training, epochs=7))
    (tmp_path / "other.toml").write_text("[training]\nepochs = 7\n")
    assert make_recipe(str(tmp_path / "other.toml")).parser == make_recipe("selfatt").parser
    (tmp_path / "wrong.toml").write_text('base = "best"\n')
    with pytest.raises(ConfigError, match="no recipe 'best'"):
        make_recipe(str(tmp_path / "wrong.toml"))
    with pytest.raises(ConfigError, match=r"`config` y\.toml cannot be combined"):
        make_recipe(str(tmp_path / "mine.toml"), "y.toml")


def test_the_warm_up_can_be_a_share_of_the_training():
    training = Training(warmup=0.01, schedule="linear")
    factors = [rate_factor(training, i, i / 1000, 1000) for i in range(12)]
    assert factors[:10] == pytest.approx([(i + 1) / 10 for i in range(10)])
    assert factors[11] == pytest.approx((1 - 0.011) / 0.99)
    # A training that ends by its time has a warm-up of the same share.
    assert rate_factor(training, 3, 0.005, 1000) == pytest.approx(0.5)


@pytest.mark.parametrize("schedule", ["exponential", "step"])
def test_decay_begins_where_a_training_limited_by_time_ends_its_warm_up(schedule):
    training = Training(warmup=0.1, schedule=schedule, decay=0.5, decay_updates=10)
    # Of 1000 updates, only 100 fit into the time; so the warm-up takes 10 instead of 100.
    factors = [rate_factor(training, i, i / 100, 1000) for i in (5, 10, 20, 30, 90)]
    assert factors == pytest.approx([0.5, 1, 0.5, 0.25, 0.5**8])
    factors = [rate_factor(training, i, i / 1000, 1000) for i in (49, 100, 110, 120)]
    assert factors == pytest.approx([0.5, 1, 0.5, 0.25])
    # A warm-up of less than an update
    assert rate_factor(training, 0, 0.0, 5) == 1


def test_a_copy_of_a_shipped_recipe_can_be_changed(tmp_path):
    copy = tmp_path / "mine.toml"
    copy.write_text(read_recipe_text("kk2018-char").replace("word = 0", "word = 512"))
    assert make_recipe(str(copy)) == make_recipe("kk2018")
    with pytest.raises(ConfigError, match="there is no setting 'set'"):
        copy.write_text('set = ["inputs.word=0"]\n')
        make_recipe(str(copy))
