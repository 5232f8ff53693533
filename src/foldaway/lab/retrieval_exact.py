"""Exact things found exactly: queries for an id, a path or a code that one document alone holds.

The literals are taken from the documents of the sets, and from made-up Chinese records; a ranker passes where that one
document comes first. Which document holds a literal is decided here by plain search, not by the retriever's reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from zlib import crc32

from foldaway.lab.retrieval_sets import Doc, Query, RetrievalSet
from foldaway.linking.anchors import AnchorKind, anchors

MOST_QUERIES = 150
"""A set; spread evenly over its literals."""
LEAST_CHARS = 5
_ASKED = ("{}", "Where does {} come up?", "what do we know about {}, please")
_ASKED_CJK = ("{}", "{}在哪里提到过？", "请问{}是什么情况")


def exact_set(one: RetrievalSet) -> RetrievalSet:
    """Queries for literals that one document of their scope alone holds."""
    found = [(doc, literal) for doc in one.docs for literal in _literals(doc.text)]
    # A fixed shuffle first: neighbouring literals are of one document and one form.
    spread = sorted(found, key=lambda pair: (crc32(f"{pair[0].id} {pair[1]}".encode()), pair[0].id, pair[1]))
    holders = _Holders(one.docs)
    queries: list[Query] = []
    for doc, literal in spread:
        if len(queries) == MOST_QUERIES:
            break
        if holders.of(literal, doc.scope) == {doc.id}:
            text = _ASKED[len(queries) % len(_ASKED)].format(literal)
            queries.append(Query(text=text, gold=frozenset({doc.id}), scope=doc.scope, group=literal))
    return RetrievalSet(name=f"{one.name}, literals", docs=one.docs, queries=tuple(queries))


def _literals(text: str) -> Iterator[str]:
    for literal, kind in anchors(text).items():
        strong = kind in (AnchorKind.URL, AnchorKind.FILE, AnchorKind.ID) or (
            kind is AnchorKind.NAME and "_" in literal
        )
        path = kind is AnchorKind.PATH and (literal.count("/") > 1 or "." in literal)
        number = kind is AnchorKind.NUMBER and sum(sign.isdigit() for sign in literal) >= 6
        if len(literal) >= LEAST_CHARS and (strong or path or number):
            yield literal


class _Holders:
    """Which documents hold a literal, not as a part of a longer word or number."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self._words: dict[tuple[str, str], list[Doc]] = {}
        for doc in docs:
            for word in dict.fromkeys(re.findall(r"\w+", doc.text)):
                self._words.setdefault((doc.scope, word), []).append(doc)

    def of(self, literal: str, scope: str) -> set[str]:
        rarest = min((self._words.get((scope, word), []) for word in re.findall(r"\w+", literal)), key=len, default=[])
        bounded = re.compile(rf"(?<![^\W_]){re.escape(literal)}(?![^\W_])", re.IGNORECASE)
        return {doc.id for doc in rarest if bounded.search(doc.text)}


_TOPICS = ("退款申请", "物流查询", "发票补开", "会员升级", "地址变更", "质量投诉", "合同审批", "设备报修")
_PLACES = ("北京", "上海", "广州", "成都", "杭州", "武汉", "西安", "南京", "长沙", "厦门")
_TITLES = ("春季推广方案", "年度预算说明", "接口迁移手册", "安全巡检记录", "新人培训大纲", "供应商名录")


def chinese_set(records: int = 120) -> RetrievalSet:
    """Made-up Chinese records, written without blanks around their ids; asked for by order number, title or path."""
    docs: list[Doc] = []
    queries: list[Query] = []
    for n in range(records):
        topic, place = _TOPICS[n % len(_TOPICS)], _PLACES[n % len(_PLACES)]
        title = f"{place}{_TITLES[n % len(_TITLES)]}第{n // 30 + 1}版"
        order, path = f"DD-{2024 + n % 3}-{1000 + 7 * n}", f"/数据/{place}/{n:03}.csv"
        text = (
            f"{place}客户的{topic},订单号{order}已登记。参考《{title}》,附件在{path},客服{n % 17}号处理,电话139{n:08}。"
        )
        docs.append(Doc(id=f"记录{n}", text=text, source=f"工单{n}"))
        literal = (order, f"《{title}》", f"139{n:08}")[n % 3]
        if sum(literal in doc.text for doc in docs) == 1:
            asked = _ASKED_CJK[n // 3 % len(_ASKED_CJK)].format(literal)
            queries.append(Query(text=asked, gold=frozenset({f"记录{n}"}), group=literal))
    unique = [q for q in queries if sum(q.group in doc.text for doc in docs) == 1]
    return RetrievalSet(name="chinese records, literals", docs=tuple(docs), queries=tuple(unique))
