"""A report is held against itself, whatever its version: an edit of it does not pass."""

import copy
import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from tests.cli.forging import FORGERIES, facts_of, forged, named, places

import seeds
from wordveil.runs.beforehand import UserBudget
from wordveil.runs.report import write_sealed
from wordveil.runs.report_schema import sealed

# Against itself.


def statuses(facts, check):
    """Hold every fact against the rest, edited under a checksum that fits; return the exit code of each place."""
    return {named(path): check(forged(facts, path)).status for path in places(facts) if path != ("checksum",)}


def test_every_edit_of_a_report_is_refused(released):
    facts = released.facts
    target = released.folder / "forged.json"
    passed = []
    for path in places(facts):
        target.write_text(json.dumps(forged(facts, path)))
        status = released(report=target).status
        # A name of a schema that nobody knows is no report; of a newer one, it may be.
        passed += [] if status == (2 if path == ("schema",) else 1) else [(named(path), status)]
    assert passed == []


def test_whoever_makes_a_new_checksum_still_cannot_edit_the_promise(released):
    facts = released.facts
    status = statuses(facts, released.told)
    assert {place for place, code in status.items() if code == 0} <= {*FORGERIES["free"]}
    assert {place for place, code in status.items() if code == 2} <= {*FORGERIES["elsewhere"]}
    assert [place for place in FORGERIES["refused"] if status[place] != 1] == []
    # A warning, or all of them, may be left out as well as reworded.
    for dropped in ("warnings", "disclosed", "in_words", "passes"):
        assert released.told({**facts, dropped: facts[dropped][1:]}).status == 1
        assert released.told({name: fact for name, fact in facts.items() if name != dropped}).status == 1


def test_the_forgery_of_the_review_is_refused(released):
    """Epsilon, sentence and odds edited together, mechanism and all, are not what the release's mechanism comes to."""
    text = json.dumps(released.facts)
    for true, false in (("exp(8)", "exp(0.1)"), ("99.97", "52"), ('"epsilon": 8.0', '"epsilon": 0.1')):
        text = text.replace(true, false)
    answer = released.told(json.loads(text))
    assert answer.status == 1
    assert "guarantee.epsilon: the report says 0.1, its mechanism gives 8.0" in answer.err
    answer = released.told(json.loads(text), "--json")
    assert any("guarantee.epsilon" in line for line in json.loads(answer.out)["wrong"])


def test_any_edit_of_a_page_is_refused(released):
    page = (released.folder / "r.html").read_text(encoding="utf-8")
    target = released.folder / "forged.html"
    body = page.index("<body>")
    spots = [body + match.start(1) for match in re.finditer(r">([^<>\s][^<>]*)<", page[body:])]
    assert len(spots) > 60
    passed = []
    for spot in spots:
        target.write_text(f"{page[:spot]}x{page[spot:]}", encoding="utf-8")
        passed += [] if released("html", report=target).status == 1 else [page[spot : spot + 40]]
    # In the data block alone: an edit of its first letter leaves no JSON.
    assert all(spot.startswith("{") for spot in passed)
    for other in (
        page.replace(".warning { border", ".warning { display: none; border"),
        page + "<p>Anonymous.</p>",
        page.replace("</body>", "<script>1</script></body>"),
        page.replace("\n", "\r\n"),
    ):
        assert other != page
        target.write_bytes(other.encode())
        assert released("html", report=target).status == 1


def test_a_page_written_from_forged_facts_is_refused(released):
    facts = json.loads(re.search(r'id="wordveil-report">(.*?)</script>', (released.folder / "r.html").read_text())[1])
    assert released("html").status == 0
    target = released.folder / "forged.html"
    for path in [("guarantee", "epsilon"), ("in_words", 1), ("warnings", 0), ("verdict", "attack"), ("passes", 0)]:
        write_sealed(sealed(forged(facts, path)), target)
        assert released("html", report=target).status == 1


def test_a_fact_that_stands_twice_is_no_report(released):
    text = (released.folder / "r.json").read_text()
    target = released.folder / "forged.json"
    target.write_text(text.replace('"epsilon": 8.0', '"epsilon": 0.1, "epsilon": 8.0', 1))
    assert released(report=target).status == 2


def test_true_facts_under_names_that_look_like_paths_do_not_hide_forged_ones(released):
    """Read as places, `guarantee.epsilon` at the top and `epsilon` in `guarantee` were one fact."""
    facts = {name: fact for name, fact in released.facts.items() if name != "checksum"}
    lie = copy.deepcopy(facts)
    lie["guarantee"]["epsilon"], lie["warnings"] = 0.5, ["none"]
    lie |= {"guarantee.epsilon": facts["guarantee"]["epsilon"], "warnings[0]": facts["warnings"][0]}
    assert released.told(lie).status == 2


def test_what_a_window_draws_as_a_page_is_read_as_a_page(released):
    """Of a report in JSON a fact that nothing bears out, such as a file's name, could be a whole page of its own."""
    facts = released.facts
    for name in ("forged.html", "forged.htm", "forged.svg", "forged"):
        target = released.folder / name
        target.write_text(json.dumps(sealed({"source": "<!doctype html><p>exp(0.1)</p><!--", **facts})))
        assert released(report=target).status == 2
    page = released.folder / "page.json"
    page.write_text((released.folder / "r.html").read_text())
    assert released("html", report=page).status == 2


