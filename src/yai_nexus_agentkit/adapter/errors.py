"""The errors under their documented import path; the tree itself is in `yai_nexus_agentkit.errors`."""

from yai_nexus_agentkit.errors import *  # noqa: F403
from yai_nexus_agentkit.errors import __all__  # noqa: F401
