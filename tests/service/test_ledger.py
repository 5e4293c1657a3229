import math
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import IntegrityError
from tests.service import spenders
from tests.service.spenders import ACCOUNT, COST, GROUP, PROMISE, charge, granted

import seeds
import wordveil as wv
from wordveil.errors import GuaranteeError, ParameterError, WordveilError
from wordveil.promises.guarantees import PrivacyUnit, Standing
from wordveil.service.access import make_key, revoke_key
from wordveil.service.charges import Allowance, BudgetSpentError, KeyRevokedError, RetryError
from wordveil.service.costs import LARGEST, cost_of, nats, promise_of, units
from wordveil.service.ledger import Ledger

KILLS = 50
NAMED = charge(retry="name", fingerprint="body", setting="now")
LOCAL = wv.LocalDP(epsilon=1.0, standing=Standing.PROVED, scope=("a vocabulary",))


@pytest.fixture
def opened(url):
    """Opens ledgers on one database, and closes them."""
    with ExitStack() as stack:
        yield lambda *allowance: stack.enter_context(closing(Ledger.open(url, *allowance)))


@pytest.fixture
def ledger(opened):
    return opened()


def begun(ledger, charges):
    """Let somebody pay for so many charges."""
    ledger.grant(ACCOUNT, granted(math.floor(charges * COST.units)))
    ledger.close()


def at(ledger, day):
    """Let it be noon of a day, or some time before or after it."""
    ledger.clock = lambda: NOON + 86_400 * day


def left(ledger, account=ACCOUNT):
    return Fraction(Decimal(ledger.balances(account)[0]["left"]))


def recorded(ledger, account=ACCOUNT):
    return sum(Fraction(Decimal(row["cost"])) for row in ledger.history(account))


# --- what a release costs


@given(st.floats(1e-6, 1e4), st.floats(0, 1e-3), st.integers(0, 10**4), st.integers(0, 10**4))
def test_costs_are_never_below_the_exact_sum_and_less_than_a_unit_above(epsilon, slack, count, more):
    promise = replace(LOCAL, epsilon=epsilon, slack=slack)
    cost, exact = cost_of(promise, count), count * (Fraction(epsilon) + Fraction(slack))
    assert exact <= Fraction(cost.units, 10**9) < exact + Fraction(1, 10**9)
    # Cutting a text in two never makes it cheaper.
    assert cost.units + cost_of(promise, more).units >= cost_of(promise, count + more).units


@given(st.decimals(0, 10**9, places=12))
def test_what_is_granted_is_rounded_down_and_printed_with_all_its_digits(amount):
    whole = units(str(amount))
    assert Fraction(whole, 10**9) <= Fraction(amount) < Fraction(whole + 1, 10**9)
    assert Fraction(Decimal(nats(whole))) == Fraction(whole, 10**9)


@pytest.mark.parametrize("amount", ["-1", "nan", "inf", "1e400", "1e29", "many", ""])
def test_no_other_amount_is_granted(amount):
    with pytest.raises(ParameterError, match="must be a number in"):
        units(amount)


def test_promises_that_do_not_add_up_are_told_apart():
    known = {"epsilon": 1.0, "standing": Standing.PROVED, "scope": LOCAL.scope}
    unlike = [
        LOCAL,
        *(replace(LOCAL, **other) for other in ({"scope": ("v",)}, {"slack": None}, {"unit": PrivacyUnit.SENTENCE})),
    ]
    unlike += [wv.MetricDP(metric=metric, **known) for metric in ("euclidean", "angular")]
    unlike += [wv.NeighbourDP(graph=graph, **known) for graph in "gh"]
    assert len({promise_of(each) for each in unlike}) == len(unlike) == 8
    alike = [replace(LOCAL, epsilon=2.0), replace(LOCAL, slack=1e-9)]
    assert {promise_of(each) for each in alike} == {promise_of(LOCAL)}


