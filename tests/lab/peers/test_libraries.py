"""Each installed library on a made-up session: all of them run in `.venv-peers` (`make test-peers`)."""

from __future__ import annotations

import pytest

from foldaway.lab.peers import _PEERS, PeerSession, peer_names, peer_session, peer_versions
from foldaway.lab.replay import replay
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.testing.histories import FORMATS, Writer, prose

INSTALLED = [name for name in peer_names() if peer_versions([name])[_PEERS[name].distribution]]
if not INSTALLED:
    pytest.skip("no peer library is installed; `make test-peers` runs these", allow_module_level=True)

# What the libraries warn about among themselves is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def long_session(format: str) -> Recorded:
    """Twelve exchanges of 150 words and more in four turns of the user: some 5,000 tokens."""
    writer = Writer(format)
    for turn in range(4):
        writer.user(f"Task {turn}: look into part {turn}.")
        for n in range(6):
            seed = turn * 6 + n
            writer.call("read_file", prose(150, seed), thought=f"Part {seed} next.", path=f"src/part_{n % 4}.py")
        writer.say(f"Part {turn} is done.")
    return Recorded(name="long", source_format="test", format=format, messages=writer.messages, model="gpt-4o")


@pytest.fixture(params=INSTALLED)
def peer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("format", FORMATS)
def test_with_room_for_all_a_peer_sends_the_recorded_objects(peer: str, format: str) -> None:
    if "sliding-window" in peer and not peer.startswith("pydantic"):
        pytest.skip(f"{peer} cuts by number whatever room there is")
    recorded = long_session(format)
    session = peer_session(recorded, peer, 1_000_000)
    done = 0
    for step in steps_of(recorded):
        session.append(recorded.messages[done : step.start])
        done = step.start
        sent = session.view().messages
    assert len(sent) == done
    assert all(a is b for a, b in zip(sent, recorded.messages[:done], strict=True))


@pytest.mark.parametrize("format", FORMATS)
def test_a_peer_cuts_when_there_is_less_room_and_does_so_again_the_same_way(peer: str, format: str) -> None:
    recorded = long_session(format)
    results = [replay(recorded, peer, 2_000, make=peer_session) for _ in range(2)]
    first, second = results
    assert first.error == ""
    assert first.calls == len(steps_of(recorded))
    assert first.total_tokens == second.total_tokens
    assert first.steps == second.steps
    if peer != "headroom:compress":
        assert first.total_tokens < first.full_tokens


def test_what_a_peer_cut_keeps_the_unchanged_messages_as_they_were(peer: str) -> None:
    recorded = long_session("openai_chat")
    session = peer_session(recorded, peer, 2_000)
    session.append(recorded.messages)
    assert isinstance(session, PeerSession)
    sent = session.view().messages
    ids = {id(message) for message in recorded.messages}
    written = [message for message in sent if id(message) not in ids]
    assert not [message for message in written if message in recorded.messages]


@pytest.mark.parametrize("name", ["langchain:clear-tool-uses", "pydantic-ai:clear-tool-results"])
def test_clearing_keeps_every_pair_and_the_last_three_results(name: str) -> None:
    if name not in INSTALLED:
        pytest.skip(f"{name} is not installed; `make test-peers` runs this")
    recorded = long_session("openai_chat")
    session = peer_session(recorded, name, 2_000)
    session.append(recorded.messages[:-1])
    sent = session.view().messages
    results = [message["content"] for message in sent if message["role"] == "tool"]
    cleared = [text for text in results if "cleared]" in text]
    assert len(results) == 24
    assert len(cleared) == 21
    assert results[-3:] == [m["content"] for m in recorded.messages if m["role"] == "tool"][-3:]
