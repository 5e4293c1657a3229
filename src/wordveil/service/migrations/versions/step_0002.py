"""Squares of losses beside their sum, and what a ledger was made with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Count squares from now on; of what was spent before, they are unknown."""
    op.create_table(
        "facts", sa.Column("name", sa.String(32), primary_key=True), sa.Column("value", sa.String(64), nullable=False)
    )
    op.add_column("budgets", sa.Column("squares", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE budgets SET squares = 9223372036854775807 WHERE spent > 0 OR delta_spent > 0")
