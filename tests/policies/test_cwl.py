"""Structured eviction: what is safe, what is not, and in which order either goes."""

from __future__ import annotations

from typing import Any

from foldaway import Change, Level, Session
from foldaway.policies.cwl import Cwl
from foldaway.testing.histories import Writer, prose


class Agent:
    """A writer with words for the delimiter."""

    def __init__(self) -> None:
        self.writer = Writer("openai_chat")
        self.writer.user("Mend the planner.")

    def start(self, name: str, type: str, **more: Any) -> Agent:
        self.writer.call("delimiter", "ok", action="start", name=name, type=type, **more)
        return self

    def end(self, **more: Any) -> Agent:
        self.writer.call("delimiter", "ok", action="end", **more)
        return self

    def read(self, path: str, text: str = "") -> Agent:
        self.writer.call("read_file", text or prose(80, len(path)), path=path)
        return self

    def edit(self, path: str, text: str = "x") -> Agent:
        self.writer.call("edit_file", "ok", path=path, text=text)
        return self

    def ask(self, text: str = "And then?") -> Agent:
        self.writer.user(text)
        self.writer.call("list_files", "one", path="zzz")
        self.writer.say("So it is.")
        return self

    def opened(self, budget: int = 100_000) -> Session:
        session = Session(budget=budget, policy="cwl")
        session.append(self.writer.messages)
        return session


def proposed(session: Session) -> list[Change]:
    return [c for c in Cwl().propose(session.engine.snapshot()) if isinstance(c, Change)]


def safe(session: Session, name: str) -> bool:
    """Whether the policy calls an episode of this name safe; it must say something of it."""
    mine = [c.reason for c in proposed(session) if c.reason.startswith(f"{name}:") or f" {name}," in c.reason]
    assert mine
    return all("finished, nothing in sight rests on it" in reason for reason in mine)


def test_what_open_work_rests_on_through_another_exploration_is_not_safe() -> None:
    """The act under way uses what the second exploration found, which used what the first one found."""
    agent = Agent()
    agent.start("scout", "explore").read("a.py", f"see deep/rates_core.py\n{prose(60, 1)}").end(description="seen")
    agent.start("probe", "explore").read("deep/rates_core.py", f"call load_rates_v7\n{prose(60, 2)}")
    agent.end(description="seen").start("mend", "act").edit("b.py", "load_rates_v7()")
    session = agent.opened()
    assert not safe(session, "probe")
    assert not safe(session, "scout")


def test_and_once_that_work_is_done_and_folded_both_are() -> None:
    agent = Agent()
    agent.start("scout", "explore").read("a.py", f"see deep/rates_core.py\n{prose(60, 1)}").end(description="seen")
    agent.start("probe", "explore").read("deep/rates_core.py", f"call load_rates_v7\n{prose(60, 2)}")
    agent.end(description="seen").start("mend", "act").edit("b.py", "load_rates_v7()").end().ask()
    session = agent.opened()
    assert safe(session, "mend")
    assert safe(session, "scout")
    order = [c.reason.partition(":")[0] for c in proposed(session)]
    assert max(n for n, name in enumerate(order) if name == "mend") < order.index("scout") < order.index("probe")


def test_a_finished_act_passes_nothing_on() -> None:
    """Open work rests on the act's result; what the act rested on is in the environment by now."""
    agent = Agent()
    agent.start("scout", "explore").read("a.py", f"call load_rates_v7\n{prose(60, 1)}").end(description="seen")
    agent.start("mend", "act", dependencies=["scout"]).edit("b.py", "load_rates_v7()")
    agent.writer.call("bash", "built as build_3121", command="make")
    agent.end().start("ship", "act").edit("c.py", "build_3121")
    session = agent.opened()
    reasons = [c.reason for c in proposed(session)]
    assert any(r.startswith("mend: finished") for r in reasons)
    assert safe(session, "scout")


def guessed(confidence: float) -> bool:
    """Whether an exploration is safe of which a model says so surely that open work rests on it."""
    agent = Agent().start("scout", "explore").read("a.py").end(description="seen").start("mend", "act").edit("b.py")
    session = agent.opened()
    read, edit = [i.id for i in session.items() if i.kind.value in ("read", "edit")]
    session.infer_link(edit, read, confidence)
    return safe(session, "scout")


def test_a_guess_below_the_threshold_makes_nothing_safe_or_unsafe_and_a_sure_one_protects() -> None:
    assert guessed(0.2)
    assert guessed(0.69)
    assert not guessed(0.7)


