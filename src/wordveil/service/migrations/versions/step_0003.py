"""Numbers of tokens, and what each loses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Count tokens from now on; of what was spent before, what the first of them lost is unknown."""
    for name in ("tokens", "loss"):
        op.add_column("budgets", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE budgets SET tokens = 9223372036854775807 WHERE spent > 0 OR delta_spent > 0")
