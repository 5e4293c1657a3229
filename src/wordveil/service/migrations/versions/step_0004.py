"""Days of an allowance; the sums that limited nothing go."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Leave budgets as they are: none is filled up that was there before, whatever it was granted."""
    for name in ("squares", "tokens", "loss"):
        op.drop_column("budgets", name)
    for name in ("day", "daily"):
        op.add_column("budgets", sa.Column(name, sa.BigInteger()))
