"""The page on local DP is that of the stored run; what is read out of a release is scored as it says."""

from __future__ import annotations

from pathlib import Path

from wordveil_lab.leagues import local as measured

ROOT = Path(__file__).resolve().parents[3]

REPORT = measured.RUN.report()


def test_the_run_holds_every_row_at_its_promise():
    found = {(row["name"], row["epsilon"]): row for row in REPORT["rows"] if row["group"]}
    # The stored run is of the state in which crowds stood where classes stand.
    then = {name.replace("256-classes", "crowds-16"): given for name, given in measured.EPSILONS.items()}
    assert set(found) == {(name, e) for name, given in then.items() for e in given}
    for (name, epsilon), row in found.items():
        assert row["guarantee"]["promise"] == {"metric": "metric DP", "local": "local DP"}[row["group"]], name
        assert row["guarantee"]["epsilon"] <= epsilon * (1 + 1e-9)
        assert row["cells"].keys() == {task.name for task in measured.TASKS}


def test_no_channel_is_better_than_the_best_and_flat_lists_are_close_to_it():
    for line in REPORT["yardstick"]:
        best = line["best channel"]
        for name in ("neighbour response", "k = 1", "tem-certified", "santext-certified"):
            assert line[name] >= best * (1 - 1e-6)
        assert line["neighbour response"] <= 1.02 * best
