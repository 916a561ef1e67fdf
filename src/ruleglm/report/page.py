"""The file itself: one page of HTML that needs nothing else, written whole or not at all."""

import base64
import hashlib
import html
import json
import os
import secrets
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ruleglm.refitting import Rows
from ruleglm.report.payload import build_payload
from ruleglm.report.subject import Subject

SCRIPTS = (
    "vendor/d3.min.js",
    "vendor/plot.min.js",
    "model.js",
    "dom.js",
    "charts.js",
    "rules.js",
    "whatif.js",
    "panels.js",
    "app.js",
)
"""In the order in which the page runs them."""


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser lets the page do: no network, no scripts but its own."""


def write_report(
    path: str | os.PathLike[str],
    subject: Subject,
    tests: Rows | None = None,
    *,
    title: str | None = None,
    date: str | None = None,
) -> Path:
    """Write the explorer of some models; a file of that name is replaced.

    Parameters
    ----------
    path : str or path
        Where to write.
    subject : Subject
        The models.
    tests : Rows, optional
        Rows to score them on.
    title : str, optional
        Headline; by default made of the target's name.
    date : str, optional
        Shown below the headline as it is; without it the same models give the same file.

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to write the report to")
    page = build_page(build_payload(subject, tests, title=title, date=date))
    _replace_file(target, page.encode("utf-8", "replace"))
    return target


def build_page(payload: Mapping[str, Any]) -> str:
    """Return the text of the page that shows a payload."""
    scripts = [_read_script(name) for name in SCRIPTS]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    parts = {
        "title": html.escape(payload["title"]),
        "policy": f"{POLICY}; script-src {allowed}",
        "style": _read_asset("style.css").strip(),
        "data": embed_json(payload),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    page = _read_asset("page.html")
    pieces = page.split("@@")  # text and names of parts in turn
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embed_json(payload: Mapping[str, Any]) -> str:
    """Write JSON that may stand inside a script element, whatever the names and levels are."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read_script(name: str) -> str:
    """Return a script; one of others with its licence, which has to go with every copy."""
    script = _read_asset(name).strip()
    if not name.startswith("vendor/"):
        return script
    licence = _read_asset(name.replace(".min.js", ".LICENSE")).strip()
    return f"/*\n{licence}\n*/\n{script}"


def _read_asset(name: str) -> str:
    assets = resources.files("ruleglm.report").joinpath("assets")
    return assets.joinpath(*name.split("/")).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _replace_file(target: Path, content: bytes) -> None:
    """Write beside the target, then rename, so that no one ever sees half a file."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
