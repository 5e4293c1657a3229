"""Lists, laws, linking, refusals and the promise of a redactor; and dates moved together, by an exact law."""

import datetime
import pickle
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.withholding.swapping import GERMAN

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.errors import ChecksumError, ParameterError, TooLittleKeptError
from wordveil.withholding import words as lists
from wordveil.withholding.dates import MONTHS, drawn_shift, moved
from wordveil.withholding.kinds import Kind
from wordveil.withholding.laws import LAWS, Slot, surrogate_generators
from wordveil.withholding.words import COMMON, LISTS, PACKS, Mark, PublicWords, closed_list


@pytest.mark.parametrize("name", ["An", "Do", "So", "Will", "May"])
def test_names_that_arefunction_words_leave_nowhere_but_as_openers(name):
    redactor = wv.Redactor(rule=wv.Rule(strict=True))
    assert name not in redactor.redact(f"We met {name} yesterday. We saw Mr. {name} Smith and {name}.").split()


@pytest.mark.parametrize("written", ["[name]", "[name-1]", "[[word]]", "[other]", "\uff3bname\uff3d"])
def test_a_placeholder_of_the_input_is_never_taken_for_one_of_ours(written, redactor):
    released = redactor.redact(f"He said {written} to me")
    assert "[name]" not in released.replace("[other]", "")
    assert "[name-1]" not in released


def test_characters_that_are_not_listed_do_not_leave(redactor):
    text = "ok \u202e\u0301 \U0001f1e9\U0001f1ea \u0915\u093f \u2028 \x07 \u3000 ~ \ufe0f end"
    released = redactor.redact(text)
    assert released.isascii()
    assert set(released) <= set("ok end[]other~word ")


def test_line_ends_of_every_system_are_newlines(redactor):
    assert redactor.redact("one\r\ntwo\rthree<br />four") == redactor.redact("one\ntwo\nthree\nfour")


def test_every_file_of_a_list_is_the_one_that_was_built():
    names = {path.name for path in LISTS.iterdir() if path.suffix in (".txt", ".tsv")}
    assert names == set(lists._digests())
    for name in names:
        assert lists._text(name)


def test_a_list_that_was_changed_is_refused(monkeypatch, tmp_path):
    for path in LISTS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "spoken.txt").write_text("okay smith\n")
    monkeypatch.setattr(lists, "LISTS", tmp_path)
    with pytest.raises(ChecksumError, match=r"spoken\.txt is not the one"):
        closed_list.__wrapped__("spoken")


def test_longer_lists_hold_shorter_ones_and_packs_add():
    grown = [PublicWords(common=n) for n in COMMON]
    for short, long in pairwise(grown):
        assert set(short.marks()) < set(long.marks())
        assert short.digest != long.digest
    assert set(PublicWords().marks()) < set(PublicWords(packs=PACKS).marks())
    assert not closed_list("sensitive") & set(PublicWords(common=8000, packs=PACKS).marks())
    assert "cancer" in PublicWords(sensitive=True, common=8000)


def test_no_word_of_the_list_is_mostly_written_with_a_capital():
    rows = [line.split("\t") for line in (LISTS / "common.tsv").read_text().splitlines()[1:]]
    assert all(float(share) <= 0.5 for word, _, share, _ in rows if word != "i")
    assert all(
        Mark(mark) is not Mark.SURE
        for word, _, share, mark in rows
        if float(share) > 0.05 and word not in lists.function_words()
    )
    assert not {"london", "maria", "january", "smith", "christmas"} & {word for word, *_ in rows}


def test_words_of_the_owner_are_added_and_taken_away():
    words = PublicWords(added=frozenset({"Metoprolol"}), hidden=frozenset({"house"}))
    assert (
        wv.Redactor(words=words).redact("She takes metoprolol at the house.") == "She takes metoprolol at the [word]."
    )
    assert "public words and of 1 that the owner declares public" in wv.Redactor(words=words).redaction("so").claim.kept
    rule = wv.Rule(titles=True, calendar=True, numbers=(0, 9))
    claim = wv.Redactor(rule=rule).redaction("so").claim
    assert claim.kept.endswith(" public words, or a title or a month or day or a number that was asked for")
    with pytest.raises(ParameterError, match="plain letters"):
        PublicWords(added=frozenset({"two words"}))


def test_a_value_is_equal_where_its_lists_are_and_travels():
    words = PublicWords(added=frozenset({"zq"}))
    assert pickle.loads(pickle.dumps(words)) == words
    one = wv.Redactor(words=words, rule=wv.Rule(strict=True), law="surrogate", link="document", days=9)
    other = pickle.loads(pickle.dumps(one))
    assert other == one
    assert other.own_words() != one.own_words(), "the key stays behind"
    assert hash(wv.Redactor(words=words)) == hash(wv.Redactor(words=PublicWords(added=frozenset({"zq"}))))


