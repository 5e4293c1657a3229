"""Auditing: what a mechanism really promises, by exact checks and by statistics, for any mechanism.

Start with `audit` (a name or a Python path) or `audit_mechanism` (an object or a callable). `verify_law` and
`verify_channel` are exact; the rest gives lower bounds that hold with a stated confidence, and proves nothing safe.
"""

from __future__ import annotations

from wordveil.auditing.exact import verify_channel
from wordveil.auditing.laws import verify_law
from wordveil.auditing.runner import AuditOptions, audit, audit_mechanism

__all__ = ["AuditOptions", "audit", "audit_mechanism", "verify_channel", "verify_law"]
