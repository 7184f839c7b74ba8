"""The judges themselves: recorded fixtures with known verdicts, and what happens when a client cannot be asked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Judge
from tests.support.conformance import check, verdict
from tests.support.verifier import CLIENTS, JS, Verifier, VerifierError
from yai_nexus_agentkit.testing import conformance_problems

FIXTURES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "support" / "fixtures.json").read_text())
INPUT = {"threadId": "t", "messages": [{"id": "u0", "role": "user", "content": "q"}], "state": {"a": 0}}
CLEAN = """baseline reasoning_full reasoning_chunk subagents activity outcome_interrupt outcome_cancelled parallel_tools
    interleave_text_tool tool_result tool_result_parts open_text_at_error two_runs step_dup_per_owner custom_null_value
    state_null snapshot_user_parts chunk_text chunk_tool chunk_text_raw_between run_error_first error_after_finished"""


def recorded(name: str) -> dict[str, Any]:
    return {"events": FIXTURES[name]["events"], "input": INPUT}


def greeting(text: str = "hi") -> list[dict[str, Any]]:
    return [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]


def restated(*ids: str, text: str = "hi") -> dict[str, Any]:
    messages = [{"id": own, "role": "assistant", "content": text} for own in ids]
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_judges_the_fixtures_as_recorded(verifier: Verifier, client: str) -> None:
    views = verifier.replay([recorded(name) for name in FIXTURES], client, chain=False)
    assert {name: view["ok"] for name, view in zip(FIXTURES, views, strict=True)} == {
        name: fixture["ok"][client] for name, fixture in FIXTURES.items()
    }


@pytest.mark.parametrize("name", CLEAN.split())
def test_a_clean_stream_has_no_problems(verifier: Verifier, name: str) -> None:
    assert check([recorded(name)], ignore=["version"]) == []


@pytest.mark.parametrize("name", [name for name, fixture in FIXTURES.items() if not fixture["ok"]["1.0.0"]])
def test_what_the_client_refuses_is_a_problem(verifier: Verifier, name: str) -> None:
    problems = check([recorded(name)], ignore=["version"])
    assert any("[client] 1.0.0 rejects" in problem for problem in problems)


def test_an_older_client_warns_of_what_it_does_not_know(verifier: Verifier) -> None:
    run = recorded("outcome_success_pending")
    assert check([run], ignore=["version"]) == []
    assert any("pendingToolCallIds" in problem for problem in check([run], ignore=["version"], clients=["0.0.59"]))
    assert check([run], ignore=["version", "client"], clients=["0.0.59"]) == []


def test_all_forms_of_a_run_are_read_alike(verifier: Verifier) -> None:
    events = greeting()
    sse = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    for run in (events, [json.dumps(event) for event in events], sse, {"sse": sse}, {"events": events}):
        assert check([run]) == []
    assert check([sse.replace("\n", "\r\n")])[0].startswith("unreadable run")


def test_the_verdict_has_the_client_at_the_end(judge: Judge) -> None:
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}
    first, second = (
        greeting(),
        [{**event, "messageId": "m2"} if "messageId" in event else event for event in greeting()],
    )
    found = judge([[first[0], state, *first[1:]], second])
    assert [(m["id"], m["content"]) for m in found.messages] == [("m", "hi"), ("m2", "hi")]
    assert found.state == {"n": 1}
    assert found.clients["0.0.59"][-1]["messages"] == found.messages


def test_the_judge_fails_the_test_and_names_the_problem(judge: Judge) -> None:
    with pytest.raises(AssertionError, match=r"\[client\] 1.0.0 rejects the stream"):
        judge([greeting()[:-2]])
    with pytest.raises(AssertionError, match=r"\[client\] 0.0.59 rejects the stream"):
        judge([greeting()[:-2]], clients=["0.0.59"], ignore=["AGUI103", "terminal"])


def test_separate_runs_do_not_see_each_other(verifier: Verifier) -> None:
    alone = verifier.replay([greeting("one"), greeting("two")], chain=False)
    assert [[m["content"] for m in view["messages"]] for view in alone] == [["one"], ["two"]]


def test_a_request_that_cannot_be_read_is_an_error_and_the_process_goes_on(verifier: Verifier) -> None:
    before = verifier.replay([greeting()])
    pid = verifier.process_ids()["1.0.0"]
    with pytest.raises(VerifierError, match=r"client 1\.0\.0"):
        verifier.replay([{"sse": "", "input": {"messages": "not a list"}}])
    assert verifier.replay([greeting()]) == before
    assert verifier.process_ids()["1.0.0"] == pid


def test_a_process_that_died_is_replaced() -> None:
    own = Verifier()
    try:
        first = own.replay([greeting()])
        pid = own.process_ids()["1.0.0"]
        os.kill(pid, signal.SIGKILL)
        assert own.replay([greeting()]) == first
        assert own.process_ids()["1.0.0"] != pid
    finally:
        own.close()
    assert own.process_ids() == {}


def test_a_request_that_takes_too_long_is_an_error() -> None:
    own = Verifier(timeout=0.001)
    try:
        with pytest.raises(VerifierError, match="took longer"):
            own.replay([greeting()])
    finally:
        own.close()


def test_threads_share_a_verifier(verifier: Verifier) -> None:
    seen: dict[int, str] = {}

    def ask(number: int) -> None:
        for _ in range(5):
            seen[number] = verifier.replay([greeting(f"answer {number}")])[0]["messages"][-1]["content"]
            assert seen[number] == f"answer {number}"

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: f"answer {number}" for number in range(4)}


def test_missing_packages_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    shutil.copy(JS / "verify.mjs", tmp_path)
    with pytest.raises(VerifierError, match="npm ci"):
        Verifier(tmp_path).replay([greeting()])
    with pytest.raises(VerifierError, match="npm ci"):
        verdict([greeting()], verifier=Verifier(tmp_path))


def test_missing_node_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VerifierError, match="no `node` on the path"):
        Verifier().replay([greeting()])


def test_an_old_node_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho v18.20.0\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VerifierError, match=r"`node` is v18\.20\.0"):
        Verifier().replay([greeting()])


def test_an_unknown_client_is_an_error(verifier: Verifier) -> None:
    with pytest.raises(VerifierError, match="unknown client"):
        verifier.replay([greeting()], "9.9.9")


def test_the_command_line_verifies_once(verifier: Verifier, tmp_path: Path) -> None:
    runs = tmp_path / "runs.json"
    runs.write_text(json.dumps([greeting("one"), greeting("two")]))
    done = subprocess.run(["node", "verify.mjs", str(runs)], cwd=JS, capture_output=True, text=True, check=True)
    assert [view["messages"][-1]["content"] for view in json.loads(done.stdout)["runs"]] == ["one", "two"]
    runs.write_text("{}")
    done = subprocess.run(["node", "verify.mjs", str(runs)], cwd=JS, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a JSON array" in done.stderr


def test_the_http_driver_passes_its_self_test(verifier: Verifier) -> None:
    verifier.replay([greeting()])  # Says what is missing when the packages are.
    done = subprocess.run(["npm", "test", "--silent"], cwd=JS, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 4


ADVISED: dict[str, list[dict[str, Any]]] = {
    "no-parent": FIXTURES["tool_no_parent"]["events"],
    "empty-delta": greeting(""),
    "no-base": [*greeting()[:1], {"type": "STATE_DELTA", "delta": []}, *greeting()[-1:]],
    "id-drift": [*greeting()[:-1], restated("x"), *greeting()[-1:]],
}


@pytest.mark.parametrize("advice", ADVISED)
def test_advice_is_given_on_request(advice: str) -> None:
    assert conformance_problems([ADVISED[advice]], ignore=["version"]) == []
    problems = conformance_problems([ADVISED[advice]], ignore=["version"], advice=True)
    assert len([problem for problem in problems if f"[{advice}]" in problem]) == 1


@pytest.mark.parametrize(
    "snapshots",
    [
        [restated()],
        [restated(), restated("m")],
        [restated("m", text="rewritten")],
        [restated("x", text="another one")],
        [restated("m", "x")],
    ],
)
def test_answers_may_be_removed_restored_and_rewritten(snapshots: list[dict[str, Any]]) -> None:
    events = [*greeting()[:-1], *snapshots, *greeting()[-1:]]
    assert conformance_problems(events, advice=True) == []


def test_an_id_that_changed_is_found_in_chunks_and_once() -> None:
    chunks = [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "h"}]
    chunks.append({"type": "TEXT_MESSAGE_CHUNK", "delta": "i"})
    events = [greeting()[0], *chunks, restated("x"), restated("x"), greeting()[-1]]
    assert conformance_problems(events, advice=True) == [
        "run 0 event 3: [id-drift] streamed message 'm' is 'x' in the snapshot"
    ]