def test_linked_placeholders_agree_where_tokens_do_and_nowhere_else():
    redactor = wv.Redactor(link="document")
    text = "We saw Maria and Tom. Maria left, tom stayed; Anna wrote 7 and 8 and 7."
    assert redactor.redact(text) == (
        "We saw [name-1] and [name-2]. [name-1] left, [word-1] stayed; "
        "[name-3] wrote [number-1] and [number-2] and [number-1]."
    )
    assert "equal" in redactor.guarantee.sentence()


@pytest.mark.parametrize("printed", ["name", "word", "number", "link"])
def test_every_surrogate_is_of_its_generator(printed):
    generator = surrogate_generators()[printed]
    public = {generator.text(i) for i in range(1 << generator.bits)}
    assert len(public) == 1 << generator.bits
    kind = next(kind for kind in Kind if kind.printed == printed)
    assert set(LAWS["surrogate"]([Slot(kind)] * 200, seeds.source(6).stream("x"))) <= public


def test_every_release_has_a_guarantee_that_speaks_of_loss_only_between_texts_that_agree(redactor):
    redaction = redactor.redaction("We saw Maria.")
    with pytest.raises(TooLittleKeptError, match="another language"):
        redactor.redact(GERMAN)
    assert redaction.guarantee.loss(0.0) == 0.0
    assert redaction.guarantee.standing is wv.Standing.PROVED
    assert redaction.guarantee.largest_loss() is None
    assert (
        "agree in kept tokens, where they stand, the kinds of all others and layout" in redaction.guarantee.sentence()
    )
    assert redaction.as_dict()["guarantee"]["promise"] == "withholding"
    with pytest.raises(ParameterError, match="must be a Guarantee"):
        type(redaction)(text=redaction.text, guarantee=None, disclosed=(), claim=redaction.claim)


def test_counts_are_those_of_the_spans(redactor):
    text, counts = "We saw Maria Garcia at 7 in a zqx.", Counter()
    redactor.release(PrivateText(text), counts)
    spans = redactor.spans(text)
    assert (counts["kept"], counts["hidden"]) == (sum(span.kept for span in spans), len(spans) - counts["kept"])
    assert Counter(span.kind.printed for span in spans if not span.kept) == {
        k: counts[k] for k in ("name", "number", "word")
    }
    assert [text[span.start : span.end] for span in spans if not span.kept] == ["Maria", "Garcia", "7", "zqx"]


DATES = st.dates(datetime.date(1811, 1, 1), datetime.date(2188, 1, 1))
FORMS = (
    lambda date: date.isoformat(),
    lambda date: f"{date.day} {MONTHS[date.month - 1]} {date.year}",
    lambda date: f"{MONTHS[date.month - 1]} {date.day}, {date.year}",
)
DAYS = 12


def read(text: str) -> list[datetime.date]:
    """The dates of a release, read without the code under test."""
    months = "|".join(MONTHS)
    found = re.finditer(rf"(\d{{4}})-(\d\d)-(\d\d)|(\d+) ({months}) (\d{{4}})|({months}) (\d+), (\d{{4}})", text)
    return [
        datetime.date(
            int(date[1] or date[6] or date[9]),
            int(date[2] or 1 + MONTHS.index(date[5] or date[7])),
            int(date[3] or date[4] or date[8]),
        )
        for date in found
    ]


@given(st.lists(st.tuples(DATES, st.sampled_from(FORMS)), min_size=1, max_size=6), st.integers(1, 3650))
def test_every_interval_is_kept_and_every_shift_is_within_its_bound(dates, days):
    texts = [f"She came on {write(date)}." for date, write in dates]
    redactor = wv.Redactor(days=days, source=seeds.source(31))
    (row,) = redactor.release_rows([texts], judged=False)
    shifts = {(new - old).days for text, (old, _) in zip(row, dates, strict=True) for new in read(text)}
    assert len([new for text in row for new in read(text)]) == len(dates)
    assert len(shifts) == 1
    assert abs(*shifts) <= days


def audit(move, days: int, apart: int, start: datetime.date) -> Fraction:
    """The total variation between the laws of one timeline and of the same so many days later, by enumeration."""
    intervals = (0, 3, 40)
    laws = [
        Counter(
            tuple(move((start + datetime.timedelta(later + each)).isoformat(), shift) for each in intervals)
            for shift in range(-days, days + 1)
        )
        for later in (0, apart)
    ]
    outputs = laws[0].keys() | laws[1].keys()
    return Fraction(sum(abs(laws[0][each] - laws[1][each]) for each in outputs), 2 * (2 * days + 1))


def keeps_the_year(text: str, shift: int) -> str:
    """A twin: what leaves the year comes in again at its other end."""
    new = datetime.date.fromisoformat(moved(text, shift))
    return text[:4] + new.isoformat()[4:]


STARTS = (datetime.date(2026, 6, 1), datetime.date(2026, 12, 28), datetime.date(2024, 2, 20))


@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("apart", [0, 1, 5, 24, 25, 400])
def test_the_law_is_exact(start, apart):
    assert audit(moved, DAYS, apart, start) == min(Fraction(1), Fraction(apart, 2 * DAYS + 1))


