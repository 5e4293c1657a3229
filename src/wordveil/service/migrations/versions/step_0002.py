"""Squares of losses beside their sum."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Count squares from now on; of what was spent before, they are unknown."""
    op.add_column("budgets", sa.Column("squares", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE budgets SET squares = 9223372036854775807 WHERE spent > 0 OR delta_spent > 0")
