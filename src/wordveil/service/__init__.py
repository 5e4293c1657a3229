"""A service that a team can run (extra: serve): releases over HTTP, paid from budgets that cannot be overspent."""
