"""How a ledger's tables came to be, a step a file; Alembic runs the steps that a database lacks."""