def test_what_does_not_add_up_over_tokens_or_that_no_ledger_can_hold_is_not_paid_for():
    units_of_more = [{"unit": unit} for unit in (PrivacyUnit.DOCUMENT_WORD, PrivacyUnit.TEXT)]
    odd = [replace(LOCAL, **other) for other in ({"standing": Standing.REFUTED}, {"delta": 1e-9}, *units_of_more)]
    for promise in (wv.NoGuarantee(reason="none"), *odd):
        with pytest.raises(GuaranteeError, match=r"no budget can pay|no promise with a delta|does not add up"):
            cost_of(promise, 1)
    with pytest.raises(ParameterError, match="more than a ledger can hold"):
        cost_of(replace(LOCAL, epsilon=1e10), 1)


# --- charging


def test_a_budget_is_spent_to_the_unit_and_then_refused_with_what_is_left(ledger):
    ledger.grant(ACCOUNT, granted(3 * COST.units - 1))
    assert [ledger.charge(charge()).repeated for _ in range(2)] == [False, False]
    with pytest.raises(BudgetSpentError) as refused:
        ledger.charge(charge())
    assert (refused.value.account, refused.value.left) == (ACCOUNT, nats(COST.units - 1))
    ledger.grant(ACCOUNT, granted(1))
    assert ledger.charge(charge()).left == {ACCOUNT: "0"}
    assert left(ledger) == 0
    assert recorded(ledger) == Fraction(3 * COST.units, 10**9)


DAILY = Allowance(promise=COST.promise_id, units={"subject": 2 * COST.units})
NOON = 20_000.5 * 86_400  # seconds


def test_an_allowance_is_for_a_day_and_its_promise_and_does_not_add_up(opened):
    ledger, spent = opened(DAILY), []
    for day in (0, 0.4, 0.6, 0.6, 1.4, 0.3, 4.0, 4.1, 4.4):  # .5 is midnight; the clock may go back
        at(ledger, day)
        before = ledger.balances(ACCOUNT)
        (outcome,) = ledger.charge_all([charge()])
        after = ledger.balances(ACCOUNT)
        if isinstance(outcome, BudgetSpentError):
            assert (outcome.left, after) == ("0", before)
        else:
            assert outcome.left[ACCOUNT] == after[0]["left"]
            spent.append(day)
    assert spent == [0, 0.4, 0.6, 0.6, 4.0, 4.1]
    at(ledger, 5)
    assert tuple(ledger.balances(ACCOUNT)[0][name] for name in ("left", "daily")) == (nats(2 * COST.units),) * 2
    for refused in (charge(accounts=("key:x",)), charge(cost=cost_of(replace(PROMISE, scope=("ef",)), 1))):
        with pytest.raises(BudgetSpentError):
            ledger.charge(refused)
    with pytest.raises(BudgetSpentError, match=f"{nats(2 * COST.units)} nats left"):
        ledger.charge(charge(cost=cost_of(PROMISE, 3), accounts=("subject:new",)))
    ledger.close()
    reopened = opened(DAILY)  # a start allows nothing a second time
    at(reopened, 4.4)
    with pytest.raises(BudgetSpentError):
        reopened.charge(charge())


def test_what_was_granted_is_all_there_is_and_a_grant_adds_to_an_allowance(opened):
    ledger = opened(DAILY)
    at(ledger, 0)
    ledger.grant("subject:closed", granted(0))
    ledger.charge(charge())
    ledger.grant(ACCOUNT, granted(COST.units))
    assert left(ledger) == Fraction(2 * COST.units, 10**9)
    for day in (0, 3):
        at(ledger, day)
        with pytest.raises(BudgetSpentError):
            ledger.charge(charge(accounts=("subject:closed",)))
    assert left(ledger) == Fraction(2 * COST.units, 10**9)  # granted now, and filled up no more
    for day in (3, 4):
        at(ledger, day)
        ledger.charge(charge())
    for day in (4, 9):
        at(ledger, day)
        with pytest.raises(BudgetSpentError):
            ledger.charge(charge())
    assert (ledger.balances(ACCOUNT)[0]["left"], ledger.balances(ACCOUNT)[0]["daily"]) == ("0", "0")


