"""Tables of every library: columns released row by row, all else copied, missing stays missing, the promise said."""

import importlib
import json
import pickle

import leak_free
import pytest

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.pipeline.tables import released_columns

TEXTS = [*leak_free.PROMPTS, None, "", "the same", "the same"]
KEY = seeds.key(16)


def keyed():
    base = leak_free.sanitizer()
    return wv.Sanitizer(base.embeddings, base.mechanism, options=base.options, source=wv.RandomSource(KEY), threads=1)


def rows():
    return {"id": list(range(len(TEXTS))), "text": list(TEXTS), "note": TEXTS[::-1]}


def expected(ids):
    """The same rows by the sanitizer itself, document after document."""
    sanitizer, made = keyed(), rows()
    documents = [[t for t in pair if t is not None] for pair in zip(made["text"], made["note"], strict=True)]
    placed = [json.dumps(["text", "note"]) + own for own in ids]  # other columns are other documents
    texts = iter(sanitizer.release_documents(documents, ids=placed).texts)
    pairs = [
        [None if t is None else next(texts) for t in pair] for pair in zip(made["text"], made["note"], strict=True)
    ]
    return {"id": made["id"], "text": [a for a, _ in pairs], "note": [b for _, b in pairs]}


def check(release, table, *, drawn_afresh=False):
    if not drawn_afresh:
        assert table == expected([str(i) for i in range(len(TEXTS))])
    for name, private in rows().items():
        assert [value is None for value in table[name]] == [value is None for value in private]
    for text in table["text"] + table["note"]:
        if text is not None:
            leak_free.check_release(text)
    assert release.guarantee == keyed().guarantee
    assert "these columns, copied unchanged: id" in release.disclosed
    assert any("the columns text, note hold no text" in line for line in release.disclosed)
    assert "local DP" in release.card()
    assert json.loads(release.as_json())["provenance"]["mechanism"] == release.provenance.mechanism


IDS = [str(i) for i in range(len(TEXTS))]


def test_columns_are_released_row_by_row():
    private = {name: column for name, column in rows().items() if name != "id"}
    table = released_columns(private, keyed(), IDS)
    assert {"id": rows()["id"], **table} == expected(IDS)
    assert released_columns({"text": []}, None) == {"text": []}
    for wrong in ({}, {"text": [7]}, {"text": [float("nan")]}):
        with pytest.raises(ParameterError):
            released_columns(wrong, None)


@pytest.mark.parametrize("kind", ["object", "str", "string"])
def test_pandas(kind):
    pd = pytest.importorskip("pandas", reason="needs the extra pandas")
    from wordveil.integrations.pandas import sanitize

    frame = pd.DataFrame(rows(), index=range(10, 10 + len(TEXTS))).astype({"text": kind, "note": kind})
    frame.attrs["private"] = "Uppsala"
    release = sanitize(frame, ["text", "note"], keyed(), ids=IDS, keep=["id"])
    out = release.table
    plain = out.astype({"text": object, "note": object})
    check(release, plain.where(plain.notna(), None).to_dict("list"))
    assert list(out.index) == list(range(len(TEXTS)))
    assert (out.dtypes == frame.dtypes).all()
    assert out.attrs == {"wordveil": release.as_dict()}
    assert frame["text"].iloc[0] == TEXTS[0]


def test_pandas_keeps_no_category_of_the_private_column():
    pd = pytest.importorskip("pandas", reason="needs the extra pandas")
    from wordveil.integrations.pandas import sanitize

    frame = pd.DataFrame({"text": pd.Categorical(["Uppsala", "Maria", "Uppsala"])})
    out = sanitize(frame, ["text"], leak_free.sanitizer()).table
    assert out["text"].dtype == object
    for text in out["text"]:
        leak_free.check_release(text)


def test_polars():
    pl = pytest.importorskip("polars", reason="needs the extra polars")
    from wordveil.integrations.polars import sanitize, sanitized

    frame = pl.DataFrame(rows())
    release = sanitize(frame, ["text", "note"], keyed(), ids=IDS, keep=["id"])
    check(release, release.table.to_dict(as_series=False))
    lazy = frame.lazy().select("id", sanitized("text", leak_free.sanitizer())).collect()
    assert lazy["id"].to_list() == rows()["id"]
    assert [text is None for text in lazy["text"]] == [text is None for text in TEXTS]
    for text in lazy["text"].drop_nulls():
        leak_free.check_release(text)
    assert lazy.schema["text"] == pl.String
    private = pl.DataFrame({"text": ["Uppsala"]}, schema={"text": pl.Categorical})
    leak_free.check_release(sanitize(private, ["text"], leak_free.sanitizer()).table["text"][0])


