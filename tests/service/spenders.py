"""Clients that spend from one budget, in processes of their own, and a ledger that checks before it charges."""

import contextlib
import itertools
import os
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import wordveil as wv
from wordveil.service.charges import BudgetSpentError, Charge, Charged
from wordveil.service.costs import Cost, cost_of
from wordveil.service.ledger import Ledger

PROMISE = wv.LocalDP(epsilon=7.0, slack=1e-9, standing=wv.Standing.PROVED, scope=("vocabulary abab",))
COST = cost_of(PROMISE, 1)
ACCOUNT = "subject:someone"
GROUP = 3  # charges made together


def charge(cost=COST, accounts=(ACCOUNT,), **retry):
    said = {"mechanism": "M(epsilon=7.0)", "vocabulary": "ab" * 32, "guarantee": "a promise", "assumptions": ("one",)}
    return Charge(accounts=accounts, cost=cost, tokens=1, **said, **retry)


def granted(amount, promise=COST.promise):
    return Cost(promise=promise, units=amount)


class Careless(Ledger):
    """Looks whether a budget suffices, and charges it afterwards: what must be seen to overspend."""

    def charge(self, asked):
        spent = sum(Fraction(Decimal(row["cost"])) for row in self.history(ACCOUNT))
        (balance,) = self.balances(ACCOUNT)
        if spent + Fraction(COST.units, 10**9) > Fraction(Decimal(balance["granted"])):
            raise BudgetSpentError(ACCOUNT, "0", "0")
        return super().charge(asked)

    def _spend(self, connection, account, cost):
        return 0


class Hasty(Ledger):
    """Answers charges before they are on the disk: what must be seen to lose them."""

    def charge_all(self, asked):
        threading.Thread(target=super().charge_all, args=(asked,)).start()
        return [Charged(release=each.retry, salt=None, repeated=False, left={}) for each in asked]


def in_child(work):
    """Run in a fork, whose exit status tells whether it failed; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - told by the exit status
        traceback.print_exc()
        os._exit(1)


def spend_until_refused(url, kind=Ledger, threads=50):
    """Spend from `threads` clients until each is refused."""
    ledger = kind.open(url)

    def client(_):
        with contextlib.suppress(BudgetSpentError):
            while True:
                ledger.charge(charge())

    with ThreadPoolExecutor(threads) as pool:
        assert [*pool.map(client, range(threads))] == [None] * threads


def many_spend(url, kind=Ledger, processes=4, threads=50):
    children = [in_child(lambda: spend_until_refused(url, kind, threads)) for _ in range(processes)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * processes


def spend_and_die(url, name, seconds, kind=Ledger):
    """Spend under retry names in groups until killed; return the names and releases acknowledged."""
    read, write = os.pipe()

    def work():
        os.close(read)
        ledger = kind.open(url)

        for number in itertools.count():
            names = [f"{name}-{number}-{i}" for i in range(GROUP)]
            charged = ledger.charge_all([charge(retry=each, fingerprint=each, setting="s") for each in names])
            told = zip(names, charged, strict=True)
            os.write(write, "".join(f"{each} {made.release}\n" for each, made in told).encode())

    child = in_child(work)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        first = pipe.readline().decode()  # the clock starts once the ledger is open and warm
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [line.split() for line in (first + pipe.read().decode()).splitlines()]
