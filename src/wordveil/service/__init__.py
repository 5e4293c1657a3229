"""A service that a team can run (extra: serve): releases over HTTP, paid from budgets that cannot be overspent."""

from importlib.util import find_spec

from wordveil.errors import MissingExtraError

for _needed in ("fastapi", "sqlalchemy", "uvicorn"):
    if find_spec(_needed) is None:
        raise MissingExtraError("The service", _needed, "serve")
