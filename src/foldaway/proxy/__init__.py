"""The proxy: any agent, one base URL. It stands between an agent and its model provider and manages the context.

Keys are passed on and neither stored nor logged. What it does not understand goes through unchanged.
"""

from __future__ import annotations

from foldaway.proxy.app import app_in_front_of, make_app
from foldaway.proxy.settings import ProxySettings

__all__ = ["ProxySettings", "app_in_front_of", "make_app"]
