"""The documentation: its examples run and print what they show, its links lead somewhere."""

import re

import pytest

import ruleglm
from tests.doc_pages import PAGES, ROOT, agree, find_examples, run_example

LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)#\s]*)(#[^)\s]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


PAGE = """```python
print(1)
```

```text
1
```

```python
x = 2
```
words
```text
```
"""


def test_examples_are_found_with_their_output():
    first, second = find_examples(PAGE)
    assert (first.line, first.code, PAGE[first.start : first.end]) == (2, "print(1)\n", "1\n")
    assert (second.line, second.start) == (10, None)
    assert agree("a ... c\n", "a b c\n")
    assert not agree("1\n", "2\n")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace = {}
    for example in find_examples(text):
        printed = run_example(page, example, namespace)
        if example.start is not None:
            shown = text[example.start : example.end]
            assert agree(shown, printed), f"{name_of(page)}:{example.line} prints\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, _ in LINK.findall(text):
        if target and "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def test_every_page_is_in_the_navigation():
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert f" {page.relative_to(ROOT / 'docs')}\n" in listed


def test_every_public_name_is_in_the_reference():
    pages = [page.read_text(encoding="utf-8") for page in PAGES if page.parent.name == "reference"]
    for name in ruleglm.__all__:
        assert f"::: ruleglm.{ruleglm.HOMES[name]}.{name}\n" in "\n".join(pages)
