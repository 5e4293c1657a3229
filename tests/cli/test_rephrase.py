"""`rephrase` and `sentences`: what they print, what they write, and mistakes told in one line."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small stock built by the command, and the file that it was built from."""
    from wordveil.cli.main import main

    folder = tmp_path_factory.mktemp("built")
    lines = [f"The {who} {did} a {what}." for who in ("cook", "nurse", "boy", "queen", "clerk", "judge")
             for did in ("sold", "found", "lost") for what in ("boat", "hat", "letter", "horse")]  # fmt: skip
    (folder / "public.txt").write_text("\n".join([*lines, "Anna gave it to Bob on 4 May 2020.", "XYZ is a firm."]))
    with pytest.raises(SystemExit) as ended:
        main(
            f"sentences build {folder}/public.txt -o {folder}/stock --prototypes 4,16 --name small "
            "--licence CC0-1.0".split()
        )
    assert not ended.value.code
    return folder


def test_a_stock_tells_what_it_is_and_what_was_dropped(wordveil, built):
    told = wordveil.done("sentences", "info", "--stock", built / "stock", "--epsilon", 3, "--verify")
    assert re.search(r"^licence: +CC0-1.0$", told.out, flags=re.MULTILINE)
    assert re.search(r"^sizes: +4, 16$", told.out, flags=re.MULTILINE)
    assert re.search(r"^dropped: +.*perhaps a name 1$", told.out, flags=re.MULTILINE)
    assert re.search(r"^slots: +name 2, date 1$", told.out, flags=re.MULTILINE)
    shown = told.out.partition("at 3 nats a sentence: ")[2].splitlines()
    assert shown[0] in ("4 prototypes", "16 prototypes")
    assert len(shown) - 1 == int(shown[0].split()[0])
    assert "checksum: verified" in told.err


def test_the_summary_says_what_is_promised_disclosed_and_lost(wordveil, built, tmp_path):
    (tmp_path / "in.txt").write_text("The cook lost a hat. The king wept!\nA boat.\n")
    answer = wordveil.done(
        "rephrase", tmp_path / "in.txt", "--stock", built / "stock", "-e", 4, "--prototypes", 16, "-o",
        tmp_path / "out.txt", "--report", tmp_path / "out.json", "--explain",
    )  # fmt: skip
    assert "2 documents, 3 sentences" in answer.err
    assert "factor of at most exp(4); unit: one sentence of a text with a fixed number of sentences" in answer.err
    assert "a whole text: the losses of its sentences add up, 6 nats for a text of 1.5, the mean here" in answer.err
    assert "never for care" in answer.err
    assert "disclosed: the number of sentences of each text" in answer.err
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert [len(re.findall(r"\.", line)) for line in lines] == [2, 1]
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["options"]["prototypes"] == 16
    assert report["guarantee"]["unit"].startswith("one sentence")
    assert "wept" not in json.dumps(report)
    wordveil.done("report", tmp_path / "out.txt", "--verify", tmp_path / "out.json", "--stock", built / "stock")


def test_numbers_on_a_grid_add_to_the_promise(wordveil, built, tmp_path):
    (tmp_path / "in.txt").write_text("They lost 12 boats.\n")
    answer = wordveil.done(
        "rephrase", tmp_path / "in.txt", "--stock", built / "stock", "-e", 4, "--prototypes", 4,
        "--numbers", "metric", "--grid", "number=0:100:50@0.5", "--explain",
    )  # fmt: skip
    assert "factor of at most exp(5)" in answer.err
    assert "1 nats over the whole range (2 steps); this is part of the sentence's epsilon" in answer.err


@pytest.mark.parametrize(("arguments", "problem"), [
    (["--prototypes", 5], "--prototypes=5 must be one of 4, 16"),
    (["--epsilon", 0], "--epsilon=0.0 must be greater than 0"),
    (["--numbers", "exact"], "--numbers='exact' must be made-up or metric."),
    (["--numbers", "metric"], "wordveil: --numbers metric requires at least one --grid, and --grid requires"),
    (["--report", "x.pdf"], "must end in .json or .html"),
    (["--encoder", "no/such-model"], "wordveil[sentences]"),
])  # fmt: skip
def test_mistakes_are_told_in_one_line(wordveil, built, arguments, problem):
    answer = wordveil("rephrase", built / "stock" / "words.txt", "--stock", built / "stock", *arguments)
    if "such-model" in str(arguments) and "wordveil[sentences]" not in answer.err:
        pytest.skip("sentence-transformers is installed")
    assert answer.status == 2
    assert problem in answer.err
    assert answer.err.count("\n") == 1


def test_the_text_a_stock_was_built_from_is_refused(wordveil, built, tmp_path):
    answer = wordveil.refused("rephrase", built / "public.txt", "--stock", built / "stock", "-o", tmp_path / "out.txt")
    assert "is text that the stock was built from" in answer
    assert not (tmp_path / "out.txt").exists()


def test_what_cannot_be_built_is_told(wordveil, built, tmp_path):
    for sizes, problem in (("4,many", "whole numbers between commas"), ("4000", "at most the number of sentences")):
        answer = wordveil.refused(
            "sentences", "build", built / "public.txt", "-o", tmp_path / "new", "--prototypes", sizes
        )
        assert problem in answer
    assert not (tmp_path / "new").exists()
    for more, problem in (
        ((), "holds no banking77.train.tsv or banking_data/train.csv, the training part of BANKING77"),
        ((built / "public.txt",), "takes no files"),
        (("--licence", "CC0-1.0"), "takes no files"),
    ):
        answer = wordveil.refused("sentences build --recipe support --data", built, "-o", tmp_path / "new", *more)
        assert problem in answer
    wordveil.refused("rephrase", built / "public.txt", "--stock", tmp_path)