def test_a_twin_that_keeps_the_year_is_refuted():
    start = datetime.date(2026, 12, 28)
    assert audit(keeps_the_year, DAYS, 5, start) > Fraction(5, 2 * DAYS + 1)


def test_shifts_are_uniform_over_documents():
    """Of 25 shifts each is drawn as often as a binomial says, at 1e-9 in all (a bound by Hoeffding)."""
    n = 20_000
    source = seeds.source(32)
    counts = Counter(drawn_shift(source, f"document {i}", DAYS) for i in range(n))
    assert set(counts) == set(range(-DAYS, DAYS + 1))
    most = (n * 24.7 / 2) ** 0.5  # 2 * 25 * exp(-2 * most**2 / n) < 1e-9
    assert max(abs(count - n / 25) for count in counts.values()) < most


def test_a_document_has_one_shift_and_another_its_own():
    redactor = wv.Redactor(days=1000, source=seeds.source(33))
    rows, again = (
        redactor.release_rows([["On 2026-03-14.", "On 14 March 2026."]] * 40, [str(n) for n in range(40)], judged=False)
        for _ in range(2)
    )
    assert all(read(one) == read(other) for one, other in rows)
    assert len({tuple(read(one)) for one, _ in rows}) > 25
    assert again == rows


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("how", [{"days": 3000}, {"law": "surrogate", "link": "document"}])
def test_another_version_under_one_key_and_id_is_drawn_afresh(tmp_path, how, in_files):
    """Shared, the shift gave the days between both, and linked surrogates which hidden words both have."""
    redactor = wv.Redactor(**how, source=wv.RandomSource(seeds.key(35)))
    names = [f"Zq{letter}x" for letter in "abcdefghijkl"]
    versions = [[f"On 2026-03-14 {name} was {end}." for name in names] for end in ("here", "there", "here")]
    released = []
    for texts in versions:
        (tmp_path / "in.txt").write_text("\n".join(texts))
        if in_files:
            wv.redact_documents(tmp_path / "in.txt", tmp_path / "out.txt", redactor, again=True)
            released.append((tmp_path / "out.txt").read_text().splitlines())
        else:
            released.append([text for (text,) in redactor.release_rows([[text] for text in texts], names)])
    one, other, again = released
    assert one == again
    alike = sum(text == new.replace("there", "here") for text, new in zip(one, other, strict=True))
    assert alike < 4, "by chance with a probability below 495 / 6001**4 = 4e-13"


@pytest.mark.parametrize(
    "text",
    ["03/04/2026", "2026-02-30", "2026-13-01", "1776-07-04", "14 march 2026", "14 Mar 2026", "14 March", "x2026-03-14",
     "2026-03-14-7", "2026-03-14T10:00", "31 April 2026", "\u0661\u0664 March 2026"],
)  # fmt: skip
def test_dates_of_other_forms_are_hidden(text):
    assert not read(wv.Redactor(days=100).redact(f"She came on {text}."))


@pytest.mark.parametrize(
    "secret",
    ["My password is {}.", "PIN: {} and it is the one.", "apple river stone window garden table chair paper {}"],
)
@pytest.mark.parametrize("date", ["14 March 2026", "1987-05-04", "March 14, 2026"])
def test_a_date_that_is_a_secret_is_moved_nowhere(secret, date):
    assert not read(wv.Redactor(days=100).redact(secret.format(date)))


@given(st.data())
def test_texts_that_agree_in_dates_and_kinds_are_released_alike(data):
    dates = data.draw(st.lists(DATES, min_size=1, max_size=3))

    def text(names):
        return " ".join(f"{name} came on {date}." for name, date in zip(names, dates, strict=True))

    names = st.lists(st.sampled_from(["Zqx", "Brtw", "Maria", "Xkcd"]), min_size=len(dates), max_size=len(dates))
    redactor = wv.Redactor(days=50, source=seeds.source(34))
    one, other = (redactor.release(PrivateText(text(data.draw(names))), Counter(), None, None, 7) for _ in range(2))
    assert one == other


def test_what_is_said_and_refused():
    redactor = wv.Redactor(days=100)
    assert "dates written in full" in redactor.guarantee.sentence()
    assert any("d / 201" in line for line in redactor.disclosed)
    assert "leave moved" in redactor.redaction("We saw her on 2026-03-14.").claim.may_say
    for drawing in ({"days": 100}, {"law": "surrogate"}):
        assert isinstance(wv.Redactor(**drawing, source=seeds.source(1)).guarantee, wv.NoGuarantee)
    assert not isinstance(wv.Redactor(source=seeds.source(1)).guarantee, wv.NoGuarantee)
    for days in (0, -1, 3651):
        with pytest.raises(ParameterError, match="1 to 3650"):
            wv.Redactor(days=days)
    for rule in (wv.Rule(calendar=True), wv.Rule(numbers=(0, 31))):
        with pytest.raises(ParameterError, match="months and numbers"):
            wv.Redactor(days=10, rule=rule)