def test_arrow():
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from wordveil.integrations.arrow import sanitize

    schema = pa.schema({"id": pa.int64(), "text": pa.large_string(), "note": pa.string()}, metadata={"x": "Uppsala"})
    table = pa.table(rows(), schema=schema)
    release = sanitize(table, ["text", "note"], keyed(), ids=IDS, keep=["id"])
    check(release, release.table.to_pydict())
    assert release.table.schema.types == schema.types
    assert release.table.schema.metadata == {b"wordveil": release.as_json().encode()}
    reader = sanitize(table.to_reader(max_chunksize=2), ["text"], leak_free.sanitizer(), keep_others=True).table
    read = reader.read_all()
    assert read["note"].to_pylist() == rows()["note"]
    for text in read["text"].drop_null().to_pylist():
        leak_free.check_release(text)
    with pytest.raises(ParameterError, match="unnamed: id, note"):
        sanitize(table.to_reader(), ["text"])
    assert sanitize(table.to_reader(), ["text"], keep=["id"]).table.read_all().column_names == ["id", "text"]
    private = pa.table({"text": pa.array(["Uppsala", "Maria"]).dictionary_encode()})
    out = sanitize(private, ["text"], leak_free.sanitizer()).table
    assert out.schema.field("text").type == pa.string()


