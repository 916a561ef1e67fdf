"""The one-file explorer: a page that holds all models of a path and computes with them.

``subject`` is what the page is about, ``scores`` what test rows say of it, ``payload`` all of that
as JSON, and ``page`` the file. The arithmetic of the page is in ``assets/model.js``.
"""

from ruleglm.report.page import write_report
from ruleglm.report.subject import Candidate, Subject

__all__ = ["Candidate", "Subject", "write_report"]
