"""Vectors from an endpoint on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from foldaway.asking.client import Retry
from foldaway.errors import AskError
from foldaway.retrieval.endpoint import BATCH, EndpointEmbedder
from foldaway.testing.endpoint import Endpoint, serving

KEY = "sk-not-a-real-key"


def vectors(*rows: list[float]) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        yield made


def embedder(endpoint: Endpoint) -> EndpointEmbedder:
    return EndpointEmbedder(
        url=endpoint.url, model="tiny", key=KEY, dims=2, timeout_seconds=5, retry=Retry(attempts=2, backoff_seconds=0.0)
    )


def test_vectors_come_back_in_order_and_of_unit_length(endpoint: Endpoint) -> None:
    rows = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]
    endpoint.answers = [(200, json.dumps({"data": rows}).encode(), {})]
    one, two = embedder(endpoint).embed(["a", "b"])
    assert list(one) == pytest.approx([0.6, 0.8])
    assert list(two) == [0.0, 1.0]
    assert endpoint.paths == ["/v1/embeddings"]
    assert endpoint.requests[0]["input"] == ["a", "b"]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_many_texts_go_in_batches_and_blank_ones_not_at_all(endpoint: Endpoint) -> None:
    endpoint.answers = [(200, vectors(*[[1.0, 0.0]] * BATCH), {}), (200, vectors([0.0, 1.0]), {})]
    found = embedder(endpoint).embed([*(f"t{n}" for n in range(BATCH)), " ", "last"])
    assert [len(request["input"]) for request in endpoint.requests] == [BATCH, 1]
    assert list(found[-2]) == [0.0, 0.0]
    assert list(found[-1]) == [0.0, 1.0]


def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.answers = [(429, b"{}", {"Retry-After": "0"}), (200, vectors([1.0, 0.0]), {})]
    assert list(embedder(endpoint).embed(["a"])[0]) == [1.0, 0.0]


def test_one_text_that_is_refused_does_not_keep_the_others_out(endpoint: Endpoint) -> None:
    good: tuple[int, bytes, dict[str, str]] = (200, vectors([1.0, 0.0]), {})
    endpoint.answers = [(400, b"too long", {}), good, (400, b"too long", {}), good]
    found = embedder(endpoint).embed(["a", "poison", "c"])
    assert [any(vector) for vector in found] == [True, False, True]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((401, b"bad key " + KEY.encode(), {}), "status"),
        ((200, b"not json", {}), "protocol"),
        ((200, b'{"data": []}', {}), "protocol"),
        ((200, vectors([1.0, 0.0, 0.0]), {}), "protocol"),
        ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}', {}), "protocol"),
    ],
)
def test_what_is_no_answer_is_an_error_without_the_key(
    endpoint: Endpoint, answer: tuple[int, bytes, dict[str, str]], kind: str
) -> None:
    endpoint.answers = [answer]
    with pytest.raises(AskError) as caught:
        embedder(endpoint).embed(["a"])
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)
    assert KEY not in repr(embedder(endpoint))


def test_vectors_are_kept_under_model_and_length(endpoint: Endpoint) -> None:
    assert embedder(endpoint).name == "endpoint-tiny-2"