def test_ids_come_with_a_table_whose_rows_they_name():
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from wordveil.integrations.arrow import sanitize

    with pytest.raises(ParameterError, match="must come with a table"):
        sanitize(pa.table({"text": ["good film"]}).to_reader(), ["text"], ids=["a"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_hugging_face_data_sets(tmp_path):
    datasets = pytest.importorskip("datasets", reason="needs the extra datasets")
    from wordveil.integrations.datasets import sanitize, save

    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_dict(rows())
    release = sanitize(dataset, ["text", "note"], keyed(), keep_others=True, batch_size=2)
    check(release, release.table.to_dict(), drawn_afresh=True)
    assert release.table.info.description == release.card()
    save(release, tmp_path / "out")
    assert "## Privacy guarantee" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert datasets.load_from_disk(str(tmp_path / "out")).to_dict() == release.table.to_dict()
    # Two splits hold rows of the same number: each call draws noise of its own, whatever it is given.
    for sanitizer in (keyed(), None):
        assert (
            len({tuple(sanitize(dataset, ["text"], sanitizer, drop_others=True).table["text"]) for _ in range(3)}) == 3
        )


MORE = {"who": ["maria", "jon"], "note": ["a house", "a boat"], "age": [40, 41]}
LIBRARIES = {
    "pandas": ("pandas", lambda module: module.DataFrame(MORE), lambda table: table.to_dict("list")),
    "polars": ("polars", lambda module: module.DataFrame(MORE), lambda table: table.to_dict(as_series=False)),
    "pyarrow": ("arrow", lambda module: module.table(MORE), lambda table: table.to_pydict()),
    "datasets": ("datasets", lambda module: module.Dataset.from_dict(MORE), lambda table: table.to_dict()),
}


def made(library):
    """The adapter of a library, a table of it with two other columns, and how its columns are read."""
    module = pytest.importorskip(library, reason=f"needs {library}")
    adapter, table, read = LIBRARIES[library]
    return importlib.import_module(f"wordveil.integrations.{adapter}").sanitize, table(module), read


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_column_is_copied_that_was_not_named(library):
    sanitize, table, read = made(library)
    with pytest.raises(
        ParameterError, match=r"leaves 2 other columns of the table unnamed: who, age\. keep="
    ) as caught:
        sanitize(table, ["note"])
    assert "maria" not in str(caught.value)
    kept = sanitize(table, ["note"], keep=["age"])
    assert list(read(kept.table)) == ["note", "age"]
    assert read(kept.table)["age"] == [40, 41]
    assert kept.disclosed[-1] == "these columns, copied unchanged: age"
    every = sanitize(table, ["note"], keep_others=True)
    assert list(read(every.table)) == ["who", "note", "age"]
    assert read(every.table)["who"] == ["maria", "jon"]
    assert every.disclosed[-1] == "these columns, copied unchanged: who, age"
    none = sanitize(table, ["note"], drop_others=True)
    assert list(read(none.table)) == ["note"]
    assert not any("copied unchanged" in line for line in none.disclosed)
    alone = sanitize(none.table, ["note"])
    assert list(read(alone.table)) == ["note"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wrong_columns_are_named(library):
    sanitize, table, _ = made(library)
    for columns, choice, message in (
        (["nots"], {}, r"columns='nots' is no column of the table\. Did you mean 'note'\?"),
        (["note", "note"], {}, "columns='note' is given twice"),
        ("note", {}, "columns='note' must be a list of names; put a single one in brackets"),
        ([], {}, "must name at least one column of texts"),
        (["note"], {"keep": ["agee"]}, r"keep='agee' is no other column of the table\. Did you mean 'age'\?"),
        (["note"], {"keep": ["note"]}, "keep='note' is released already"),
        (["note"], {"keep": "age"}, "keep='age' must be a list of names"),
        (["note"], {"keep": ["age"], "drop_others": True}, "cannot be combined with drop_others=True"),
        (["age"], {"drop_others": True}, "columns='age' must hold text or nothing; row 0 holds int"),
    ):
        with pytest.raises(ParameterError, match=message):
            sanitize(table, columns, **choice)


def test_an_index_of_pandas_is_a_column_like_the_others():
    pd = pytest.importorskip("pandas")
    from wordveil.integrations.pandas import sanitize

    frame = pd.DataFrame({"note": MORE["note"]}, index=pd.Index(["maria", "jon"], name="who"))
    with pytest.raises(ParameterError, match="unnamed: who"):
        sanitize(frame, ["note"])
    assert list(sanitize(frame, ["note"], drop_others=True).table.index) == [0, 1]
    assert list(sanitize(frame, ["note"], keep=["who"]).table.index) == ["maria", "jon"]
    with pytest.raises(ParameterError, match="unnamed: index"):
        sanitize(frame.rename_axis(None), ["note"])
    levels = pd.MultiIndex.from_tuples([("maria", 1), ("jon", 2)], names=["who", "visit"])
    deep = pd.DataFrame({"note": MORE["note"]}, index=levels)
    kept = sanitize(deep, ["note"], keep=["visit"])
    assert (list(kept.table.index), kept.table.index.name) == ([1, 2], "visit")
    assert kept.disclosed[-1] == "these columns, copied unchanged: index visit"
    both = sanitize(deep, ["note"], keep_others=True).table
    assert list(both.index) == [("maria", 1), ("jon", 2)]
    twin = frame.set_index("note", drop=False)
    with pytest.raises(ParameterError, match="columns='note' is the name of 2 columns or indices"):
        sanitize(twin, ["note"], keep_others=True)


def test_two_columns_of_pandas_of_one_name():
    pd = pytest.importorskip("pandas")
    from wordveil.integrations.pandas import sanitize

    twins = pd.DataFrame([["a house", "a boat"]], columns=["note", "note"])
    with pytest.raises(ParameterError, match="columns='note' is the name of 2 columns"):
        sanitize(twins, ["note"])
    beside = pd.DataFrame([["a house", 1, 2]], columns=["note", "n", "n"])
    assert sanitize(beside, ["note"], keep=["n"]).table[["n"]].to_numpy().tolist() == [[1, 2]]
    assert list(sanitize(beside, ["note"], drop_others=True).table.columns) == ["note"]


def test_the_expression_of_polars_names_its_column():
    pl = pytest.importorskip("polars")
    from wordveil.integrations.polars import sanitized

    with pytest.raises(pl.exceptions.ComputeError, match="columns='age' must hold text or nothing"):
        pl.DataFrame(MORE).lazy().select(sanitized("age")).collect()


def test_a_table_is_no_list_of_texts():
    for table in ({"note": ["a house"]}, pytest.importorskip("pyarrow").table({"note": ["a house"]})):
        with pytest.raises(ParameterError, match=r"must be texts, not a table: name a column of it"):
            wv.sanitize(table)


def test_nothing_that_no_row_uses_is_copied_with_a_column():
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    arrow = importlib.import_module("wordveil.integrations.arrow")
    kind = pa.struct([pa.field("a", pa.string(), metadata={"note": "zzsecret"})])
    codes = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x", "zzsecret"]))
    table = pa.table({"note": ["a house"], "struct": pa.array([{"a": "x"}], kind), "code": codes})
    released = arrow.sanitize(table, ["note"], keep=["struct", "code"]).table
    assert released.schema.field("struct").type.field("a").metadata is None
    assert released.column("code").to_pylist() == ["x"]
    assert b"zzsecret" not in released.column("code").combine_chunks().dictionary.buffers()[2].to_pybytes()
    reader = arrow.sanitize(table.to_reader(), ["note"], keep=["struct", "code"]).table
    assert reader.read_all().drop_columns(["note"]).equals(released.drop_columns(["note"]))


def test_nothing_that_no_row_uses_is_copied_with_a_column_of_pandas():
    pd = pytest.importorskip("pandas", reason="needs the extra pandas")
    frame = pd.DataFrame({"note": ["a house", "a dog"], "code": pd.Categorical(["x", "zzsecret"])})
    frame.index = pd.MultiIndex.from_tuples([("p", 1), ("zzsecret", 2)], names=["who", "n"])
    released = importlib.import_module("wordveil.integrations.pandas").sanitize(
        frame.iloc[:1], ["note"], keep=["code", "who", "n"]
    )
    assert list(released.table["code"]) == ["x"]
    assert b"zzsecret" not in pickle.dumps(released.table)
    assert [list(level) for level in released.table.index.levels] == [["p"], [1]]


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
        "text": pa.StringArray.from_buffers(
            2,
            pa.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0])),
            pa.py_buffer(b"xzzsecret"),
            pa.py_buffer(b"\1"),
        ),
        "struct": pa.StructArray.from_arrays([values], names=["a"], mask=under),
        "list": pa.ListArray.from_arrays(offsets, values, mask=under),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, None]), values),
    }


