"""Agents that run without a key: ``yai-nexus-agentkit run examples/demo/agent.py:graph "hello"``."""
