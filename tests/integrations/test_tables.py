"""Tables of every library: columns released row by row, all else copied if named, missing stays missing."""

import importlib
import json
import pickle
from datetime import date

import leak_free
import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.runs.tables import chosen_columns, released_columns
from worlds import told

TEXTS = [*leak_free.PROMPTS, None, "", "the same", "the same"]
ROWS = {"id": list(range(len(TEXTS))), "text": TEXTS, "note": TEXTS[::-1]}
IDS = [str(i) for i in range(len(TEXTS))]
MORE = {"who": ["maria", "jon"], "note": ["a house", "a boat"], "age": [40, 41]}
KEY = seeds.key(16)


def plain(table):
    """The columns of pandas, None where it says that a value is missing."""
    return table.astype(object).where(table.notna(), None).to_dict("list")


LIBRARIES = {
    "pandas": ("pandas", lambda module, rows: module.DataFrame(rows), plain),
    "polars": ("polars", lambda module, rows: module.DataFrame(rows), lambda table: table.to_dict(as_series=False)),
    "pyarrow": ("arrow", lambda module, rows: module.table(rows), lambda table: table.to_pydict()),
    "datasets": ("datasets", lambda module, rows: module.Dataset.from_dict(rows), lambda table: table.to_dict()),
}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def adapter(library):
    """A library and its adapter."""
    module = pytest.importorskip(library, reason=f"needs {library}")
    return module, importlib.import_module(f"wordveil.integrations.{LIBRARIES[library][0]}").sanitize


def keyed():
    base = leak_free.sanitizer()
    return wv.Sanitizer(base.embeddings, base.mechanism, options=base.options, source=wv.RandomSource(KEY), threads=1)


def expected():
    """The same rows by the sanitizer itself, document after document."""
    pairs = [*zip(ROWS["text"], ROWS["note"], strict=True)]
    placed = [json.dumps(["text", "note"]) + own for own in IDS]  # other columns are other documents
    documents = [[t for t in pair if t is not None] for pair in pairs]
    texts = iter(keyed().release_documents(documents, ids=placed).texts)
    made = [[None if t is None else next(texts) for t in pair] for pair in pairs]
    return {"id": ROWS["id"], "text": [a for a, _ in made], "note": [b for _, b in made]}


def test_columns_are_released_row_by_row():
    private = {name: column for name, column in ROWS.items() if name != "id"}
    assert {"id": ROWS["id"], **released_columns(private, keyed(), IDS)} == expected()
    assert released_columns({"text": []}, None) == {"text": []}
    for wrong in ({}, {"text": [7]}, {"text": [float("nan")]}):
        with pytest.raises(ParameterError):
            released_columns(wrong, None)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_releases_the_same_rows_and_says_what_it_promises(library):
    (module, sanitize), (_, made, read) = adapter(library), LIBRARIES[library]
    given = {} if library == "datasets" else {"ids": IDS}
    release = sanitize(made(module, ROWS), ["text", "note"], keyed(), keep=["id"], **given)
    table = read(release.table)
    if given:
        assert table == expected()
    for name, private in ROWS.items():
        assert [value is None for value in table[name]] == [value is None for value in private]
    leak_free.check_release(*filter(None, table["text"] + table["note"]))
    assert release.guarantee == keyed().guarantee
    assert "these columns, copied unchanged: id" in release.disclosed
    assert any("the columns text, note hold no text" in line for line in release.disclosed)
    assert "local DP" in release.card()
    assert json.loads(release.as_json())["provenance"]["mechanism"] == release.provenance.mechanism


@pytest.mark.parametrize("kind", ["object", "str", "string"])
def test_pandas_keeps_types_and_index_and_no_attributes_or_private_categories(kind):
    pd, sanitize = adapter("pandas")
    frame = pd.DataFrame(ROWS, index=range(10, 10 + len(TEXTS))).astype({"text": kind, "note": kind})
    frame.attrs["private"] = "Uppsala"
    release = sanitize(frame, ["text", "note"], keyed(), ids=IDS, keep=["id"])
    assert list(release.table.index) == list(range(len(TEXTS)))
    assert (release.table.dtypes == frame.dtypes).all()
    assert release.table.attrs == {"wordveil": release.as_dict()}
    assert frame["text"].iloc[0] == TEXTS[0]
    out = sanitize(pd.DataFrame({"text": pd.Categorical(["Uppsala", "Maria"])}), ["text"], keyed()).table["text"]
    assert out.dtype == object
    leak_free.check_release(out[0])
    number = np.array([0x7FF8DEADBEEF0001], "u8").view("f8").astype(np.dtype("f8", metadata={"private": "Uppsala"}))
    out = sanitize(pd.DataFrame({"text": ["a"], "x": number}), ["text"], keyed(), keep=["x"]).table["x"].to_numpy()
    assert (out.dtype.metadata, out.view("u8").tolist()) == (None, np.array([np.nan]).view("u8").tolist())


