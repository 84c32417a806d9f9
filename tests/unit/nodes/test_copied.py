"""What counts as copied from a tool's result, and that nothing of the user's own does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from random import Random

import pytest

from discreet.nodes.tools.memory_check import copied_from

SETS = Path(__file__).parents[3] / "benchmarks" / "dedup_sets"


@pytest.mark.parametrize(
    ("text", "result", "said", "copied"),
    [
        ("lives in Hanoi", "weather for someone who lives in Hanoi today", "tell me the weather", True),
        ("lives in Hanoi", "weather: Hanoi lives in rain", "I live there", False),
        (
            "I live in New York City now",
            "New York City: 12 °C, I live in New York City now",
            "I live in New York City now",
            False,
        ),
        ("余额是一千两百元", "账户余额是一千两百元整", "我的余额是多少", True),
        ("我喜欢喝茶", "天气晴朗", "我喜欢喝茶", False),
        ("shipped: order 4711", "Order 4711 shipped to Hue", "Where is my order?", True),
        ("The user's balance is 1,204", "balance: 1,204 euros", "What is my balance?", True),
        ("Moved to Berlin in 2026", "Berlin, 2026: sunny", "I moved to Berlin this year", False),
        ("Đã giao hàng: đơn 4711", "Đơn 4711 đã giao hàng hôm nay", "Đơn của tôi ở đâu?", True),
        ("Tôi thích phở", "Quán phở ngon, nhiều người thích phở", "Tôi thích phở", False),
        ("отправлен заказ 4711", "Заказ 4711 отправлен сегодня", "Где мой заказ?", True),
        ("Люблю кофе с молоком", "Кофе с молоком любят все", "Я люблю кофе с молоком", False),
        ("已发货的订单4711", "订单4711已发货", "我的订单在哪里？", True),
        ("用户住在河内", "河内今天下雨，用户请带伞", "我住在河内", False),
        ("", "anything", "", False),
        ("…", "…", "", False),
    ],
)
def test_copied_text_is_told_from_the_users_own(text, result, said, copied):
    assert copied_from(text, [result], said=[said]) is copied


@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_what_users_say_is_theirs_in_any_words_whatever_else_a_tool_returned(language):
    """Pairs of fact and paraphrase: the user says the one, the model saves either, a tool returned twenty other facts."""
    data = tomllib.loads((SETS / f"{language}.toml").read_text(encoding="utf-8"))
    pairs = [pair for part in data.values() for pair in part["paraphrase"]]
    facts = [pair[0] for part in data.values() for pairs in part.values() for pair in pairs]
    random = Random(1)
    refused = 0
    for said, paraphrase in pairs:
        results = [" ".join(random.sample([fact for fact in facts if fact not in (said, paraphrase)], 20))]
        assert not copied_from(said, results, said=[said])
        refused += copied_from(paraphrase, results, said=[said])
    assert refused <= 0.06 * len(pairs)  # by runs of four syllables or characters that two sentences share by chance


@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_a_result_in_another_order_is_still_a_result(language):
    data = tomllib.loads((SETS / f"{language}.toml").read_text(encoding="utf-8"))
    random = Random(1)
    for result, _ in (pair for part in data.values() for pair in part["paraphrase"]):
        parts = re.findall(r"[ -~]+|[^ -~]{1,3}", result) if language == "zh" else result.split()
        random.shuffle(parts)
        assert copied_from(("" if language == "zh" else " ").join(parts), [result], said=["?"])
