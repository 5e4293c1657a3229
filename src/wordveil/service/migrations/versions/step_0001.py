"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    whole, name, text = sa.BigInteger(), sa.String(16), sa.Text()
    account, moment = sa.String(160), sa.Float()

    def promise(*, primary_key: bool = False) -> sa.Column:
        return sa.Column("promise", name, sa.ForeignKey("promises.id"), nullable=False, primary_key=primary_key)

    def counts(*names: str) -> list[sa.Column]:
        return [sa.Column(each, whole, nullable=False) for each in names]

    op.create_table("promises", sa.Column("id", name, primary_key=True), sa.Column("description", text, nullable=False))
    op.create_table(
        "budgets",
        sa.Column("account", account, primary_key=True),
        promise(primary_key=True),
        *counts("granted", "spent", "delta_granted", "delta_spent"),
        sa.CheckConstraint("spent >= 0 AND spent <= granted", name="never_overspent"),
        sa.CheckConstraint("delta_spent >= 0 AND delta_spent <= delta_granted", name="delta_never_overspent"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("account", account, nullable=False),
        promise(),
        *counts("units", "delta_units"),
        sa.Column("time", moment, nullable=False),
    )
    op.create_table(
        "releases",
        sa.Column("id", sa.String(32), primary_key=True),
        promise(),
        *counts("units", "delta_units", "tokens"),
        sa.Column("time", moment, nullable=False),
        sa.Column("mechanism", text, nullable=False),
        sa.Column("vocabulary", sa.String(64), nullable=False),
        sa.Column("guarantee", text, nullable=False),
        sa.Column("assumptions", text, nullable=False),
        sa.Column("retry", sa.String(64), unique=True),
        *[sa.Column(each, sa.String(64)) for each in ("fingerprint", "setting", "salt")],
    )
    op.create_table(
        "charges",
        sa.Column("release", sa.String(32), sa.ForeignKey("releases.id"), primary_key=True),
        sa.Column("account", account, primary_key=True),
    )
    op.create_index("charges_by_account", "charges", ["account"])
    op.create_table(
        "api_keys",
        sa.Column("id", name, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("scopes", text, nullable=False),
        sa.Column("time", moment, nullable=False),
        sa.Column("revoked", moment),
    )