def test_the_expression_of_polars_releases_its_column():
    pl, sanitize = adapter("polars")
    from wordveil.integrations.polars import sanitized

    lazy = pl.DataFrame(ROWS).lazy().select("id", sanitized("text", leak_free.sanitizer())).collect()
    assert lazy["id"].to_list() == ROWS["id"]
    assert [text is None for text in lazy["text"]] == [text is None for text in TEXTS]
    leak_free.check_release(*lazy["text"].drop_nulls())
    assert lazy.schema["text"] == pl.String
    private = pl.DataFrame({"text": ["Uppsala"]}, schema={"text": pl.Categorical})
    leak_free.check_release(sanitize(private, ["text"], leak_free.sanitizer()).table["text"][0])
    with pytest.raises(pl.exceptions.ComputeError, match="columns='age' must hold text or nothing"):
        pl.DataFrame(MORE).lazy().select(sanitized("age")).collect()


def test_arrow_keeps_types_and_reads_batch_by_batch_and_takes_ids_with_a_table_alone():
    pa, sanitize = adapter("pyarrow")
    schema = pa.schema({"id": pa.int64(), "text": pa.large_string(), "note": pa.string()}, metadata={"x": "Uppsala"})
    table = pa.table(ROWS, schema=schema)
    release = sanitize(table, ["text", "note"], keyed(), ids=IDS, keep=["id"])
    assert release.table.schema.types == schema.types
    assert release.table.schema.metadata == {b"wordveil": release.as_json().encode()}
    read = sanitize(
        table.to_reader(max_chunksize=2), ["text"], leak_free.sanitizer(), keep_others=True
    ).table.read_all()
    assert read["note"].to_pylist() == ROWS["note"]
    leak_free.check_release(*read["text"].drop_null().to_pylist())
    with pytest.raises(ParameterError, match="unnamed: id, note"):
        sanitize(table.to_reader(), ["text"])
    with pytest.raises(ParameterError, match="must come with a table"):
        sanitize(table.to_reader(), ["text"], ids=IDS)
    private = pa.table({"text": pa.array(["Uppsala", "Maria"]).dictionary_encode()})
    assert sanitize(private, ["text"], leak_free.sanitizer()).table.schema.field("text").type == pa.string()


def test_hugging_face_data_sets_are_drawn_afresh_and_saved_with_their_promise(tmp_path):
    datasets, sanitize = adapter("datasets")
    from wordveil.integrations.datasets import save

    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_dict(ROWS)
    release = sanitize(dataset, ["text", "note"], keyed(), keep_others=True, batch_size=2)
    assert release.table.info.description == release.card()
    save(release, tmp_path / "out")
    assert "## Privacy guarantee" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert datasets.load_from_disk(str(tmp_path / "out")).to_dict() == release.table.to_dict()
    # Two splits hold rows of the same number: each call draws noise of its own, whatever it is given.
    for sanitizer in (keyed(), None):
        drawn = {tuple(sanitize(dataset, ["text"], sanitizer, drop_others=True).table["text"]) for _ in range(3)}
        assert len(drawn) == 3


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_column_is_copied_that_was_not_named(library):
    (module, sanitize), (_, made, read) = adapter(library), LIBRARIES[library]
    table = made(module, MORE)
    unnamed = r"leaves 2 other columns of the table unnamed: who, age\. keep="
    with pytest.raises(ParameterError, match=unnamed) as caught:
        sanitize(table, ["note"])
    assert "maria" not in str(caught.value)
    copied = "these columns, copied unchanged: "
    for choice, columns in (({"keep": ["age"]}, ["age"]), ({"keep_others": True}, ["who", "age"])):
        release = sanitize(table, ["note"], **choice)
        assert list(read(release.table)) == [name for name in MORE if name in ("note", *columns)]
        assert {name: read(release.table)[name] for name in columns} == {name: MORE[name] for name in columns}
        assert release.disclosed[-1] == copied + ", ".join(columns)
    none = sanitize(table, ["note"], drop_others=True)
    assert not any(copied in line for line in none.disclosed)
    assert list(read(sanitize(none.table, ["note"]).table)) == list(read(none.table)) == ["note"]
    for columns, choice, message in told(__file__)["refused"]:
        with pytest.raises(ParameterError, match=message):
            sanitize(table, columns, **choice)


