"""The chat page, talking to the showcase: everything that an agent can show, and everything that a person can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import ROOT, Browser
from tests.browser.talking import (
    ANSWER,
    CARD,
    FOCUS,
    LAST,
    MESSAGE,
    QUESTION,
    READY,
    STOP,
    say,
    send,
)

SUN = ROOT / "examples" / "multimodal" / "sun.png"
NOTICE = "p.notice"
USER = "article[aria-label=You]"
SLOW_FILES = """const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) { setTimeout(() => read.call(this, file), 500); }; 0"""
REFUSE_ONCE = """const ask = window.fetch;
    window.fetch = async (...request) => {
        if (request[1]?.method !== "DELETE") return ask(...request);
        window.fetch = ask;
        return new Response("{}", { status: 503 });
    }; 0"""
# Press it as soon as there is a bar: a key from out here may come when the tools have ended.
ESCAPE = """new MutationObserver((_, watch) => {
    if (!document.querySelector("progress")) return;
    watch.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
}).observe(document.body, { subtree: true, childList: true })"""
PASTED = {
    # What the box for messages, or the conversation, is given -> whether the page takes it from the browser.
    "'paste', '#message', ['file', 'pasted.png']": True,
    "'paste', '#message', ['file', 'pasted.png'], ['text/html', '<img>']": True,
    "'paste', '#message', ['file', 'table.png'], ['text/html', '<table>'], ['text/plain', '1']": False,
    "'drop', 'main', ['file', 'dropped.png']": True,
    "'drop', 'main', ['text/plain', 'words']": False,
}
GIVE = """((what, where, ...items) => {
    const data = new DataTransfer();
    for (const [type, text] of items) data.items.add(...(type === "file" ? [new File(["x"], text)] : [text, type]));
    const about = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
    const event = what === "paste" ? new ClipboardEvent(what, about) : new DragEvent(what, about);
    return !document.querySelector(where).dispatchEvent(event);
})(%s)"""
NUMBERS = " ".join(str(number) for number in range(1, 301))


def opened(page: Browser, card: str) -> list[str]:
    """Open a tool's card; its arguments and its result."""
    page.click(f"{card} >> summary")
    page.see(f"{card} >> pre")
    return page.texts(f"{card} >> pre")


# ---------------------------------------------------------------- what an agent shows


def test_calls_with_progress_state_and_a_chart(chat: Browser) -> None:
    chat.watch(".progress")
    say(chat, "What is the weather in Berlin, Oslo and Paris?")
    chat.resize(1280, 1150)
    chat.picture("chat")

    assert [text.split("\n")[1] for text in chat.texts(f"{CARD} >> summary")] == ["Berlin", "Oslo", "Paris"]
    assert '"celsius": 12' in opened(chat, f"{CARD}:has-text('Oslo')")[1]
    assert any("station 2 of 5" in said for said in chat.said()), "the bars move"
    assert len(chat.texts(".progress.done")) == 3
    chat.see("figure.chart svg .recharts-bar-rectangle")
    assert [text.split() for text in chat.texts("figure.chart tbody tr")] == [
        ["Berlin", "21"],
        ["Oslo", "12"],
        ["Paris", "18"],
    ]
    assert chat.texts(".markdown th") == ["City", "Temperature", "Sky"]
    chat.hover("button[aria-label='State and events']")
    tip = "getComputedStyle(document.querySelector('[aria-label=\"State and events\"]'), '::after').content"
    assert "State and events" in chat.evaluate(tip)
    chat.click("button[aria-label='State and events']")
    assert '"Oslo": 12' in chat.text("pre[aria-label=State]")
    chat.click("button:has-text('Events (')")
    assert any("TOOL_CALL_RESULT" in text for text in chat.texts("ol[aria-label=Events] > li"))
    chat.fill("input[aria-label='Filter events']", "finished")
    chat.click("ol[aria-label=Events] summary:has-text('STEP_FINISHED')")
    say(chat, "hello")
    assert chat.value("input[aria-label='Filter events']") == "finished"
    chat.see("ol[aria-label=Events] details[open] pre")
    assert (chat.attribute("a:has-text('Open the inspector')", "href") or "").endswith("/inspector/")


