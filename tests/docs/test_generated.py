"""The generated parts of the pages are up to date and complete; the generator reports what it cannot make."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs import site
from tests.docs.blocks import blocks_of
from tests.docs.generated import DOCS, PAGES, arguments, events, fields, fresh, groups_of, members, regions, tree
from yai_nexus_agentkit.cli import COMMANDS

API = sorted((DOCS / "api").glob("*.md"))
GENERATED = [page for page in PAGES if regions(page)]


@pytest.mark.parametrize("page", GENERATED, ids=[page.name for page in GENERATED])
def test_pages_are_up_to_date(page: Path) -> None:
    assert page.read_text("utf-8") == fresh(page), "run: python -m tests.docs.generated"


def test_every_field_has_a_section() -> None:
    text = fields("yai_nexus_agentkit.Visible")

    assert [line for line in text.splitlines() if line.startswith("#")] == ["### `nodes`", "### `tags`", "### `names`"]
    assert "`Collection[str] | None`, default `None`" in text
    assert "``" not in text


def test_codes_and_the_tree_of_errors() -> None:
    assert "- `INVALID_INPUT`" in members("yai_nexus_agentkit.errors.Code").splitlines()
    assert tree("yai_nexus_agentkit.errors").startswith("```text\nAGUIAdapterError\n├── EventTranslationError")


def test_the_page_of_the_command_line_has_every_argument() -> None:
    """Groups that several commands have are shown once, and are the same everywhere."""
    shown = {region.what for region in regions(DOCS / "command-line.md")}
    for command in COMMANDS:
        for title in groups_of(command):
            group = f": {title}" if title else ""
            same = {f"arguments of {name}{group}" for name in COMMANDS if title in groups_of(name)}
            if f"arguments of {command}{group}" not in shown:
                assert title, f"the arguments of {command} are missing"
                [other] = shown & same
                assert arguments(f"{command}{group}") == arguments(other.removeprefix("arguments of "))
    assert all(f"[`{command}`](#{command})" in (DOCS / "command-line.md").read_text("utf-8") for command in COMMANDS)


def test_arguments_as_a_table() -> None:
    text = arguments("serve")

    assert "| `--port PORT` | the port (default: 8000, with --openai $PORT; 0 = any free port) |" in text
    assert "| `--cors ORIGIN` | an origin whose pages may call; \\* for all; may be repeated |" in text
    assert "| `AGENT` |" in text
    assert "| `--source` `events`, `callbacks` | [`source`](hooks-and-options.md#source): observe the graph by" in (
        arguments("run: the adapter (AdapterOptions)")
    )


def listed() -> list[str]:
    """The names that the pages of the API show."""
    return [name for page in API for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.M)]


def test_the_pages_of_the_api_say_how_to_import_what_it_lists() -> None:
    imported: dict[str, Any] = {}
    for page in API:
        for block in blocks_of(page):
            exec(block.text, imported)

    for item in map(pydoc.locate, listed()):
        names = [getattr(item, name) for name in item.__all__] if inspect.ismodule(item) else [item]
        for one in names:
            if inspect.isfunction(one) or inspect.isclass(one):
                assert imported.get(one.__name__) is one, f"{one.__name__} is not imported on the page"


def test_ids_that_differ_in_each_run_have_names_that_do_not() -> None:
    one, two = "0a" * 16, "lc_run--01a21fc1-3008-751d-9326-25a1414019d6"
    stream = [
        {"type": "TEXT_MESSAGE_START", "messageId": two, "metadata": {"node": "a"}},
        {"type": "REASONING_START", "messageId": f"{two}-reasoning-0"},
        {"type": "TEXT_MESSAGE_START", "messageId": one},
    ]

    assert events(stream, ["TEXT_*"]).splitlines()[1:-1] == [
        '{"type": "TEXT_MESSAGE_START", "messageId": "message-1"}',
        '{"type": "TEXT_MESSAGE_START", "messageId": "message-2"}',
    ]
    assert '"message-1-reasoning-0"' in events(stream, [])
    assert '"metadata": {"node": "a"}' in events(stream, ["TEXT_*", "+metadata"])
    with pytest.raises(ValueError, match="no event is one of RUN_ERROR"):
        events(stream, ["RUN_ERROR"])


def test_a_page_is_made_from_what_its_blocks_define(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```python\nfound = [{"type": "A"}]\n```\n'
        "<!-- generated: events of found: A -->\nold\n<!-- end of generated -->\n"
        '```python\nfound = [{"type": "B"}]\n```\n'
    )

    assert '\n```jsonl\n{"type": "A"}\n```\n' in fresh(page)
    page.write_text("<!-- generated: nothing -->\n<!-- end of generated -->\n")
    with pytest.raises(ValueError, match="nothing is known of 'nothing'"):
        fresh(page)


def test_the_site_has_every_page_and_no_other() -> None:
    """The builder passes over an entry of the navigation that leads nowhere."""

    def pages(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values() if isinstance(entry, dict) else entry:
                yield from pages(inner)

    in_the_navigation = list(pages(yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text("utf-8"))["nav"]))

    assert sorted(in_the_navigation) == sorted(site.pages().values())


def test_what_the_api_pages_name_is_there_and_documented() -> None:
    assert len(listed()) > 30
    assert [name for name in listed() if not getattr(pydoc.locate(name), "__doc__", None)] == []
