"""Model-made digests for free text: beside the loop, never in its way.

A `DigestWorker` has a background thread in which a `Writer` asks a model for digests, checks what comes back, and
keeps what passes until the session's own thread hands it in. Whatever goes wrong, the deterministic digest stays.
"""

from __future__ import annotations

from foldaway.asking import ChatClient, MessagesClient, Retry
from foldaway.digesting.incremental import Running, RunningDigest
from foldaway.digesting.worker import DigestWorker, Failure
from foldaway.digesting.writer import Writer

__all__ = ["ChatClient", "DigestWorker", "Failure", "MessagesClient", "Retry", "Running", "RunningDigest", "Writer"]