@pytest.mark.parametrize("most", [0, 1, 3])
@pytest.mark.parametrize("later", [0, 1, 30])
def test_an_allowance_that_changed_holds_for_every_account_at_once(opened, most, later):
    """An account that has spent one of two: what is left on the same day counts what was spent on it."""
    first = opened(DAILY)
    at(first, 0)
    first.charge(charge())
    ledger = opened(Allowance(promise=COST.promise_id, units={"subject": most * COST.units}))
    at(ledger, later)
    wanted = max(0, most - (not later))
    assert left(ledger) == Fraction(wanted * COST.units, 10**9)
    outcomes = [ledger.charge_all([charge()])[0] for _ in range(4)]
    assert [isinstance(outcome, BudgetSpentError) for outcome in outcomes] == [False] * wanted + [True] * (4 - wanted)
    assert left(ledger) == 0


def test_what_cannot_pay_is_known_before_it_is_counted_and_a_repeat_is_let_through(opened):
    ledger = opened(DAILY)
    for _ in range(2):
        ledger.check_paying(NAMED)
    ledger.charge(NAMED)
    ledger.charge(charge())
    ledger.check_paying(NAMED)
    for refused in (charge(), replace(NAMED, retry="another"), charge(accounts=("key:x",))):
        with pytest.raises(BudgetSpentError, match="has 0 nats left"):
            ledger.check_paying(refused)
    assert len(list(ledger.history())) == 2


def test_a_ledger_takes_one_secret_only(ledger):
    ledger.belongs_to("ab" * 32)
    ledger.belongs_to("ab" * 32)
    with pytest.raises(WordveilError, match="begun with another secret"):
        ledger.belongs_to("cd" * 32)


def test_what_the_database_itself_refuses(ledger):
    ledger.grant(ACCOUNT, granted(5))
    with pytest.raises(IntegrityError, match="never_overspent"), ledger.transaction() as connection:
        connection.execute(text("UPDATE budgets SET spent = 6"))
    with pytest.raises(ParameterError, match="more than a ledger can hold"):
        ledger.grant(ACCOUNT, granted(LARGEST))
    assert left(ledger) == Fraction(5, 10**9)


# --- asking again


def test_the_same_request_is_charged_once_and_keeps_its_salt(ledger):
    ledger.grant(ACCOUNT, granted(COST.units))
    first, again = ledger.charge(NAMED), ledger.charge(NAMED)
    assert (first.repeated, again.repeated) == (False, True)
    assert (first.release, first.salt, first.left) == (again.release, again.salt, again.left)
    assert len(first.salt) == 64
    for other in (replace(NAMED, fingerprint="another"), replace(NAMED, setting="later")):
        with pytest.raises(RetryError):
            ledger.charge(other)
    assert recorded(ledger) == Fraction(COST.units, 10**9)


def test_after_its_time_nothing_is_left_that_would_draw_the_noise_again(ledger):
    ledger.grant(ACCOUNT, granted(2 * COST.units))
    salt = ledger.charge(NAMED).salt
    assert ledger.forget(before=0.0) == 0
    assert ledger.forget(before=math.inf) == 1
    with ledger.engine.connect() as connection:
        rows = connection.execute(text("SELECT retry, fingerprint, setting, salt FROM releases")).all()
    assert rows == [(None, None, None, None)]
    again = ledger.charge(NAMED)
    assert not again.repeated
    assert again.salt != salt
    assert left(ledger) == 0