def test_markdown_streams_behind_folded_reasoning(chat: Browser) -> None:
    assert chat.texts("ul[aria-label=Examples] button") == ["Quarterly report", "Make a plan"]
    chat.watch(".markdown")
    chat.click("button:text-is('Quarterly report')")
    chat.see(READY)

    assert len(chat.said()) > 5, "it streamed"
    assert chat.attribute("details.reasoning", "open") is None
    chat.click("details.reasoning summary")
    chat.see("details.reasoning .markdown:has-text('in a table, and the code')")
    chat.see(".markdown h2:has-text('Footnotes')")
    assert chat.texts(".markdown h2") == ["Quarterly report", "Footnotes"]
    assert chat.text(".markdown tbody tr >> nth=0").split() == ["North", "120", "152", "+27", "%"]
    chat.see("figure.code .hljs-keyword:has-text('def')")
    chat.evaluate("document.querySelector('.scroll').scrollTop = 0")
    chat.press("button[aria-label='To the newest message']", "Enter")
    chat.miss("button[aria-label='To the newest message']")
    assert chat.evaluate(FOCUS) == "Message"
    chat.see("button[aria-label='Copy code']")
    assert chat.texts(".markdown ol ul li") == ["no adjustment for inflation", "NaN rows are dropped"]
    assert chat.attribute(".markdown a", "rel") == "noreferrer noopener"
    address = chat.evaluate("location.href")
    chat.click(".markdown sup a")
    assert chat.evaluate("location.href") == address, "a footnote is no conversation"


def test_a_subagent_is_inside_of_its_call(chat: Browser) -> None:
    say(chat, "Ask the librarian")
    card = f"{CARD}:has-text('librarian') >> nth=-1"
    chat.click(f"{card} >> summary >> nth=0")
    chat.see(f"{card} >> strong:has-text('six shelves')")
    assert chat.texts(f"{ANSWER} > .markdown") == ["Done: I looked through six shelves and found 120 books on that."]


def test_a_plan_a_table_and_a_picture(chat: Browser) -> None:
    say(chat, "Make a plan")
    assert chat.texts("section[aria-label='Write the report'] li >> nth=0") == ["read the brief\n, done"]
    assert chat.attribute("a.file", "download") == "report.csv"
    assert (chat.attribute("a.file", "href") or "").startswith("data:text/csv;base64,")
    chat.see("img.picture[alt=cover]")
    assert chat.evaluate("document.querySelector('img.picture').naturalWidth") == 64
    chat.evaluate("location.reload()")
    chat.see("img.picture[alt=cover]")
    assert chat.texts("section[aria-label='Write the report'] li >> nth=3") == ["review\n, done"]


def test_failures_are_in_sight(chat: Browser) -> None:
    say(chat, "Read a file")
    assert "no such file: budget.csv" in chat.text(f"{CARD}.failed[open] pre.wrong")
    say(chat, "crash")
    chat.see(".card.error[role=alert] >> text=AGENT_ERROR")
    chat.click("button:has-text('Try again')")
    chat.see(".card.error[role=alert]")
    say(chat, "hello")
    assert chat.texts(".card.error[role=alert]") == []


