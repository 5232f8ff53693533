"""Answers of a model on their way to the client: recalls are taken out of them, everything else goes on."""

from __future__ import annotations

from collections.abc import Mapping

from foldaway.proxy.answers.anthropic import AnthropicAnswers
from foldaway.proxy.answers.base import Answers, Listening, Recall, Whole
from foldaway.proxy.answers.openai_chat import ChatAnswers
from foldaway.proxy.answers.responses import ResponsesAnswers

BY_FORMAT: Mapping[str, Answers] = {
    "openai_chat": ChatAnswers(),
    "anthropic_messages": AnthropicAnswers(),
    "openai_responses": ResponsesAnswers(),
}

__all__ = ["BY_FORMAT", "Answers", "Listening", "Recall", "Whole"]
