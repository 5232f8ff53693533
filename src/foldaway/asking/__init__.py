"""Asking a model over HTTP: for parts that work beside the loop, never for the loop itself. Standard library only."""

from __future__ import annotations

from foldaway.asking.chat import ChatClient
from foldaway.asking.client import Asker, Retry
from foldaway.asking.jobs import Jobs
from foldaway.asking.messages import MessagesClient

__all__ = ["Asker", "ChatClient", "Jobs", "MessagesClient", "Retry"]
