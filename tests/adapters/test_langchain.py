"""LangChain's agents with Foldaway's middleware, played with LangChain's own fake chat model."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from foldaway.testing.adapter_contract import AdapterContract, Boom
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import ARGUMENT, SYSTEM, TOOL_DESCRIPTION, Brain, look, looking

pytest.importorskip("langchain", reason="langchain is not installed; make adapters sets .venv-adapters up")
warnings.filterwarnings("ignore", category=DeprecationWarning)

from langchain.agents import create_agent  # noqa: E402
from langchain_core.exceptions import ContextOverflowError  # noqa: E402
from langchain_core.language_models.chat_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402

from foldaway.adapters._base import ContextWarning  # noqa: E402
from foldaway.adapters._langchain_messages import LangChainMessages  # noqa: E402
from foldaway.adapters.langchain import FoldawayMiddleware  # noqa: E402
