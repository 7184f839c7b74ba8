"""A conversation with an agent that looks like a model, by OpenAI's package: each argument is a message of the user.

python examples/openai_model/ask.py "Please pay Ada 50" yes
"""

from __future__ import annotations

import os
import sys
from typing import Any

from openai import OpenAI


def main(said: list[str]) -> None:
    client = OpenAI(base_url=os.environ.get("BASE_URL", "http://127.0.0.1:8080/v1"), api_key="none")
    model = next(iter(client.models.list())).id
    messages: list[Any] = []
    for text in said:
        print(f"you: {text}\n{model}: ", end="", flush=True)
        messages.append({"role": "user", "content": text})
        answer = ""
        for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
            for choice in chunk.choices:
                answer += choice.delta.content or ""
                print(choice.delta.content or "", end="", flush=True)
        print()
        messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main(sys.argv[1:] or ["Please pay Ada 50", "yes"])
