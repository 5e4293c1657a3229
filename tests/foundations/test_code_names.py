"""What names code of third parties: the release of the package that brings it, or bits that nothing else has."""

from dataclasses import InitVar, dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.installed_packages import install

import wordveil as wv
from wordveil.errors import CertificateError
from wordveil.promises.certificates import code_name, identity
from wordveil.runs.rebuilding import rebuilt
from worlds import told

CODE, HOLDING = told(__file__).values()
NO_INDEX = {
    "a folder": {"dir_info": {}},
    "a wheel": {"archive_info": {}},
    "a repository": {"vcs_info": {"vcs": "git"}},
    "else": {},
}


def names(monkeypatch, tmp_path, *packages):
    """The names of the class `Mine` in packages that are installed one after the other."""
    results = []
    for i, (result, options) in enumerate(packages):
        with monkeypatch.context() as patch:
            results.append(code_name(install(patch, tmp_path / str(i), CODE.format(result=result), **options).Mine))
    return results


def test_a_release_of_a_package_is_named_with_its_version(monkeypatch, tmp_path):
    one, again, later = names(monkeypatch, tmp_path, (1, {}), (1, {}), (1, {"version": "1.1"}))
    assert one == again == "mine==1.0:mine.Mine"
    assert later == "mine==1.1:mine.Mine"


@pytest.mark.parametrize("source", NO_INDEX.values(), ids=NO_INDEX)
def test_builds_that_came_from_no_index_are_told_apart_under_one_version(monkeypatch, tmp_path, source):
    one, again, other = names(monkeypatch, tmp_path, *((result, {"source": source}) for result in (1, 1, 2)))
    assert one == again != other
    assert one.startswith("mine==1.0 (")


def test_code_that_may_change_under_one_version_is_never_taken_for_the_same(monkeypatch, tmp_path):
    """A folder that is worked in, a class that a function made, one whose name means another, and a notebook's."""
    edited = {"source": {"dir_info": {"editable": True}}}
    kinds = names(monkeypatch, tmp_path, (1, edited), (1, edited))
    module = install(monkeypatch, tmp_path / "factory", CODE.format(result=1))
    hidden = module.Mine
    module.Mine = None
    kinds += [code_name(kind) for kind in (module.made(), module.made(), hidden)]
    kinds += [code_name(type("Mine", (), {"__module__": name})) for name in ("notebook", "__main__", "mine")]
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "mine.py").write_text(CODE.format(result=2))
    monkeypatch.syspath_prepend(str(shadow))
    monkeypatch.delitem(__import__("sys").modules, "mine")
    kinds.append(code_name(__import__("mine").Mine))
    assert len(set(kinds)) == len(kinds)
    assert not any("==" in name for name in kinds)


def test_one_class_keeps_its_name_and_is_not_certified():
    @dataclass(frozen=True)
    class Mine:
        scale: float = 1.0

    assert code_name(Mine) == code_name(Mine)
    with pytest.raises(CertificateError, match="Mine cannot be named in a certificate: it is in no installed release"):
        identity(Mine())


def test_what_a_packages_class_holds_is_in_its_identity(monkeypatch, tmp_path):
    mine = install(monkeypatch, tmp_path, CODE.format(result=1)).Mine
    assert identity(mine()) == "Mine(scale=1.0, class='mine==1.0:mine.Mine')"
    assert identity(mine(2.0)) != identity(mine())


class Slotted:
    __slots__ = ("factor",)


@dataclass(frozen=True)
class ByFactor(Slotted):
    given: InitVar[float]

    def __post_init__(self, given):
        object.__setattr__(self, "factor", given)


@dataclass(frozen=True)
class Hiding(ByFactor):
    factor: float = 1.0

    def __post_init__(self, given):
        Slotted.factor.__set__(self, given)


def test_what_lies_in_slots_of_a_base_is_not_passed_over():
    for kind in (ByFactor, Hiding):
        with pytest.raises(CertificateError, match="cannot be named"):
            identity(kind(2.0))


@pytest.mark.parametrize("source", [None, NO_INDEX["a wheel"]], ids=["an index", "a wheel"])
def test_an_installed_mechanism_is_rebuilt_from_its_name_in_a_report(monkeypatch, tmp_path, source):
    code = Path(__file__).parents[2].joinpath("examples/plugin/cluster_response.py").read_text()
    offers = "[wordveil.mechanisms]\ncluster-response = mine:ClusterResponse\n"
    made = install(monkeypatch, tmp_path, code, source=source, offers=offers).ClusterResponse(epsilon=3.0, k=4)
    assert "class='mine==1.0" in identity(made)
    assert rebuilt(identity(made)) == made


@pytest.fixture
def holding(monkeypatch, tmp_path):
    return install(monkeypatch, tmp_path / "site", HOLDING).Holding


def test_what_wordveil_holds_is_named_in_full_or_not_at_all(holding):
    words = ["good", "bad", "late", "soon"]
    tables = [wv.Embeddings.from_arrays(words, [[1.0], [x], [3.0], [4.0]], name="one") for x in (2.0, 5.0)]
    tables.append(tables[0].without_outputs(["bad"]))
    again = wv.Embeddings.from_arrays(words, [[1.0], [2.0], [3.0], [4.0]], name="one")
    names = [identity(holding(table)) for table in tables]
    assert len(set(names)) == 3
    assert identity(holding(again)) == names[0]
    assert identity(holding(wv.SanText(epsilon=1.0))) != identity(holding(wv.SanText(epsilon=2.0)))
    assert identity(holding(wv.Standing.PROVED)) != identity(holding(wv.Standing.REFUTED))
    for held in (wv.Sanitizer(again, wv.SanText(epsilon=1.0)), wv.RandomSource(), again.words):
        with pytest.raises(CertificateError, match="cannot be named"):
            identity(holding(held))


def test_a_table_from_a_directory_nobody_checked_is_named_by_what_it_holds(holding, tmp_path):
    words, rows = ["good", "bad", "late", "soon"], np.arange(8, dtype=np.float32).reshape(4, 2)
    whole = wv.Embeddings.from_arrays(words, rows, name="one")
    tables = []
    for place in ("honest", "forged"):
        whole.save(tmp_path / place)
        if place == "forged":
            matrix = np.lib.format.open_memmap(tmp_path / place / "vectors.npy", mode="r+")
            matrix[1] += 1
            matrix.flush()
        tables.append(wv.load_embeddings(tmp_path / place))
    honest, forged = (identity(holding(table)) for table in tables)
    assert honest != forged
    tables[0].verify()
    assert identity(holding(tables[0])) == honest == identity(holding(whole.save(tmp_path / "again")))