def arrow_file(table):
    pa = importlib.import_module("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["text", "struct", "list", "dictionary"])
def test_arrow_copies_what_is_shown(kind):
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    arrow = importlib.import_module("wordveil.integrations.arrow")
    private = pa.table({"note": ["a house", "a dog"], "code": masked(pa)[kind]})
    assert b"zzsecret" in arrow_file(private), "the power of this test"
    for table in (private, private.slice(0, 1)):
        released = arrow.sanitize(table, ["note"], keep=["code"]).table
        assert released.column("code").to_pylist() == table.column("code").to_pylist()
        assert b"zzsecret" not in arrow_file(released)
        batches = arrow.sanitize(table.to_reader(), ["note"], keep=["code"]).table.read_all()
        assert b"zzsecret" not in arrow_file(batches)


def test_arrow_refuses_a_column_whose_hidden_values_cannot_be_left_out():
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    arrow = importlib.import_module("wordveil.integrations.arrow")
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["x", "zzsecret"]), pa.array([1, 2])])
    with pytest.raises(ParameterError, match="a type that no Parquet file holds"):
        arrow.sanitize(pa.table({"note": ["a house", "a dog"], "code": union}), ["note"], keep=["code"])


@pytest.mark.parametrize("value", [{"a": "zzsecret"}, ["zzsecret"], "zzsecret"])
def test_polars_copies_what_is_shown(value):
    pl = pytest.importorskip("polars", reason="needs the extra polars")
    frame = pl.DataFrame({"note": ["a house", "a dog"], "code": [value, value]})
    frame = frame.with_columns(code=pl.when(pl.Series([False, False])).then("code"))
    released = importlib.import_module("wordveil.integrations.polars").sanitize(frame, ["note"], keep=["code"])
    assert released.table["code"].to_list() == [None, None]
    assert b"zzsecret" not in released.table.write_ipc(None).getvalue()


def test_nothing_that_no_row_uses_is_copied_with_a_column_of_polars():
    pl = pytest.importorskip("polars", reason="needs the extra polars")
    codes = {kind: pl.Series(["x", "zzsecret"], dtype=kind) for kind in (pl.Enum(["x", "zzsecret"]), pl.Categorical)}
    frame = pl.DataFrame({"note": ["a house", "a dog"], "enum": codes.popitem()[1], "code": codes.popitem()[1]})
    released = importlib.import_module("wordveil.integrations.polars").sanitize(
        frame.head(1), ["note"], keep_others=True
    )
    assert "zzsecret" not in repr(released.table.schema)
    assert b"zzsecret" not in released.table.write_ipc(None).getvalue()
    assert released.table["enum"].to_list() == released.table["code"].to_list() == ["x"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_that_no_row_uses_is_copied_with_a_data_set(tmp_path):
    datasets = pytest.importorskip("datasets", reason="needs the extra datasets")
    from wordveil.integrations.datasets import sanitize, save

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
