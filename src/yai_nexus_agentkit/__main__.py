"""Edge. ``python -m yai_nexus_agentkit``: the command line."""

from __future__ import annotations

from yai_nexus_agentkit.cli import main

raise SystemExit(main())
