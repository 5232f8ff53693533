from __future__ import annotations

import pytest

from foldaway.compressors._html import to_text
from foldaway.compressors.base import Hint
from foldaway.compressors.web import Web

PAGE = """<!doctype html><html><head><title>Rates &amp; fees</title>
<meta name="description" content="What it costs"><style>p { color: red }</style>
<script>var secret_id = 991;</script></head><body>
<nav><a href="/home">Home</a></nav><!-- hidden_note -->
<h2>Plans</h2><p>The <b>basic</b> plan costs 12.50&nbsp;EUR. See <a href="/plans?id=77">all plans</a>.</p>
<ul><li>one user</li><li>2 GB</li></ul>
<table><tr><th>plan</th><th>price</th></tr><tr><td>basic</td><td>12.50</td></tr></table>
<pre>pip install rates
rates --all</pre><img alt="price list" src="x.png">
<footer>imprint</footer></body></html>"""


@pytest.mark.parametrize(
    "line",
    [
        "# Rates & fees",
        "What it costs",
        "## Plans",
        "- one user",
        "| plan | price",
        "| basic | 12.50",
        "pip install rates",
        "rates --all",
        "[image: price list]",
    ],
)
def test_words_and_their_order_are_read(line: str) -> None:
    assert line in [text.strip() for text in to_text(PAGE).split("\n")]


def test_links_keep_their_address() -> None:
    assert "See [all plans](/plans?id=77)." in to_text(PAGE)


@pytest.mark.parametrize("gone", ["secret_id", "color", "hidden_note", "Home", "imprint", "<"])
def test_scripts_styles_comments_and_chrome_are_left_out(gone: str) -> None:
    assert gone not in to_text(PAGE)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("<p>open <b>never closed", "open never closed"),
        ("<a href='x\">y'>z</a> w", '[z](x">y) w'),
        ("<!-- never closed <p>text", "text"),
        ("&lt;p&gt; &#65;&nbsp;&bogus;", "<p> A &bogus;"),
        ("", ""),
    ],
)
def test_broken_markup_is_taken_as_it_comes(source: str, text: str) -> None:
    assert to_text(source).strip().removeprefix("-- never closed").strip() == text


def test_a_page_that_fits_as_text_is_shown_whole() -> None:
    digest = Web().digest(PAGE, Hint(), 500)
    assert digest.text == to_text(PAGE)
    assert digest.lost == "markup, scripts and navigation"


def test_pages_are_told_from_code_that_mentions_tags() -> None:
    assert Web().matches(PAGE, Hint()) > 0.9
    assert Web().matches("const x = '<div>' + name + '</div>'\nreturn x\n", Hint()) < 0.5
