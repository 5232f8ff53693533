"""What outlives a session, and what several agents share.

`LongTermMemory` learns from a session at its end and answers later ones; `Pool` lets agents hand each other items or
digests, and hear of corrections. Both are thin: the store decides who may see what.
"""

from __future__ import annotations

from foldaway.remembering.distil import distil
from foldaway.remembering.long_term import Learned, LongTermMemory
from foldaway.remembering.pool import Correction, Pool

__all__ = ["Correction", "Learned", "LongTermMemory", "Pool", "distil"]
