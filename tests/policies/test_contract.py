"""Every policy that can be named keeps the contract."""

from __future__ import annotations

from foldaway.policies.ace import Ace
from foldaway.policies.auto import Auto
from foldaway.policies.clear_tools import ClearTools
from foldaway.policies.cwl import Cwl
from foldaway.policies.layered import Layered
from foldaway.policies.lru import Lru
from foldaway.policies.mask_old import MaskOld
from foldaway.policies.near_tail import NearTail
from foldaway.policies.relevance import Relevance
from foldaway.policies.self_gc import SelfGc
from foldaway.policies.window import Window
from foldaway.settings.parts import BUILT_IN
from foldaway.testing.policy_contract import PolicyContract


class TestAce(PolicyContract):
    make = Ace


class TestAuto(PolicyContract):
    make = Auto


class TestClearTools(PolicyContract):
    make = ClearTools


class TestCwl(PolicyContract):
    make = Cwl


class TestLayered(PolicyContract):
    make = Layered


class TestLru(PolicyContract):
    make = Lru


class TestMaskOld(PolicyContract):
    make = MaskOld


class TestNearTail(PolicyContract):
    make = NearTail


class TestRelevance(PolicyContract):
    make = Relevance


class TestSelfGc(PolicyContract):
    make = SelfGc


class TestWindow(PolicyContract):
    make = Window


def test_no_built_in_policy_is_left_out() -> None:
    tested = {c.make.__name__ for c in PolicyContract.__subclasses__()}
    assert tested >= {target.partition(":")[2] for target in BUILT_IN.values()}
