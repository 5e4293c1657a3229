"""Auditing: what a mechanism really promises, by exact checks and by statistics, for any mechanism.

Start with `audit` (a name or a Python path) or `audit_mechanism` (an object or a callable). `verify_law`,
`verify_channel` and `verify_scores` are exact; the rest gives lower bounds that hold with a stated confidence, and
proves nothing safe.
"""

from __future__ import annotations

from wordveil.auditing.black_box import PairAudit, audit_pair
from wordveil.auditing.exact import ChannelVerdict, verify_channel
from wordveil.auditing.findings import Finding, Status
from wordveil.auditing.float_attack import check_float_bits, possible_words
from wordveil.auditing.laws import verify_law
from wordveil.auditing.report import AuditReport
from wordveil.auditing.reuse import check_reuse
from wordveil.auditing.runner import AuditOptions, audit, audit_mechanism
from wordveil.auditing.score_channels import verify_scores
from wordveil.auditing.side_doors import check_side_doors
from wordveil.auditing.subjects import Subject
from wordveil.auditing.text_leaks import TextChecks, check_text
from wordveil.auditing.timing import check_timing

__all__ = [
    "AuditOptions", "AuditReport", "ChannelVerdict", "Finding", "PairAudit", "Status", "Subject", "TextChecks",
    "audit", "audit_mechanism", "audit_pair", "check_float_bits", "check_reuse", "check_side_doors", "check_text",
    "check_timing", "possible_words", "verify_channel", "verify_law", "verify_scores",
]  # fmt: skip