@pytest.mark.parametrize("secure", [True, False])
def test_no_file_of_sqlite_keeps_what_was_forgotten(tmp_path, secure):
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}")
    if not secure:  # the twin that must be caught
        event.listen(ledger.engine, "connect", lambda raw, _: raw.execute("PRAGMA secure_delete=OFF"))
        ledger.engine.dispose()
    ledger.grant(ACCOUNT, granted(10**6 * COST.units))
    salts = [ledger.charge(charge(retry=f"name {i}", fingerprint="body", setting="now")).salt for i in range(200)]
    assert ledger.forget(before=math.inf) == 200
    for _ in range(20):
        ledger.charge(charge())
    whole = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert any(salt.encode() in whole for salt in salts) is not secure
    ledger.close()


def test_a_key_that_was_revoked_meanwhile_pays_for_nothing(ledger):
    ledger.grant(ACCOUNT, granted(3 * COST.units))
    _, key, secret = make_key(ledger, "laptop").split("_")
    with ledger.engine.connect() as connection:
        assert secret not in repr(connection.execute(text("SELECT * FROM api_keys")).all())
    ledger.charge(replace(charge(), key=key))
    revoke_key(ledger, key)
    refused, charged = ledger.charge_all([replace(charge(), key=key), charge()])
    assert isinstance(refused, KeyRevokedError)
    assert charged.left == {ACCOUNT: nats(COST.units)}
    assert left(ledger) == Fraction(COST.units, 10**9)


# --- many at once, and killed


def test_two_hundred_clients_never_overspend_one_unit(url, ledger):
    begun(ledger, 300.5)
    spenders.many_spend(url)
    assert left(ledger) == Fraction(COST.units // 2, 10**9)
    assert recorded(ledger) == Fraction(300 * COST.units, 10**9)


def test_a_ledger_that_checks_before_it_charges_is_caught(url, ledger):
    begun(ledger, 20)
    spenders.many_spend(url, spenders.Careless, processes=2, threads=10)
    assert recorded(ledger) > Fraction(20 * COST.units, 10**9)


@pytest.mark.slow
def test_a_retry_by_many_at_once_is_charged_once(ledger):
    begun(ledger, 100)
    with ThreadPoolExecutor(40) as pool:
        charged = list(pool.map(ledger.charge, [NAMED] * 40))
    assert len({each.salt for each in charged}) == 1
    assert sum(not each.repeated for each in charged) == 1
    assert recorded(ledger) == Fraction(COST.units, 10**9)


@pytest.mark.slow
def test_killed_at_random_points_it_has_charged_what_it_answered_and_nothing_twice(url, ledger):
    begun(ledger, 10**6)
    chance, acknowledged = seeds.rng(17), []
    for number in range(KILLS):
        acknowledged += spenders.spend_and_die(url, str(number), chance.uniform(0, 0.05))
    known = {row["release"] for row in ledger.history(ACCOUNT)}
    assert len(acknowledged) > KILLS
    assert {release for _, release in acknowledged} <= known
    # At most one group a kill was on the disk and not yet answered, and asking again finds it.
    assert len(known) <= len(acknowledged) + KILLS * GROUP
    spent = Fraction(10**6 * COST.units, 10**9) - left(ledger)
    assert spent == recorded(ledger) == Fraction(len(known) * COST.units, 10**9)
    for name, release in acknowledged:
        again = ledger.charge(charge(retry=name, fingerprint=name, setting="s"))
        assert (again.repeated, again.release) == (True, release)
    assert spent == recorded(ledger)


@pytest.mark.slow
def test_a_ledger_that_answers_before_the_disk_does_is_caught(url, ledger):
    begun(ledger, 10**6)
    acknowledged = [
        name for number in range(3) for name, _ in spenders.spend_and_die(url, str(number), 0.02, spenders.Hasty)
    ]
    assert len(acknowledged) > len(list(ledger.history(ACCOUNT)))


def test_what_one_is_refused_for_refuses_no_other_that_shares_its_way_to_the_disk(ledger):
    poor, rich = "subject:poor", "subject:rich"
    ledger.grant(rich, granted(30 * COST.units))
    ledger.grant(poor, granted(2 * COST.units))
    twice = charge(retry="name", fingerprint="body", setting="now", accounts=(rich,))
    asked = [charge(accounts=(rich,)), charge(accounts=(rich, poor)), twice, twice, replace(twice, fingerprint="other")]
    found = ledger.charge_all(asked * 5)
    refused = [[type(each) if isinstance(each, Exception) else None for each in found[i::5]] for i in range(5)]
    assert refused[0] == refused[2] == refused[3] == [None] * 5
    assert (refused[1], refused[4]) == ([None] * 2 + [BudgetSpentError] * 3, [RetryError] * 5)
    assert len({each.salt for each in found[2::5] + found[3::5]}) == 1
    assert [each.left[poor] for each in found[1:10:5]] == [nats(COST.units), "0"]
    assert len({each.release for each in found[::5]}) == 5
    assert (left(ledger, poor), left(ledger, rich)) == (0, Fraction((30 - 5 - 2 - 1) * COST.units, 10**9))
    assert recorded(ledger, rich) == Fraction(8 * COST.units, 10**9)


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [0, 1, 0], [1, 0, 1]])
def test_another_request_under_a_used_name_is_refused_whatever_it_shares_its_way_with(ledger, order):
    ledger.grant(ACCOUNT, granted(9 * COST.units))
    salt = ledger.charge(NAMED).salt
    both = [NAMED, replace(NAMED, fingerprint="another body")]
    found = ledger.charge_all([both[i] for i in order])
    for i, each in zip(order, found, strict=True):
        assert isinstance(each, RetryError) if i else each.salt == salt
    assert recorded(ledger) == Fraction(COST.units, 10**9)


