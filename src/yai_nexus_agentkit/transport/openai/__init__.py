"""Pure. The wire of OpenAI's chat completions: an agent as a model."""
