"""Newsgroup posts without their authors' traces, linkage in a world whose authors have habits, and topic search."""

import json
from itertools import pairwise

import pytest
from tests.lab.conftest import noisy

import seeds
from wordveil.errors import ParameterError
from wordveil_lab.evaluation.authors import AuthorshipLinkage, parse_post
from wordveil_lab.evaluation.retrieval import TopicRetrieval
from wordveil_lab.evaluation.subjects import unprotected

SOURCE = seeds.source(29)


def test_nothing_that_names_the_author_is_left():
    post = parse_post(
        "From: Ann.Lee@Site.org (Ann Lee)\nOrganization: Site\nLines: 9\n\n"
        "Archive-Name: x\nIn article <1@site> bob@other (Bob) writes:\n> Ann, hello\nBob> hi\n: quoted\n"
        "I agree with planning.\n\n\tBest, Ann\n--\nAnn Lee, Site, 555-0100\n"
    )
    assert post == ("ann.lee@site.org", "I agree with planning. Best,")


@pytest.mark.parametrize(("text", "author", "body"), [("", "", ""), ("Subject: x\t\thello", "", "hello")])
def test_posts_without_a_sender_have_no_author(text, author, body):
    post = parse_post(text)
    assert post == (author, body)


def test_linkage_ranges_from_certainty_to_chance(world, tmp_path):
    """Six authors of six texts, each of twelve words that are their own, in another order in each text."""
    own = [[world.words[author + 6 * i] for i in range(12)] for author in range(6)]
    rows = [
        {"text": " ".join(words[i:] + words[:i]), "author": "abcdef"[a]}
        for a, words in enumerate(own)
        for i in range(6)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = AuthorshipLinkage(path=str(path), author="author", words=12)
    prepared = task.prepare(world)
    assert len(prepared[1]) == 6 * 2
    clean = task.run(prepared, unprotected(world), SOURCE)
    assert clean == {"success": 1.0, "guessing": pytest.approx(1 / 6)}
    drowned = noisy(world, 1e-3)
    runs = [task.run(prepared, drowned, seeds.source(i))["success"] for i in range(20)]
    # 240 guesses at one in six: 9 standard deviations above chance are 0.38.
    assert sum(runs) / len(runs) < 0.38


def test_texts_of_the_users_own_name_their_author_in_a_column(world, tmp_path):
    path = tmp_path / "texts.jsonl"
    rows = [{"text": f"waa wab wac wad w{'ae' if i % 2 else 'af'}", "author": "xy"[i % 2], "n": i} for i in range(4)]
    rows += [{"text": f"wag wa{'hi'[i]} wa{'jk'[i]} wal", "author": "xy"[i]} for i in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = AuthorshipLinkage(path=str(path), author="author", known=1, linked=1, words=8)
    assert task.prepare(world)[1].tolist() == [0, 1]  # equal texts count once
    with pytest.raises(ParameterError, match="two authors with 6"):
        AuthorshipLinkage(path=str(path), author="author", words=8).prepare(world)
    with pytest.raises(ParameterError, match="at least 2"):
        AuthorshipLinkage(authors=1).prepare(world)


def test_documents_of_a_topic_are_found_and_headers_are_not_read(world, use_world):
    task = TopicRetrieval(documents=40, queries=10, k=5)
    prepared = task.prepare(world)
    subject_line = world.id("waa")
    documents = prepared[1]
    bodies = [documents.tokens[a:b] for a, b in pairwise(documents.offsets.tolist())]
    assert sum(subject_line in body for body in bodies) < len(bodies) / 2
    clean = task.run(prepared, unprotected(world), SOURCE)
    assert clean["ndcg"] > 0.9
    drowned = noisy(world, 1e-3)
    assert task.run(prepared, drowned, SOURCE)["ndcg"] < 0.6