def test_files_go_to_the_agent(chat: Browser, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("remember the milk")
    chat.upload("input[aria-label=Files]", SUN)
    for given, taken in PASTED.items():
        assert chat.evaluate(GIVE % given) is taken, given
    chat.see("ul.files li >> nth=3")
    assert chat.texts("ul.files li") == ["sun.png", "pasted.png", "pasted.png", "dropped.png"]
    for _ in range(3):
        chat.press("ul.files li:last-child button", "Enter")
    chat.evaluate(SLOW_FILES)
    chat.upload("input[aria-label=Files]", notes)
    send(chat, "What is this?")
    chat.see("text=Reading the file")
    assert chat.texts(USER) == []
    chat.see("button[aria-label='Remove notes.txt']")
    chat.press(MESSAGE, "Enter")
    chat.see(USER)
    chat.see(READY)
    assert "a file of type image/png" in chat.text(LAST)
    assert "a file of type text/plain" in chat.text(LAST)
    chat.see(f"{USER} img")
    chat.evaluate("location.reload()")
    chat.see(f"{USER} img")


# ---------------------------------------------------------------- stop, edit, regenerate

SECOND_CLICK = "new MouseEvent('click', {bubbles: true, detail: 2})"
"""Of a double click on Send, in whose place Stop is."""


@pytest.mark.parametrize("how", ["mouse", "Enter", "Escape"])
def test_stop(chat: Browser, how: str) -> None:
    send(chat, "count")
    chat.see(f"{ANSWER}:has-text(' 20 ')")
    if how == "mouse":
        chat.evaluate(f"document.querySelector({STOP!r}).dispatchEvent({SECOND_CLICK})")
        chat.see(f"{ANSWER}:has-text(' 30 ')")
        chat.click(STOP)
    elif how == "Enter":
        chat.press(STOP, "Enter")
    else:
        chat.press("input[type=search]", "Escape")
        assert chat.attribute(STOP, "disabled") is None, "this Escape is not for the run"
        chat.press(MESSAGE, "Escape")
    chat.see(READY)
    assert not chat.text(LAST).endswith("300")
    chat.see(f"{NOTICE}:has-text('The answer was stopped.')")
    chat.see("main > [role=status]:has-text('The answer was stopped.')")
    assert how == "mouse" or chat.evaluate(FOCUS) == "Message"
    if how == "mouse":
        chat.evaluate("location.reload()")
        chat.see("main > [role=status]:has-text('The answer was stopped.')")
        chat.click("button:text-is('Try again')")
        chat.see(f"{ANSWER}:has-text(' 20 ')")
        chat.miss(NOTICE)
        chat.click(STOP)
        chat.see(NOTICE)


def test_what_a_stop_ends_is_not_finished(chat: Browser) -> None:
    chat.evaluate(ESCAPE)
    send(chat, "What is the weather in Berlin, Oslo and Paris?")
    chat.see(".progress.ended:has-text('not finished')")
    chat.miss("progress")


def test_messages_are_edited_and_answers_made_again(chat: Browser) -> None:
    say(chat, "Read a file")
    say(chat, "Quarterly report")
    chat.click("button[aria-label=Regenerate]")
    chat.see(READY)
    assert len(chat.texts(".markdown h2:has-text('Quarterly report')")) == 1

    chat.press("button[aria-label='Edit message'] >> nth=0", "Enter")
    chat.key("Escape")
    assert chat.evaluate("document.activeElement.ariaLabel") == "Edit message"
    chat.click("button[aria-label='Edit message'] >> nth=0")
    chat.fill(f"{USER} textarea", "weather in Lisbon")
    chat.evaluate("location.reload()")
    chat.see(f"{USER} textarea")
    assert chat.value(f"{USER} textarea") == "weather in Lisbon"
    chat.press(f"{USER} textarea", "Enter")
    assert chat.evaluate(FOCUS) == "Message"
    chat.see(f"{ANSWER}:has-text('27 °C')")
    chat.see(READY)
    assert chat.texts(f"{USER} .bubble") == ["weather in Lisbon"]


# ---------------------------------------------------------------- threads, reloads, windows


def test_threads_are_found_renamed_and_deleted(chat: Browser) -> None:
    row = "nav li:has(a)"
    say(chat, "Where are the zebras?")
    chat.click("button:has-text('New chat')")
    chat.see("text=What can I do for you?")
    assert chat.value(MESSAGE) == "", "what was sent is no draft any more"
    say(chat, "Where are the lions?")
    assert chat.text(f"{row} a >> nth=0").startswith("Where are the lions?")

    chat.fill(MESSAGE, "And the cubs?")
    chat.fill("input[type=search]", "zebra")
    chat.miss(f"{row}:has-text('lions')")
    assert chat.evaluate("document.title") == "Where are the lions? · Showcase"
    chat.hover(f"{row}:has-text('zebras')")
    chat.click("button[aria-label='Rename Where are the zebras?']")
    chat.fill("input[aria-label=Title]", "Striped zebra horses")
    chat.press("input[aria-label=Title]", "Enter")
    chat.click(f"{row} a:has-text('Striped zebra horses')")
    chat.see(f"{USER}:has-text('Where are the zebras?')")
    assert chat.value(MESSAGE) == ""
    chat.fill("input[type=search]", "")
    chat.see(f"{row}:has-text('lions')")
    assert chat.evaluate("document.title") == "Striped zebra horses · Showcase"

    delete = "button[aria-label='Delete Striped zebra horses']"
    chat.hover(f"{row}:has-text('Striped')")
    chat.click(delete)
    chat.press("button:text-is('Keep')", "Enter")
    assert chat.evaluate(FOCUS) == "Delete Striped zebra horses"
    chat.evaluate(REFUSE_ONCE)
    chat.click(delete)
    chat.click("button:text-is('Delete')")
    chat.see("nav [role=alert]")
    chat.see(f"{USER}:has-text('Where are the zebras?')")
    chat.click("button:text-is('Delete')")
    chat.miss(f"{row}:has-text('Striped')")
    chat.see("text=What can I do for you?")
    chat.click(f"{row} a:has-text('lions')")
    chat.see(USER)
    assert chat.value(MESSAGE) == "And the cubs?", "what was not sent is still there"


RETURN = "document.dispatchEvent(new Event('visibilitychange'))"
AWAY = "window.ask = fetch; window.fetch = async () => new Response('', { status: 503 }); 0"


def test_a_server_that_was_away(chat: Browser, showcase: str) -> None:
    say(chat, "hello")
    conversation = chat.evaluate("location.hash")
    chat.click("button:has-text('New chat')")
    chat.evaluate(AWAY)
    chat.evaluate(f"location.hash = {conversation!r}; {RETURN}")
    for where in (".card.error", "nav [role=alert]"):
        chat.see(f"{where}:has-text('The server answered with 503.')")
    chat.evaluate("window.fetch = window.ask; 0")
    chat.see(ANSWER)
    for where in (".card.error", "nav [role=alert]"):
        chat.miss(where)
    chat.open(showcase)  # The client reports in the console what was refused.
    chat.see("nav li:has(a)")


def test_a_conversation_that_was_deleted_elsewhere(chat: Browser) -> None:
    delete = "fetch('threads/' + location.hash.split('/')[2], { method: 'DELETE' }).then(({ status }) => status)"
    nothing = f"{NOTICE}:has-text('The server has nothing of this conversation any more.')"
    say(chat, "hello")
    assert chat.evaluate(delete) == 200
    chat.evaluate(RETURN)
    chat.see(nothing)
    chat.click("button:has-text('New chat')")
    send(chat, "Book a flight")
    chat.fill(f"{QUESTION} input[type=date]", "2026-12-24")
    assert chat.evaluate(delete) == 200
    chat.click(f"{QUESTION} button:text-is('Send')")
    chat.see(nothing)
    chat.miss(QUESTION)
    assert chat.evaluate("Object.keys(sessionStorage)") == []


def test_a_reload_in_the_middle_of_an_answer_goes_on(chat: Browser) -> None:
    send(chat, "count")
    chat.see(f"{ANSWER}:has-text(' 40 ')")
    chat.evaluate("location.reload()")
    chat.see(STOP)
    chat.watch(f"{ANSWER} > .markdown")
    chat.see(READY)
    assert chat.texts(f"{ANSWER} > .markdown") == [NUMBERS]
    assert len(chat.said()) > 3, "it streamed"
    assert chat.texts(f"{USER} .bubble") == ["count"]


def test_two_tabs_of_one_conversation(chat: Browser, showcase: str) -> None:
    say(chat, "hello")
    chat.another(chat.evaluate("location.href"))
    chat.see(f"{ANSWER}:has-text('Say: weather')")
    send(chat, "count")
    chat.see(f"{ANSWER}:has-text(' 20 ')")
    chat.front(0)
    chat.see(f"{ANSWER}:has-text(' 30 ')")
    chat.see(READY)
    assert chat.text(f"{ANSWER} > .markdown >> nth=-1") == NUMBERS

    send(chat, "Pay Ada 50")
    chat.see(QUESTION)
    chat.front(1)
    chat.click(f"{QUESTION} button:text-is('Yes')")
    chat.see(f"{ANSWER}:has-text('Done: paid 50 € to Ada')")
    chat.front(0)
    chat.see(f"{ANSWER}:has-text('Done: paid 50 € to Ada')")
    chat.miss(QUESTION)

    chat.hover("nav li.current")
    chat.click("nav li.current button[aria-label^=Delete]")
    chat.click("button:text-is('Delete')")
    chat.see("text=What can I do for you?")
    chat.front(1)
    chat.see("text=What can I do for you?")