def test_what_becomes_of_other_columns_is_said_in_one_way():
    names = ["id", "text", "who"]
    for keep in (["who", "id"], ("id", "who"), iter(["id", "who"]), (name for name in ("who", "id")), {"id", "who"}):
        assert chosen_columns(["text"], names, keep=keep) == (["text"], ["id", "who"])
    for name in ("keep_others", "drop_others"):
        for value in ("no", "yes", 0, 1, None):
            with pytest.raises(ParameterError, match=f"{name}={value!r} must be True or False"):
                chosen_columns(["text"], names, **{name: value})
    with pytest.raises(TypeError, match=r"^there is no argument 'keep_other'\. Did you mean 'keep_others'\?$"):
        chosen_columns(["text"], names, keep_other=True)
    with pytest.raises(TypeError, match="there is no argument 'where'"):
        chosen_columns(["text"], names, where="here", keep=["id"])
    with pytest.raises(ParameterError, match=r"^keep=\['id'\] cannot be combined with drop_others=True\."):
        chosen_columns(["text"], names, keep=["id"], drop_others=True)


def test_an_index_of_pandas_is_a_column_like_the_others():
    pd, sanitize = adapter("pandas")
    frame = pd.DataFrame({"note": MORE["note"]}, index=pd.Index(["maria", "jon"], name="who"))
    for unnamed, name in ((frame, "who"), (frame.rename_axis(None), "index")):
        with pytest.raises(ParameterError, match=f"unnamed: {name}"):
            sanitize(unnamed, ["note"])
    assert list(sanitize(frame, ["note"], drop_others=True).table.index) == [0, 1]
    assert list(sanitize(frame, ["note"], keep=["who"]).table.index) == ["maria", "jon"]
    levels = pd.MultiIndex.from_tuples([("maria", 1), ("jon", 2)], names=["who", "visit"])
    deep = pd.DataFrame({"note": MORE["note"]}, index=levels)
    kept = sanitize(deep, ["note"], keep=["visit"])
    assert (list(kept.table.index), kept.table.index.name) == ([1, 2], "visit")
    assert kept.disclosed[-1] == "these columns, copied unchanged: index visit"
    assert list(sanitize(deep, ["note"], keep_others=True).table.index) == [("maria", 1), ("jon", 2)]
    for twins, which in (
        (frame.set_index("note", drop=False), "2 columns or indices"),
        (pd.DataFrame([["a house", "a boat"]], columns=["note", "note"]), "2 columns"),
    ):
        with pytest.raises(ParameterError, match=f"columns='note' is the name of {which}"):
            sanitize(twins, ["note"], keep_others=True)
    beside = pd.DataFrame([["a house", 1, 2]], columns=["note", "n", "n"])
    assert sanitize(beside, ["note"], keep_others=True).table[["n"]].to_numpy().tolist() == [[1, 2]]
    assert list(sanitize(beside, ["note"], drop_others=True).table.columns) == ["note"]
    with pytest.raises(ParameterError, match="is the name of 2 columns"):
        sanitize(beside, ["note"], keep=["n"])


def test_a_table_is_no_list_of_texts():
    for table in ({"note": ["a house"]}, pytest.importorskip("pyarrow").table({"note": ["a house"]})):
        with pytest.raises(ParameterError, match=r"must be texts, not a table: name a column of it"):
            wv.sanitize(table)


def test_nothing_that_no_row_uses_is_copied_with_a_column():
    pa, sanitize = adapter("pyarrow")
    kind = pa.struct([pa.field("a", pa.string(), metadata={"note": "zzsecret"})])
    codes = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x", "zzsecret"]))
    table = pa.table({"note": ["a house"], "struct": pa.array([{"a": "x"}], kind), "code": codes})
    released = sanitize(table, ["note"], keep=["struct", "code"]).table
    assert released.schema.field("struct").type.field("a").metadata is None
    assert released.column("code").to_pylist() == ["x"]
    assert b"zzsecret" not in arrow_file(released)
    reader = sanitize(table.to_reader(), ["note"], keep=["struct", "code"]).table
    assert reader.read_all().drop_columns(["note"]).equals(released.drop_columns(["note"]))


