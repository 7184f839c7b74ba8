"""Checks an OpenAI-compatible chat endpoint with LiteLLM: whole, streamed, asynchronous, tools, exceptions.

    python verify_litellm.py http://127.0.0.1:8080/v1 --model my_agent [--bad-key wrong]

One line per check; exit code 0 when all pass. The agent under test knows the words of tests/support/errand_words.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch the prices of models

import litellm

litellm.telemetry, litellm.suppress_debug_info = False, True
failures = 0


def check(name: str, ok: object, detail: object = "") -> None:
    global failures
    failures += not ok
    print(f"{'ok  ' if ok else 'FAIL'} litellm: {name}" + ("" if ok else f": {str(detail)[:400]}"), flush=True)


def raised(kind: type[Exception], call) -> bool:
    try:
        call()
    except kind:
        return True
    except Exception as error:
        print(f"     {type(error).__name__}: {error}")
    return False


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("--model", required=True)
    parser.add_argument("--bad-key")
    parser.add_argument("--tools", action="store_true")
    args = parser.parse_args()
    common = {"model": f"openai/{args.model}", "api_base": args.base_url, "api_key": "key", "num_retries": 0, "max_retries": 0}

    def ask(text, **more):
        messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
        return litellm.completion(**{**common, "messages": messages, **more})

    hello = "Hello from the agent, this is one answer."
    whole = ask("hello")
    check("whole: text, end and usage", whole.choices[0].message.content.strip() == hello and whole.choices[0].finish_reason == "stop" and whole.usage.total_tokens > 0, whole)
    chunks = list(ask("hello", stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    check("streamed: the same text", text.strip() == hello, text)
    built = litellm.stream_chunk_builder(chunks)
    check("streamed: put together, with usage", built.choices[0].message.content.strip() == hello and built.usage.total_tokens > 0, built)
    thought = ask("think").choices[0].message
    check("reasoning beside the text", thought.content.strip() == "Thought about it." and (getattr(thought, "reasoning_content", "") or "").strip() == "Let me see now.", thought)
    tool = {"type": "function", "function": {"name": "confirm", "parameters": {"type": "object", "properties": {"question": {"type": "string"}}}}}
    for stream in (False, True):
        asked = ask("ask", tools=[tool], stream=stream)
        message = (litellm.stream_chunk_builder(list(asked)) if stream else asked).choices[0].message
        [call] = message.tool_calls
        check(f"a call of a tool, stream={stream}", call.function.name == "confirm" and json.loads(call.function.arguments) == {"question": "sure?"}, message)
        messages = [{"role": "user", "content": "ask"}, message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "maybe"}]
        check(f"its result, stream={stream}", "maybe" in ask(messages, tools=[tool]).choices[0].message.content)

    async def several():
        answers = await asyncio.gather(*(litellm.acompletion(**common, messages=[{"role": "user", "content": "hello"}], user="u") for _ in range(5)))
        return [answer.choices[0].message.content.strip() for answer in answers]

    check("five at once", asyncio.run(several()) == [hello] * 5)
    check("an unknown model: NotFoundError", raised(litellm.NotFoundError, lambda: ask("hello", model="openai/no-such-model")))
    check("no messages: BadRequestError", raised(litellm.BadRequestError, lambda: ask([])))
    check("a failing agent: InternalServerError", raised(litellm.InternalServerError, lambda: ask("fail")))
    check("while streaming: an error of the stream", raised(litellm.exceptions.MidStreamFallbackError, lambda: list(ask("fail", stream=True))))
    if args.bad_key:
        check("a bad key: AuthenticationError", raised(litellm.AuthenticationError, lambda: ask("hello", api_key=args.bad_key)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
