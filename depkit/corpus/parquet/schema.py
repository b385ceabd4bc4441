r"""The columns of Parquet files and Arrow batches, and the check of their types.

The columns are named as in the collection of Universal Dependencies on the Hugging Face hub:

| column | type | content |
|---|---|---|
| sent_id, text | string | the values of these comments, null if there are none |
| comments | list of strings | all comment lines, with `#` and without line ends |
| tokens, lemmas, upos, xpos, feats, deprel, deps, misc | list of strings | the cells of the words |
| head | list of int32 | 0 for the root, null for `_` |
| mwt | list of structs | multiword ranges: id, form, feats, misc |
| empty_nodes | list of structs | empty nodes, with all ten columns of CoNLL-U |
| arc_prob, label_prob | list of float64 | ArcProb and LabelProb of MISC, null if there are none |
| original | string | the lines of the sentence, if the columns above do not determine them |

On the hub, HEAD is text; here it is a number, so that it can be compared. In its older versions,
UPOS is a number, and FEATS, DEPS and MISC are printed Python dictionaries; here all cells are the
text of CoNLL-U, so that nothing is lost. The last three columns are not on the hub. `original` is
for sentences with \r\n, a byte order mark, blank lines in unusual positions, HEAD with leading
zeros, or unusual ranges.

Only `tokens` is required for reading. A missing list or a null in a list is read as `_`, and
without `comments`, sent_id and text become comments. Other columns are ignored, also `arc_prob` and
`label_prob`, which repeat MISC.
"""

from typing import TYPE_CHECKING, Any

from depkit.corpus.formats import CONLLU
from depkit.corpus.probabilities import ARC_PROB, LABEL_PROB
from depkit.files.errors import FormatError

if TYPE_CHECKING:
    from pyarrow import Schema

# The names of the columns FORM, LEMMA, ... of CoNLL-U.
LISTS = ("tokens", "lemmas", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
RANGE_FIELDS = ("id", "form", "feats", "misc")
PROBABILITIES = {"arc_prob": ARC_PROB, "label_prob": LABEL_PROB}


def make_schema() -> "Schema":
    """Return the names and types of all columns in their order."""
    import pyarrow as pa

    strings = pa.list_(pa.string())
    types = {"sent_id": pa.string(), "text": pa.string(), "comments": strings}
    types |= {name: pa.list_(pa.int32()) if name == "head" else strings for name in LISTS}
    for name, fields in (("mwt", RANGE_FIELDS), ("empty_nodes", CONLLU.columns)):
        types[name] = pa.list_(pa.struct([(field, pa.string()) for field in fields]))
    types |= {name: pa.list_(pa.float64()) for name in PROBABILITIES}
    types["original"] = pa.string()
    return pa.schema(list(types.items()))


def check_types(schema: "Schema", file: str) -> None:
    """Raise FormatError if there are no tokens, or a column that is read has a wrong type."""
    import pyarrow as pa
    from pyarrow import types

    def is_text(type: Any) -> bool:
        if types.is_dictionary(type):
            type = type.value_type
        return types.is_string(type) or types.is_large_string(type) or types.is_null(type)

    def is_list(type: Any) -> bool:
        return types.is_list(type) or types.is_large_list(type)

    if schema.names.count("tokens") != 1 or types.is_null(schema.field("tokens").type):
        message = "the file has no column tokens, so it has no sentences"
        raise FormatError(file, 0, "", message)
    for name, expected in zip(make_schema().names, make_schema().types, strict=True):
        if name not in schema.names or name in PROBABILITIES:
            continue
        if schema.names.count(name) > 1:
            raise FormatError(file, 0, "", f"there are two columns {name}")
        actual = schema.field(name).type
        value = actual.value_type if is_list(actual) else pa.null()
        if types.is_null(actual):
            is_correct = True
        elif types.is_string(expected):
            is_correct = is_text(actual)
        elif name in ("mwt", "empty_nodes"):
            is_correct = types.is_struct(value) and all(is_text(field.type) for field in value)
        else:
            is_entry = is_text(value) or (name == "head" and types.is_integer(value))
            is_correct = is_list(actual) and is_entry
        if not is_correct:
            found = " ".join(str(actual).split())[:80]
            raise FormatError(file, 0, "", f"the column {name} is {found} instead of {expected}")