def test_nothing_that_no_row_uses_is_copied_with_a_column_of_pandas():
    pd, sanitize = adapter("pandas")
    frame = pd.DataFrame({"note": ["a house", "a dog"], "code": pd.Categorical(["x", "zzsecret"])})
    frame.index = pd.MultiIndex.from_tuples([("p", 1), ("zzsecret", 2)], names=["who", "n"])
    released = sanitize(frame.iloc[:1], ["note"], keep=["code", "who", "n"]).table
    assert list(released["code"]) == ["x"]
    assert b"zzsecret" not in pickle.dumps(released)
    assert [list(level) for level in released.index.levels] == [["p"], [1]]


class Carrier(str):
    """A text that holds more than it shows."""


class Tagged(np.float64):
    """A number that holds more than it shows, as those of units do."""


def test_pandas_refuses_objects_that_may_carry_more_than_they_show():
    pd, sanitize = adapter("pandas")
    carrier = Carrier("x")
    carrier.whose = "zzsecret"
    padded = np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [0], "itemsize": 32})
    void = np.frombuffer(b"\1\0\0\0".ljust(16) + b"zzsecret".ljust(16), padded)[0]
    for odd in (carrier, object(), ["zzsecret"], {"a": 1}, Tagged(1.5), void):
        column = np.empty(2, object)
        column[:] = [odd, 1]
        columns = [pd.Series(column, dtype=object)]
        columns += [pd.Series(pd.Categorical([odd, 1]))] if type(odd) in (Carrier, object) else []
        for code in columns:
            frame = pd.DataFrame({"note": ["a house", "a dog"], "code": code})
            with pytest.raises(ParameterError, match="may carry more than they show") as refused:
                sanitize(frame, ["note"], keep=["code"])
            assert "zzsecret" not in str(refused.value)
    plain = pd.DataFrame({"note": ["a", "b", "c"], "code": ["x", None, 2.5], "day": [date(2026, 1, 2)] * 3})
    assert sanitize(plain, ["note"], keep=["code", "day"]).table[["code", "day"]].equals(plain[["code", "day"]])


def test_pandas_writes_plain_names_for_those_that_carry_more_than_they_show():
    pd, sanitize = adapter("pandas")
    name = Carrier("who")
    name.whose = "zzsecret"
    frame = pd.DataFrame({"note": ["a house"], name: [1]}, index=pd.Index([7], name=Carrier("n")))
    released = sanitize(frame, ["note"], keep=["who", "n"]).table
    assert {type(each) for each in (*released.columns, *released.index.names)} == {str}
    assert b"zzsecret" not in pickle.dumps(released)


def test_one_name_never_copies_a_column_and_an_index_of_pandas():
    pd, sanitize = adapter("pandas")
    frame = pd.DataFrame({"note": ["a house", "a dog"], "index": [1, 2]}, index=["Ana", "Bo"])
    with pytest.raises(ParameterError, match="is the name of a column and of an index"):
        sanitize(frame, ["note"], keep=["index"])
    assert "Ana" not in repr(sanitize(frame, ["note"], drop_others=True).table)


@pytest.mark.parametrize("kind", ["object", "a struct without fields"])
def test_polars_refuses_what_cannot_be_written_again(kind):
    pl, sanitize = adapter("polars")
    value, dtype = (object(), pl.Object) if kind == "object" else ({}, pl.Struct([]))
    values = pl.Series("code", [value], dtype=dtype)
    with pytest.raises(ParameterError, match="holds a type that no Parquet file holds"):
        sanitize(pl.DataFrame({"note": ["a house"]}).with_columns(values), ["note"], keep=["code"])


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("kind", ["category", "Int64", "dictionary of Arrow"])
def test_pandas_copies_what_is_shown(kind, indexed):
    pd = pytest.importorskip("pandas", reason="needs the extra pandas")
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    secret = 0x6574657263657373 if kind == "Int64" else "ssecrete"  # one of their bytes the other
    column = pd.Series([1 if kind == "Int64" else "x", secret])
    column = column.astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())) if "Arrow" in kind else kind)
    frame = pd.DataFrame({"note": ["a house", "a dog"], "code": column})
    if kind == "Int64":
        frame.loc[1, "code"] = pd.NA
    frame = frame if kind == "Int64" else frame.iloc[:1]
    frame = frame.set_index("code") if indexed else frame
    table = importlib.import_module("wordveil.integrations.pandas").sanitize(frame, ["note"], keep=["code"]).table
    assert (table.index if indexed else table["code"])[0] == column[0]
    assert b"ssecrete" not in pickle.dumps(table)