def test_no_guess_ever_makes_safe_what_was_not() -> None:
    agent = Agent().start("scout", "explore").read("a.py", f"load_rates_v7\n{prose(60, 1)}").end(description="seen")
    agent.start("probe", "explore").read("z.py").end(description="seen")
    session = agent.start("mend", "act").edit("b.py", "load_rates_v7()").opened()
    assert not safe(session, "scout")
    reads = [i.id for i in session.items() if i.kind.value == "read"]
    for confidence in (0.1, 0.69, 0.8, 1.0):
        session.infer_link(reads[1], reads[0], confidence)
        assert not safe(session, "scout")


def test_what_is_not_safe_goes_by_utility_per_token() -> None:
    """Two turns outside any annotation: the larger one that nobody used again goes first, though it is newer."""
    agent = Agent()
    agent.writer.call("read_file", f"load_rates_v7 and berth_limit_12\n{prose(20, 1)}", path="used.py")
    agent.writer.call("grep", prose(200, 2), pattern="crane")
    for n in range(2):
        agent.writer.call("bash", f"run {n}", command="check load_rates_v7 berth_limit_12")
    agent.writer.say("Now.")
    changes = [c for c in proposed(agent.opened()) if c.reason.startswith("nothing is safe")]
    order = [c.item for c in changes]
    assert order.index(3) < order.index(2)
    assert "is open, utility 0." in changes[0].reason


def test_only_the_call_that_describes_an_exploration_stays() -> None:
    agent = Agent().start("scout", "explore").read("a.py").end(description="scout saw crane_limit 12")
    agent.start("mend", "act", dependencies=["scout"]).edit("b.py").end(description="all mended").ask()
    session = agent.opened()
    gone = {c.item for c in proposed(session) if c.level is Level.STUB}
    annotations = {i.id: session.engine.log.action_text(i) for i in session.items() if i.kind.value == "annotation"}
    left = [text for number, text in annotations.items() if number not in gone]
    assert len(annotations) == 4
    assert len(left) == 1
    assert "crane_limit 12" in left[0]


def test_an_episode_goes_by_degrees() -> None:
    agent = Agent().start("scout", "explore")
    agent.writer.call("list_files", prose(90, 1), path="src")
    agent.read("a.py").end(description="seen").ask()
    changes = [(c.item, c.level) for c in proposed(agent.opened()) if c.reason.startswith("scout")]
    assert changes.index((3, Level.ABSTRACT)) < changes.index((4, Level.ABSTRACT)) < changes.index((3, Level.STUB))


def test_a_commit_stops_at_its_target() -> None:
    agent = Agent()
    for n in range(8):
        agent.start(f"scout{n}", "explore").read(f"{n}.py", prose(150, n)).end(description=f"saw berth_{n}")
    session = agent.ask().opened(budget=2_400)
    commit = session.view().commit
    assert commit is not None
    touched = {session.engine.log.episodes.of_turn[session.engine.log.items[c.item].turn] for c in commit.changes}
    assert touched == set(range(len(touched)))
    assert len(touched) < 8


def brought_back(**parameters: float) -> list[str]:
    """What comes back before the call when the newest action used a name that only a folded result holds."""
    session = Session(budget=1_500, policy="cwl", policy_parameters=parameters)
    writer = Writer("openai_chat")
    writer.user("Mend the planner.")
    writer.call("fetch", f"load_rates_v7\n{prose(30, 1)}", url="u")
    writer.user("Go on.")
    for n in range(9):
        writer.call("bash", prose(150, n), command=f"make {n}")
    session.append(writer.messages)
    session.view()
    assert session.level(2) < Level.ABSTRACT
    session.append(writer.call("bash", "ok", command="check load_rates_v7"))
    session.view()
    return [e["references"][0] for e in session.ledger if e["type"] == "inject"]


def test_what_the_newest_action_must_have_comes_back_when_asked_for() -> None:
    assert brought_back() == []
    assert brought_back(recall_share=0.3) == ["2"]
    assert brought_back(recall_share=0.01) == []


def test_descriptions_move_into_the_note_before_anything_that_is_not_safe_goes() -> None:
    session = Session(budget=1_300, policy="cwl")
    agent = Agent()
    for n in range(40):
        agent.start(f"scout{n}", "explore").read(f"{n}.py", prose(40, n)).end(description=f"scout{n} saw berth_{n}")
        session.append(agent.writer.messages[len(session.messages) :])
        view = session.view()
        assert view.tokens <= 1_300
    session.append(agent.ask().writer.messages[len(session.messages) :])
    session.compact()
    text = session.engine.shown.note.text if session.engine.shown.note else ""
    gone = [i for i in session.items() if i.kind.value == "annotation" and session.level(i.id) <= Level.STUB]
    assert len(gone) > 20
    told = [n for n in range(40) if f"): scout{n} saw berth_{n}" in text]
    assert told
    assert told == list(range(told[0], told[-1] + 1))
    assert "explored:" in text
