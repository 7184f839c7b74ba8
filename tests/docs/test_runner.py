"""The runner of the pages finds what it shall find: each kind of wrong block fails."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import Block, Command, blocks_of, commands_of
from tests.docs.test_pages import (
    PARSERS,
    call_test,
    check_command,
    compile_typescript,
    parse_nginx,
)


def block(text: str, language: str = "bash") -> Block:
    return Block(Path("page.md"), 10, language, None, text)


def test_blocks_are_found_wherever_they_stand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """
```python title="my_agent.py"
one = 1
```

- in a list

    ```bash
    make test
      indented
    ```

~~~~text
```python
not a block of its own
```
~~~~

```
plain
```
"""
    )

    assert [(b.line, b.language, b.title, b.text) for b in blocks_of(page)] == [
        (3, "python", "my_agent.py", "one = 1\n"),
        (9, "bash", None, "make test\n  indented\n"),
        (14, "text", None, "```python\nnot a block of its own\n```\n"),
        (20, "", None, "plain\n"),
    ]


def test_a_block_that_is_not_closed(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```python\none = 1\n")

    with pytest.raises(ValueError, match=r"page.md:1: the block is not closed"):
        blocks_of(tmp_path / "page.md")


def test_commands_with_their_output_and_exit_code() -> None:
    text = "$ make test  # exit code 3\none\n\ntwo\n$ echo \\\n  more\n"

    assert commands_of(block(text)) == [Command("make test", 3, "one\n\ntwo"), Command("echo more", 0, "")]
    assert commands_of(block("# a comment\nmake test\n\nmake lint\n")) == [
        Command("make test", 0, ""),
        Command("make lint", 0, ""),
    ]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Command("make nothing", 0, ""), "there is no target nothing"),
        (Command("pip install 'yai-nexus-agentkit[nothing]'", 0, ""), "there is no extra nothing"),
        (Command("yai-nexus-agentkit run nowhere:graph", 0, ""), "exit code 2 instead of 0"),
        (Command("yai-nexus-agentkit run", 0, ""), "exit code 2 instead of 0"),
        (Command("yai-nexus-agentkit --version", 1, ""), "exit code 0 instead of 1"),
        (Command("yai-nexus-agentkit --version", 0, "yai-nexus-agentkit 9.9.9"), "it shows"),
        (Command("yai-nexus-agentkit serve nowhere:graph", 0, ""), "there is no module 'nowhere'"),
        (Command("yai-nexus-agentkit serve --no-such-option", 0, ""), "wrong usage"),
        (Command("python -c 'raise SystemExit(4)'", 0, ""), "exit code 4"),
        (Command("python -c 'print(1)'", 0, "2"), "it shows"),
    ],
)
def test_wrong_commands_fail(command: Command, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pytest.fail.Exception, match=f"page.md:10: (?s:.*){why}"):
        check_command(command, block(""), capsys)


@pytest.mark.parametrize(
    "command",
    [
        Command("make test PYTEST_ARGS=-x", 0, ""),
        Command('pip install "yai-nexus-agentkit[server,fastapi]" langchain-openai', 0, ""),
        Command("yai-nexus-agentkit --version", 0, "yai-nexus-agentkit ..."),
        Command("yai-nexus-agentkit run nowhere:graph", 2, ""),
        Command("yai-nexus-agentkit serve a=examples/demo/agent.py:graph --port 9000", 0, ""),
        Command("python -c 'print(1)'", 0, "1"),
        Command("curl http://localhost:8000", 0, ""),
    ],
)
def test_right_commands_pass(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    check_command(command, block(""), capsys)


@pytest.mark.parametrize(
    ("language", "text"),
    [("json", "{'a': 1}"), ("yaml", "a: [1"), ("toml", "a = "), ("nginx", "server { listen 80; ")],
)
def test_wrong_data_fails(language: str, text: str) -> None:
    with pytest.raises((ValueError, yaml.YAMLError)):
        PARSERS[language](text)


def test_nginx_statements() -> None:
    parse_nginx('location / {\n  proxy_buffering off;  # no; really {\n  add_header X "a;{b";\n}\n')
    for wrong in ("location / {\n  proxy_buffering off\n}", "}", "proxy_pass http://x"):
        with pytest.raises(ValueError):
            parse_nginx(wrong)


def test_tests_on_a_page_are_called_and_have_no_fixtures() -> None:
    called = []

    async def test_async() -> None:
        called.append("async")

    call_test("test_async", test_async)
    call_test("test_sync", lambda: called.append("sync"))

    assert called == ["async", "sync"]
    with pytest.raises(AssertionError, match="test_more: there are no fixtures on a page"):
        call_test("test_more", lambda judge: None)  # type: ignore[misc, arg-type]


def test_typescript_is_checked_against_the_clients_types(tmp_path: Path) -> None:
    wrong = 'import { HttpAgent } from "@ag-ui/client";\n\nnew HttpAgent({ link: "https://example.com" });\n'
    right = (
        'import { HttpAgent } from "@ag-ui/client";\ndrawChart(new HttpAgent({ url: "https://example.com" }).state);\n'
    )

    problems = compile_typescript({"0.ts": block(wrong, "ts"), "1.ts": block(right, "ts")}, tmp_path)

    assert len(problems) >= 1
    assert problems[0].startswith("page.md:12: error TS")
    assert not any("1.ts" in problem for problem in problems)
