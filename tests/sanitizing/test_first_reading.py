"""A file read once before it is released: budgets for each person, and ids that documents keep for good."""

import json
from collections import Counter

import pytest
from tests.dying import interrupt_after
from tests.tables import read_rows, write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError
from wordveil.runs.beforehand import FirstReading, UserBudget
from worlds import made_up, told

ALLOWED = 20  # tokens a person
COLUMN = DocumentSettings(columns=("text",), keep=("id",))


@pytest.fixture(scope="module")
def words():
    return made_up(200)


def sanitizer(words, source=None):
    return wv.Sanitizer(words, wv.NeighbourResponse(epsilon=1.0), source=source or wv.RandomSource(seeds.key(4)))


def rows(words, count, number=0):
    """Documents of a few persons, one of whom writes little and one of whom has no name."""
    draw = seeds.rng(number)
    for n in range(count):
        person = "rare" if n == count - 1 else str(draw.choice(["ann", "bob", ""]))
        text = " ".join(words.words[i] for i in draw.integers(0, len(words), draw.integers(2, 5)))
        yield {"id": f"d{number}-{n}", "person": person, "text": text}


def write(path, table):
    write_rows(path, list(table))
    return path


def read(path):
    return {row["id"]: row["text"] for row in read_rows(path)}


def over(table, how):
    """The ids that are left out, counted one by one."""
    total, lost, above = Counter(), set(), set()
    for row in table:
        total[row["person"]] += len(row["text"].split())
        if total[row["person"]] > ALLOWED:
            lost.add(row["id"])
            above.add(row["person"])
    return lost if how == "truncate" else {row["id"] for row in table if row["person"] in above}, above


@pytest.mark.parametrize("how", ["drop", "truncate"])
@pytest.mark.parametrize("tree", [False, True])
def test_what_is_over_is_left_out_and_all_else_released(words, tmp_path, how, tree):
    tables = [[*rows(words, 40, number)] for number in range(3 if tree else 1)]
    source, output = tmp_path / "in", tmp_path / "out"
    if tree:
        source.mkdir()
        for number, table in enumerate(tables):
            write(source / f"{number}.csv", table)
        (source / "1b.csv").write_text('id,person,text\nd,ann,"open\n')  # its documents count for nobody
    else:
        source, output = write(tmp_path / "in.csv", tables[0]), tmp_path / "out.csv"
    budget = UserBudget(user="person", max_nats=float(ALLOWED), over=how)
    spent = sanitizer(words)
    report = wv.sanitize_documents(source, output, spent, settings=COLUMN, budget=budget)
    lost, above = over([row for table in tables for row in table], how)
    released = [read(output / f"{n}.csv") for n in range(3)] if tree else [read(output)]
    for table, found in zip(tables, released, strict=True):
        assert [*found] == [row["id"] for row in table if row["id"] not in lost]
    assert (report.budget["users_over"], report.budget["documents_left_out"]) == (len(above), len(lost))
    assert 0 < len(lost) < sum(map(len, tables)), "some are left out, and some are not"
    assert any("left out" in line for line in report.disclosed)
    kept = Counter()
    for row in (row for table in tables for row in table if row["id"] not in lost):
        kept[row["person"]] += len(row["text"].split())
    assert max(kept.values()) <= ALLOWED
    assert report.tokens == sum(kept.values())
    again = wv.sanitize_documents(source, output, spent, settings=COLUMN, budget=budget, resume=True)
    assert again.budget == report.budget, "it is complete, and says what it said"


def test_a_budget_that_stops_names_nobody_and_writes_nothing(words, tmp_path):
    source = write(tmp_path / "in.csv", rows(words, 40))
    budget = UserBudget(user="person", max_nats=float(ALLOWED))
    with pytest.raises(ParameterError, match=r"less than what \d users' texts cost") as refused:
        wv.sanitize_documents(source, tmp_path / "out.csv", sanitizer(words), settings=COLUMN, budget=budget)
    assert not any(name in str(refused.value) for name in ("ann", "bob"))
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    budget = UserBudget(user="person", max_nats=500.0)
    report = wv.sanitize_documents(source, tmp_path / "out.csv", sanitizer(words), settings=COLUMN, budget=budget)
    assert "that no user is over 500 nats" in report.disclosed


def test_a_document_keeps_its_noise_by_its_id_wherever_it_stands(words, tmp_path):
    key, table = seeds.key(5), [*rows(words, 30)]
    moved = [dict(row) for row in table]
    seeds.rng(6).shuffle(moved)
    moved[3]["text"] = f"{words.words[0]} {words.words[1]} {moved[3]['text']}"
    found = []
    for number, (rows_of_it, ids, fresh) in enumerate(
        [(table, "id", False), (moved, "id", False), (moved, None, False), (moved, "id", True)]
    ):
        source = write(tmp_path / f"in{number}.csv", rows_of_it)
        own = wv.RandomSource(seeds.key(6) if fresh else key)
        wv.sanitize_documents(source, tmp_path / f"out{number}.csv", sanitizer(words, own), settings=COLUMN, ids=ids)
        found.append(read(tmp_path / f"out{number}.csv"))
    same = [sum(found[0][name] == other[name] for name in found[0] if name != moved[3]["id"]) for other in found]
    assert same[1] == 29
    assert max(same[2:]) < 12, "by its place, or under a fresh key, a text of two words comes again with odds of .01"


