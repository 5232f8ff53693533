"""The windows of common hosted models, in tokens.

Source: the public price list of litellm 1.110.2 (MIT), field `max_input_tokens` of the vendor's own entries; where a
vendor's entries differ, the smaller figure. Open models are left out: their window is what the server was started
with.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from foldaway.tokens.families import bare_name

_WINDOWS = MappingProxyType(
    {
        name: tokens
        for tokens, names in {
            8_192: "gpt-4",
            16_385: "gpt-3.5-turbo",
            128_000: "gpt-4-1106-preview gpt-4-0125-preview gpt-4-turbo gpt-4o gpt-4o-mini gpt-5-chat"
            " gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat"
            " gpt-5.3-codex-spark o1-mini",
            131_072: "deepseek-chat deepseek-reasoner grok-3 grok-3-mini",
            200_000: "o1 o1-pro o3 o3-mini o3-pro o4-mini"
            " claude-3-haiku claude-3-opus claude-3-5-haiku claude-3-5-sonnet claude-3-7-sonnet"
            " claude-sonnet-4 claude-opus-4 claude-opus-4-1 claude-haiku-4-5 claude-sonnet-4-5 claude-opus-4-5",
            256_000: "grok-4 grok-code-fast-1",
            272_000: "gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro gpt-5-codex gpt-5.1 gpt-5.1-codex gpt-5.1-codex-mini"
            " gpt-5.1-codex-max gpt-5.2 gpt-5.2-codex gpt-5.2-pro gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano",
            922_000: "gpt-5.4 gpt-5.4-pro gpt-5.5 gpt-5.5-pro gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna"
            " gpt-6-astra gpt-6-sol gpt-6-luna gpt-6.1-sol gpt-6.1-terra",
            1_000_000: "claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-5-5 claude-opus-4-6 claude-opus-4-7"
            " claude-opus-4-8 claude-opus-5 claude-opus-5-5 claude-haiku-5-5 claude-fable-5 claude-fable-5-1"
            " claude-mythos-5 claude-mythos-5-1 deepseek-v4-flash deepseek-v4-pro",
            1_047_576: "gpt-4.1 gpt-4.1-mini gpt-4.1-nano",
            1_048_576: "gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-3-pro gemini-3-flash"
            " gemini-3.1-pro gemini-3.5-flash gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash",
        }.items()
        for name in names.split()
    }
)

# What may follow a known name without making it another model: a date, "latest", "preview", a cloud's version.
_SUFFIX = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{6,8}|-\d{4}|-latest|-preview|-v\d+|[@:].*)$")


def context_window(model: str) -> int | None:
    """The most input tokens that this model takes; None when this release does not know the model.

    Dated and cloud names of a known model count as that model ("us.anthropic.claude-opus-4-5-20251101-v1:0"). A
    later version does not: "claude-opus-9" is unknown. "[1m]" behind a name asks for the million-token variant.
    """
    name = bare_name(model)
    if name.endswith("[1m]"):
        return 1_000_000
    while True:
        if name in _WINDOWS:
            return _WINDOWS[name]
        shorter = _SUFFIX.sub("", name)
        if shorter == name:
            return None
        name = shorter