def test_what_cannot_be_computed_here_is_said_and_does_not_pass(released):
    unknown = "ClusterResponse(epsilon=8.0, class='00')"
    answer = released.told(forged(released.facts, ("provenance", "mechanism"), unknown))
    assert answer.status == 2
    assert "a package that brings it is not installed" in answer.err


def test_another_vocabulary_is_asked_for(wordveil, released):
    answer = wordveil.refused("report", released.folder / "json.txt", "--verify", released.folder / "r.json")
    assert "Name them with --vocabulary" in answer


# Older and newer reports.
def test_a_report_robbed_of_its_schema_or_of_a_fact_is_refused(released):
    facts = released.facts
    robbed = {name: fact for name, fact in facts.items() if name not in ("schema", "checksum")} | {"documents": 4000}
    target = released.folder / "robbed.json"
    target.write_text(json.dumps(robbed))
    assert released(report=target).status == 2
    for name in ("documents", "seconds", "missing_texts", "kind"):
        assert released.told({other: fact for other, fact in facts.items() if other != name}).status == 1, name


def test_a_released_folder_that_holds_more_is_not_what_its_report_names(wordveil, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("the house\n")
    wordveil.done("sanitize", "in", "-o", "out", "--report", "r.json", "--yes")
    wordveil.done("report", "out", "--verify", "r.json")
    (tmp_path / "out" / "originals").symlink_to(tmp_path / "in")
    (tmp_path / "out" / "c.txt").write_text("new\n")
    answer = wordveil("report", "out", "--verify", "r.json")
    told = " ".join(answer.err.split())
    assert (answer.status, "originals: is no file of a release" in told) == (1, True)
    assert "c.txt: is not in the report" in told
    assert wordveil("sanitize", "in", "-o", "out", "--resume", "--yes").status == 2, "it is not what the run wrote"


def test_what_another_processor_rounds_is_not_called_forged(wordveil, tmp_path):
    (tmp_path / "in.txt").write_text("the house\n")
    run = ["sanitize", "in.txt", "-o", "o.txt", "-m", "mahalanobis", "-e", 10, "--report", "r.json", "--yes", "-q"]
    wordveil.done(*run)
    facts = facts_of(tmp_path / "r.json")
    elsewhere = forged(facts, ("provenance", "public_data"), "0" * 64)
    for changed, status in ((facts, 0), (elsewhere, 2), (forged(elsewhere, ("guarantee", "epsilon")), 1)):
        write_sealed(sealed(changed), tmp_path / "r.json")
        answer = wordveil("report", "o.txt", "--verify", "r.json")
        assert answer.status == status, answer.err
    assert "processor" not in answer.err


@pytest.mark.parametrize("schema", ["1.1", "2.0"])
def test_a_report_of_a_newer_schema_is_refused(released, schema):
    answer = released.told(released.facts | {"schema": schema})
    assert answer.status == 2
    assert f"of schema {schema}, which this version cannot read; it reads 1.0. Install a newer" in answer.err


@pytest.mark.parametrize(("path", "value"), FORGERIES["strange"])
def test_a_report_with_a_fact_that_no_run_writes_is_refused(released, path, value):
    assert released.told(forged(released.facts, path, value)).status == 1


def test_a_bound_below_what_the_longest_document_cost_is_refused(released):
    facts = released.facts
    for nats, status in ((0.001, 1), (facts["longest"] * 9.0, 0)):
        bound = UserBudget(user="person", max_nats=nats, over="drop")
        told = {**asdict(bound), "sentence": bound.sentence(), "users_over": 0, "documents_left_out": 0}
        bounded = facts | {"budget": told, "disclosed": [*facts["disclosed"], bound.disclosed()]}
        assert released.told(bounded).status == status


def test_another_version_s_wording_is_not_called_forged_nor_passed(released):
    facts = forged(released.facts, ("provenance", "version"), "9.9.9")
    assert released.told(facts).status == 0
    answer = released.told(forged(facts, ("in_words", 0)))
    assert answer.status == 2
    assert "Check it with wordveil 9.9.9" in answer.err
    assert released.told(forged(facts, ("guarantee", "epsilon"))).status == 1


# Vectors.
def test_a_report_of_vectors_is_held_like_one_of_texts(wordveil, tmp_path):
    np.save(tmp_path / "v.npy", seeds.rng(5).normal(size=(7, 6)))
    gaussian = "-m clipped-gaussian -e 2 --set delta=1e-6 --set clip_norm=3"
    wordveil.done(f"release v.npy {gaussian} -o out.npy --report r.json")
    facts, target = facts_of(tmp_path / "r.json"), tmp_path / "forged.json"
    wordveil.done("report out.npy --verify r.json")

    def told(edited):
        write_sealed(sealed(edited), target)
        return wordveil("report out.npy --verify forged.json")

    for path in places(facts):
        target.write_text(json.dumps(forged(facts, path)))
        status = wordveil("report out.npy --verify forged.json").status
        assert status == (2 if path == ("schema",) else 1), named(path)
    status = statuses(facts, told)
    assert {place for place, code in status.items() if code == 0} <= {*FORGERIES["free_of_vectors"]}
    assert {place for place, code in status.items() if code == 2} <= {*FORGERIES["elsewhere_of_vectors"]}


def test_facts_of_another_shape_are_no_error_of_ours(released):
    facts = released.facts
    deep = "NeighbourResponse(epsilon=" + "-" * 9000 + "8.0)"
    for odd in ({"documents": "4"}, {"provenance": {**facts["provenance"], "mechanism": deep}}):
        answer = released.told(facts | odd)
        assert (answer.status, "internal" in answer.err) == (1, False)
