"""From a model's name to its counter.

OpenAI's models are counted exactly, the others estimated; see `Estimate` for the formula. Its figures were fitted in
November 2026 on 25 texts: tool output, code, JSON and prose of recorded agent sessions, tables, digits and hex, and
manual pages in 12 languages. Reference counts were the vendors' own vocabularies for Llama 3, DeepSeek V3, Gemma 3
(for Gemini, whose own is not published), Mistral v3, Qwen 3, GLM 4 and Kimi K2, and for Claude a reconstruction of
its tokenizer (ctok 1.3.0). The fit is the smallest one that does not fall below the reference on Chinese, Japanese,
Korean and agents' text. `margin` is how far it fell short on what is left (Turkish, German); text all in capitals,
emoji and long runs of one letter can go beyond it.

Checked against the usage that providers reported, as growth from call to call: 12 sessions with DeepSeek came to 0.97
to 1.05 of the estimate, 24 with Claude 3 to 4.6 to 0.92 to 1.07, one with Claude 4.8 to 1.02. Claude's figure for plain
text was lowered by 4 to 5 % to that end.
"""

from __future__ import annotations

import re
from functools import cache

from foldaway.protocols import TokenCounter
from foldaway.tokens.counters import Estimate, Memo, OpenAi, PlainEstimate

CLAUDE = Estimate(name="claude", text=1.2, narrow=0.07, indic=0.25, wide=0.5, margin=0.15)
"""Claude 3 to 4.6."""
CLAUDE_NEW = Estimate(name="claude-4.7", text=1.5, narrow=0.02, indic=0.11, wide=0.22, margin=0.2)
"""Claude 4.7 and later, whose tokenizer finds a third more tokens in the same text."""

# In this order: a distilled model ("deepseek-r1-distill-qwen-7b") has the tokenizer of what it was made from.
_ESTIMATES: tuple[tuple[str, Estimate], ...] = (
    ("llama", Estimate(name="llama", text=1.03, narrow=0.04, indic=0.18, wide=0.03, margin=0.06)),
    ("qwen|qwq", Estimate(name="qwen", text=1.03, digit=0.65, narrow=0.16, indic=0.75, wide=0.23, margin=0.05)),
    ("deepseek", Estimate(name="deepseek", text=1.08, narrow=0.07, indic=0.16, wide=0.03, margin=0.15)),
    ("gemini|gemma", Estimate(name="gemini", text=1.21, digit=0.56, margin=0.1)),
    (
        "mistral|mixtral|codestral|devstral|magistral|ministral|pixtral",
        Estimate(name="mistral", text=1.06, digit=0.63, narrow=0.05, indic=0.12, wide=0.25, margin=0.12),
    ),
    ("glm", Estimate(name="glm", text=1.02, digit=0.26, narrow=0.02, indic=0.8, wide=0.24, margin=0.06)),
    ("kimi|moonshot", Estimate(name="kimi", text=1.02, narrow=0.12, indic=0.31, wide=0.28, margin=0.15)),
)

UNKNOWN = Estimate(name="unknown", text=1.1, digit=0.65, narrow=0.23, indic=0.8, wide=0.45, margin=0.15)
"""Not below any of the families above but Claude's, on the text of agents and on CJK."""

_LATER_OPENAI = OpenAi(exact=False, margin=0.1)
_O200K = re.compile(r"(chatgpt-)?gpt-(4o|4\.1|4\.5|5|oss)|o[134]([^a-z0-9]|$)|codex|computer-use")
_CL100K = re.compile(r"gpt-(4|3\.5|35)([^0-9.]|$)|text-embedding-(3|ada-002)|(davinci|babbage)-002")
_LATER = re.compile(r"(chatgpt|gpt)-")
_CLAUDE_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")


def get_counter(model: str = "", format: str = "") -> TokenCounter:
    """The counter for a model, by its name: exact for OpenAI's, an estimate for all others. Never raises.

    Prefixes of gateways and clouds ("openrouter/anthropic/", "us.anthropic.", "ft:") are looked through. Without a
    model the format decides: Anthropic messages are taken for a Claude of the newer, costlier kind, Responses for
    OpenAI, chat for a model nobody knows. `model="plain"` is the tokenizer-free estimate. The same arguments give
    the same object, shared by the process and safe between threads.
    """
    return _counter(*_resolve(model, format))


def bare_name(model: str) -> str:
    """The model's own name in lower case: without the prefixes of gateways, clouds and fine-tuning."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    return re.sub(r"^(?:ft:|(?:[a-z]{2,6}\.)?(?:anthropic|openai|meta|mistral|deepseek|qwen|amazon)\.)", "", name)


def claude_is_new(name: str) -> bool:
    """Whether a bare Claude name is of version 4.7 or later; a name that does not tell counts as new."""
    found = _CLAUDE_VERSION.search(name)
    return found is None or (int(found[1]), int(found[2] or 0)) >= (4, 7)


def _resolve(model: str, format: str) -> tuple[str, str]:
    """Kind and name of the counter: the key under which it is shared."""
    name = bare_name(model)
    if not name:
        by_format = {"anthropic_messages": CLAUDE_NEW.name, "openai_responses": "o200k_base"}
        return by_format.get(format, UNKNOWN.name), ""
    if name == "plain":
        return "plain", ""
    if "claude" in name:
        return (CLAUDE_NEW if claude_is_new(name) else CLAUDE).name, ""
    if _O200K.match(name):
        return "o200k_base", ""
    if _CL100K.match(name):
        return "cl100k_base", ""
    if _LATER.match(name):
        return "o200k_base", "later"
    for pattern, estimate in _ESTIMATES:
        if re.search(pattern, name):
            return estimate.name, ""
    return UNKNOWN.name, ""


@cache
def _counter(name: str, variant: str) -> TokenCounter:
    if name == "plain":
        return PlainEstimate()
    if variant == "later":
        return Memo(_LATER_OPENAI)
    if name in ("o200k_base", "cl100k_base"):
        return Memo(OpenAi(name))
    return Memo(_BY_NAME[name])


_BY_NAME = {estimate.name: estimate for estimate in (CLAUDE, CLAUDE_NEW, UNKNOWN, *(e for _, e in _ESTIMATES))}