def masked(pa):
    """Columns that show "x" and null, and hold a secret under the null."""
    under = pa.array([False, True])
    values = pa.array(["x", "zzsecret"])
    offsets = pa.array([0, 1, 2], pa.int32())
    return {
        "text": pa.StringArray.from_buffers(2, pa.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0])),
            pa.py_buffer(b"xzzsecret"), pa.py_buffer(b"\1")),
        "struct": pa.StructArray.from_arrays([values], names=["a"], mask=under),
        "list": pa.ListArray.from_arrays(offsets, values, mask=under),
        "dictionary": (coded := pa.DictionaryArray.from_arrays(pa.array([0, None]), values)),
        "dictionary in a list": pa.ListArray.from_arrays(offsets, coded),
        "dictionary in a struct": pa.StructArray.from_arrays([coded], names=["a"]),
        "dictionary in a map": pa.MapArray.from_arrays(offsets, pa.array(["k", "k"]), coded),
    }  # fmt: skip


def arrow_file(table):
    pa = importlib.import_module("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


def test_arrow_refuses_columns_whose_hidden_values_cannot_be_left_out():
    pa, sanitize = adapter("pyarrow")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([{"a": "x"}, {"a": "zzsecret"}]))
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["x", "zzsecret"]), pa.array([1, 2])])
    for column, problem in ((coded, "cannot be written as plain values"), (union, "a type that no Parquet file holds")):
        with pytest.raises(ParameterError, match=problem) as refusal:
            sanitize(pa.table({"note": ["a house", "a dog"], "code": column}), ["note"], keep=["code"])
        assert "zzsecret" not in str(refusal.value)


NESTED = [f"dictionary{place}" for place in ("", " in a list", " in a struct", " in a map")]


@pytest.mark.parametrize("kind", ["text", "struct", "list", *NESTED])
def test_arrow_copies_what_is_shown_and_no_dictionary_at_any_depth(kind):
    pa, sanitize = adapter("pyarrow")
    private = pa.table({"note": ["a house", "a dog"], "code": masked(pa)[kind]})
    assert b"zzsecret" in arrow_file(private), "the power of this test"
    for table in (private, private.slice(0, 1)):
        released = sanitize(table, ["note"], keep=["code"]).table
        assert released.column("code").to_pylist() == table.column("code").to_pylist()
        assert b"zzsecret" not in arrow_file(released)
        assert "dictionary" not in str(released.schema)
        batches = sanitize(table.to_reader(), ["note"], keep=["code"]).table.read_all()
        assert b"zzsecret" not in arrow_file(batches)


@pytest.mark.parametrize("value", [{"a": "zzsecret"}, ["zzsecret"], "zzsecret"])
def test_polars_copies_what_is_shown(value):
    pl, sanitize = adapter("polars")
    frame = pl.DataFrame({"note": ["a house", "a dog"], "code": [value, value]})
    frame = frame.with_columns(code=pl.when(pl.Series([False, False])).then("code"))
    released = sanitize(frame, ["note"], keep=["code"])
    assert released.table["code"].to_list() == [None, None]
    assert b"zzsecret" not in released.table.write_ipc(None).getvalue()


def test_nothing_that_no_row_uses_is_copied_with_a_column_of_polars():
    pl, sanitize = adapter("polars")
    kinds = {"enum": pl.Enum(["x", "zzsecret"]), "code": pl.Categorical}
    codes = {name: pl.Series(["x", "zzsecret"], dtype=kind) for name, kind in kinds.items()}
    released = sanitize(pl.DataFrame({"note": ["a house", "a dog"], **codes}).head(1), ["note"], keep_others=True).table
    assert "zzsecret" not in repr(released.schema)
    assert b"zzsecret" not in released.write_ipc(None).getvalue()
    assert released["enum"].to_list() == released["code"].to_list() == ["x"]


def test_nothing_that_no_row_uses_is_copied_with_a_data_set(tmp_path):
    datasets, sanitize = adapter("datasets")
    from wordveil.integrations.datasets import save

    names = dict.fromkeys(("description", "citation", "homepage", "license", "config_name", "dataset_name"), "zzsecret")
    columns = {"note": ["a house", "a dog", "a cat"], "code": [1, 0, 2]}
    private = datasets.Dataset.from_dict(columns, info=datasets.DatasetInfo(**names))
    private = private.cast_column("code", datasets.ClassLabel(names=["a", "b", "zzsecret"])).select([0, 1])
    release = sanitize(private, ["note"], keep=["code"])
    save(release, tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "dataset_info.json").read_text())
    assert not [fact for name, fact in facts.items() if fact and name not in ("description", "features")]
    assert [release.table.features["code"].int2str(code) for code in release.table["code"]] == ["b", "a"]
    assert not [path for path in (tmp_path / "out").iterdir() if b"zzsecret" in path.read_bytes()]
