"""A made-up report in plain words with a digest of it: for tests of what a model writes."""

from __future__ import annotations

REPORT = "\n\n".join(
    f"Chapter {n}. The harbour office of Brakwick moved its tide gauge to pier {n * 7} because the older post had "
    f"drifted by {n * 3} millimetres. Engineers compared the readings with the lighthouse ledger and agreed that "
    f"berth {n + 20} keeps its clearance. Open question {n}: whether the dredging contract covers the northern channel."
    for n in range(1, 31)
)
"""About 9,500 characters, 30 chapters."""
DIGEST = (
    "The harbour office of Brakwick moved its tide gauge because the older post had drifted; engineers compared the "
    "readings with the lighthouse ledger. In chapter 3 the gauge went to pier 21, in chapter 28 to pier 196, and berth "
    "48 keeps its clearance. Open: whether the dredging contract covers the northern channel."
)
"""States nothing that `REPORT` lacks."""
REPORT_ZH = "\n".join(
    f"第{n}章。港口办公室把验潮仪移到了{n * 7}号码头，因为旧桩位已经偏移了{n * 3}毫米。"
    "工程师们把读数与灯塔日志作了比较，泊位的水深保持不变。"
    for n in range(1, 31)
)
DIGEST_ZH = (
    "港口办公室把验潮仪移到了21号码头，因为旧桩位已经偏移。工程师们把读数与灯塔日志作了比较，泊位的水深保持不变。"
)