def test_ids_and_a_budget_together_name_what_is_left(words, tmp_path):
    key, table = seeds.key(7), [*rows(words, 40)]
    budget = UserBudget(user="person", max_nats=float(ALLOWED), over="truncate")
    released = []
    for number, bound in enumerate((None, budget)):
        source = write(tmp_path / f"in{number}.csv", table)
        how = {"settings": COLUMN, "ids": "id", "budget": bound}
        wv.sanitize_documents(source, tmp_path / f"out{number}.csv", sanitizer(words, wv.RandomSource(key)), **how)
        released.append(read(tmp_path / f"out{number}.csv"))
    assert 0 < len(released[1]) < len(released[0])
    assert released[1].items() <= released[0].items()


@pytest.mark.parametrize(("wrong", "said"), [({"id": "d0-1"}, "in 1 documents"), ({"id": " "}, "has no value")])
def test_ids_that_name_no_single_document_are_refused(words, tmp_path, wrong, said):
    table = [*rows(words, 5)]
    table[3] |= wrong
    source = write(tmp_path / "in.csv", table)
    with pytest.raises(ParameterError, match=said) as refused:
        wv.sanitize_documents(source, tmp_path / "out.csv", sanitizer(words), settings=COLUMN, ids="id")
    assert "d0-1" not in str(refused.value)
    with pytest.raises(ParameterError, match="needs a key that stays"):
        wv.sanitize_documents(
            source, tmp_path / "out.csv", sanitizer(words, wv.RandomSource()), settings=COLUMN, ids="id"
        )


def test_an_interrupted_run_goes_on_with_the_same_budget_and_ids_alone(words, tmp_path):
    table = [json.dumps(row) for row in rows(words, 400)]
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(table) + "\n")
    budget = UserBudget(user="person", max_nats=300.0, over="truncate")
    settings = DocumentSettings(columns=("text",), keep=("id",), block_characters=2_000)
    how = {"settings": settings, "budget": budget, "ids": "id"}
    own_key = tmp_path / "own.key"
    own_key.write_bytes(seeds.key(7))
    own_key.chmod(0o600)

    def run(resume, **other):
        own = sanitizer(words, wv.run_source(output, resume=resume, key_file=own_key))
        return wv.sanitize_documents(source, output, own, resume=resume, **{**how, **other})

    with pytest.raises(KeyboardInterrupt):
        run(False, progress=interrupt_after(3))
    for other in ({"ids": None}, {"budget": None}):
        with pytest.raises(ResumeError):
            run(True, **other)
    report = run(True)
    assert report.resumed_documents > 40
    own = sanitizer(words, wv.RandomSource(seeds.key(7)))
    whole = wv.sanitize_documents(source, tmp_path / "whole.jsonl", own, **how)
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert report.budget == whole.budget


@pytest.mark.parametrize("how", [{"budget": UserBudget(user="person", max_nats=1.0)}, {"ids": "id"}])
def test_what_can_be_read_once_or_skips_documents_is_refused(words, tmp_path, how):
    text = tmp_path / "in.txt"
    text.write_text("a b\n")
    with pytest.raises(ParameterError, match="must be files with columns"):
        wv.sanitize_documents(text, tmp_path / "out.txt", sanitizer(words), **how)
    table = write(tmp_path / "in.csv", rows(words, 3))
    skipping = DocumentSettings(columns=("text",), keep=("id",), missing="skip")
    with pytest.raises(ParameterError, match="leaves out documents"):
        wv.sanitize_documents(table, tmp_path / "out.csv", sanitizer(words), settings=skipping, **how)
    if "budget" in how:
        metric = wv.Sanitizer(words, wv.TEM(epsilon=3.0))
        with pytest.raises(ParameterError, match="pure local DP"):
            wv.sanitize_documents(table, tmp_path / "out.csv", metric, settings=COLUMN, **how)


UNREADABLE = told(__file__)["unreadable"]


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("how", ["budget", "ids"])
def test_a_file_whose_persons_or_ids_cannot_be_read_is_not_released(words, tmp_path, name, how):
    """Read for its texts alone it is as good as any, and was released without the bound that its report gave."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(UNREADABLE[name])
    good = write(tmp_path / "in" / "good.csv", rows(words, 3))
    budget = UserBudget(user="person", max_nats=50.0, over="drop") if how == "budget" else None
    first = {"budget": budget, "ids": "person" if how == "ids" else None}
    if how == "ids":
        good.write_text("id,person,text\nd,someone,a b\n")
    settings = DocumentSettings(columns=("text",), drop_others=True)
    with pytest.raises(DocumentFormatError):
        wv.sanitize_documents(
            tmp_path / "in" / name, tmp_path / f"out-{name}", sanitizer(words), settings=settings, **first
        )
    assert not (tmp_path / f"out-{name}").exists()
    report = wv.sanitize_documents(tmp_path / "in", tmp_path / "out", sanitizer(words), settings=settings, **first)
    assert report.bad_files == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.csv"]


@pytest.mark.parametrize("change", ["append", "replace", "shorten"])
def test_a_file_that_is_written_to_after_its_documents_were_counted_is_not_released(words, tmp_path, change):
    source = write(tmp_path / "in.csv", [row | {"person": f"p{n}"} for n, row in enumerate(rows(words, 30))])
    lines = source.read_text().splitlines(keepends=True)
    changed = {
        "append": lines + ["more,p1,a b\n"] * 50,
        "replace": lines[:1] + [line.replace("p", "q") for line in lines[1:]],
        "shorten": lines[:-5],
    }[change]

    class Changing(FirstReading):
        def __call__(self, files):
            found = super().__call__(files)
            source.write_text("".join(changed))
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordveil.runs.sanitize.FirstReading", Changing)
        budget = UserBudget(user="person", max_nats=float(ALLOWED), over="drop")
        with pytest.raises(DocumentFormatError, match="was written to after it had been read"):
            wv.sanitize_documents(source, tmp_path / "out.csv", sanitizer(words), settings=COLUMN, budget=budget)
    assert not (tmp_path / "out.csv").exists()