@pytest.mark.slow
def test_a_killed_database_server_keeps_what_was_answered(postgres):
    url = postgres.fresh()
    ledger = Ledger.open(url)
    ledger.grant(ACCOUNT, granted(1000 * COST.units))
    answered = {ledger.charge(charge()).release for _ in range(20)}
    ledger.close()
    postgres.kill()
    postgres.start()
    ledger = Ledger.open(url)
    assert answered == {row["release"] for row in ledger.history(ACCOUNT)}
    assert left(ledger) == Fraction(980 * COST.units, 10**9)
    ledger.close()


# --- the database


@pytest.mark.parametrize("change", ["DROP COLUMN daily", "ADD COLUMN squares BIGINT"])
def test_a_ledger_of_another_version_is_refused_and_left_as_it_is(opened, change):
    ledger = opened()
    ledger.grant(ACCOUNT, granted(5))
    opened()  # one of this version opens as it was left
    with ledger.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE budgets {change}"))
        connection.execute(text("DROP TABLE facts"))
    with pytest.raises(WordveilError, match="of another version of wordveil"):
        opened()
    with ledger.engine.connect() as connection:
        assert connection.execute(text("SELECT granted FROM budgets")).scalar() == 5
        assert not inspect(connection).has_table("facts")


def test_commits_of_sqlite_are_on_the_disk_and_the_file_is_the_owners(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}")
    with ledger.engine.connect() as connection:
        settings = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2]  # 2 is FULL
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ledger.close()


def test_commits_of_postgresql_wait_for_the_disk_whatever_the_server_is_set_to(postgres):
    url = postgres.fresh()
    ledger = Ledger.open(url)
    with ledger.engine.connect() as connection:
        connection.execute(text("ALTER ROLE postgres SET synchronous_commit = off"))
        connection.commit()
    ledger.close()
    ledger = Ledger.open(url)
    with ledger.engine.connect() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
        connection.execute(text("ALTER ROLE postgres RESET synchronous_commit"))
        connection.commit()
    ledger.close()


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "postgresql+psycopg://u:secret@", "sqlite://", "secret"])
def test_another_database_is_refused_without_showing_its_password(url):
    with pytest.raises(ParameterError, match="must be sqlite:///FILE or postgresql") as refused:
        Ledger.open(url)
    assert "secret" not in str(refused.value)
