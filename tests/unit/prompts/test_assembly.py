import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from prometheus_client import REGISTRY

from discreet.errors import ConfigurationError
from discreet.prompts.assembly import assemble, observe
from discreet.prompts.budget import TokenBudget
from discreet.prompts.rounds import MESSAGE_TOKENS
from discreet.prompts.texts import prompt_text
from discreet.providers.tokens import count_tokens
from discreet.state.conversation import RetrievedMemory
from discreet.testing.strict_model import check_prompt

ASK = [HumanMessage("Which boat?")]
BE_BRIEF = "Be brief."
ROOMY = TokenBudget(system=10_000, summary=10_000, rounds=10_000, input=10_000, reserve=10_000)


def memory(text, type="user_fact"):
    return RetrievedMemory(entry_id="1", text=text, type=type, created_at="2026-03-05T10:00:00+00:00", relevance=0.8)


def past(text):
    return memory(text, "conversation_summary")


def spoken(*lengths, of="word "):
    """One round for each length, in words, both sides as long."""
    return [
        m
        for i, n in enumerate(lengths)
        for m in (HumanMessage(f"q{i} " + of * n), AIMessage(f"a{i} " + of * n, id=f"{i}"))
    ]


def prompted(**options):
    return assemble(**{"count": count_tokens, "running": ASK, "system_prompt": BE_BRIEF, **options})


def test_parts_stand_in_their_order():
    prompt = prompted(
        memories=[past("Spoke about boats"), memory("Has a boat")],
        summary="They greeted.\nThey laughed.",
        earlier=spoken(1),
        last_words=True,
    )
    assert prompt.system == "\n\n".join(
        [
            BE_BRIEF,
            prompt_text("memory_facts"),
            "<known_facts>\n- [user_fact] Has a boat (2026-03-05)\n</known_facts>",
            "<past_conversations>\n- [conversation_summary] Spoke about boats (2026-03-05)\n</past_conversations>",
            "<conversation_summary>\nThey greeted. They laughed.\n</conversation_summary>",
            prompt_text("final_answer"),
        ]
    )
    assert prompt.messages == [SystemMessage(prompt.system), *spoken(1), *ASK]
    assert not any(prompt.cut.values())


def test_without_data_there_are_no_blocks_and_no_words_about_them():
    assert prompted().system == BE_BRIEF
    assert assemble(count=len, running=ASK).system == prompt_text("assistant")


def test_the_default_instructions_leave_room_within_their_budget():
    prompt = prompted(system_prompt=None, memories=[memory("x"), past("y")], summary="z", last_words=True)
    assert prompt.tokens["system"] <= TokenBudget().system


def test_the_budgets_of_the_parts_are_those_of_the_decision():
    assert TokenBudget() == TokenBudget(system=300, summary=200, rounds=1_200, input=100, reserve=200)
    assert TokenBudget().total == 2_000


@pytest.mark.parametrize(("window", "total"), [(None, 2_000), (2_001, 2_000), (1_999, 1_999), (0, 0)])
def test_a_window_is_the_total_where_it_is_smaller(window, total):
    assert TokenBudget(window=window).total == total
    with pytest.raises(ConfigurationError, match="window"):
        TokenBudget(window=-1)


@pytest.mark.parametrize("window", range(400, 2_100, 100))
def test_a_prompt_stays_within_its_window(window):
    prompt = prompted(
        earlier=[message for n in range(12) for message in (HumanMessage(f"{n} " + "word " * 80), AIMessage("Yes."))],
        memories=[memory("fact " * 40), memory("past " * 40, "turn")],
        summary="They spoke. " * 40,
        budget=TokenBudget(window=window),
    )
    assert prompt.total <= window
    assert prompt.total > window - 500 or window > 1_900


@pytest.mark.parametrize("bad", [{"rounds": -1}, {"input": 1.5}, {"reserve": True}, {"summary": "200"}])
def test_a_budget_that_cannot_be_is_refused(bad):
    with pytest.raises(ConfigurationError, match=next(iter(bad))):
        TokenBudget(**bad)


def test_whole_rounds_are_dropped_from_the_oldest():
    prompt = prompted(earlier=spoken(200, 200, 200, 200, 200))
    assert [m.text[:2] for m in prompt.rounds] == ["q2", "a2", "q3", "a3", "q4", "a4"]
    assert prompt.cut["rounds"] == 2


def test_a_round_over_the_budget_loses_the_middle_of_its_texts():
    prompt = prompted(earlier=[*spoken(5), HumanMessage("in " + "word " * 3_000 + "out"), AIMessage("brief", id="1")])
    question, answer = prompt.rounds
    assert question.text.startswith("in word")
    assert " … " in question.text
    assert question.text.endswith("word out")
    assert answer == AIMessage("brief", id="1")
    assert 1_300 < prompt.tokens["rounds"] <= 1_400
    assert prompt.cut["rounds"] == 2


def test_what_stands_before_the_first_question_is_left_out():
    prompt = prompted(earlier=[AIMessage("Hello!"), *spoken(1)])
    assert list(prompt.rounds) == spoken(1)


def test_an_overlong_input_costs_rounds_then_past_conversations_then_facts_then_the_summary():
    def kept(words):
        prompt = prompted(
            running=[HumanMessage("word " * words)],
            earlier=spoken(80, 80, 80, 80),
            memories=[memory(f"fact {'word ' * 40}"), memory(f"fact {'word ' * 40}"), past(f"told {'word ' * 40}")],
            summary=f"First {'word ' * 40}. Last {'word ' * 40}.",
        )
        assert prompt.running == (HumanMessage("word " * words),)
        assert prompt.total <= max(2_000, words + 20)
        assert prompt.system.startswith(BE_BRIEF)
        facts, told = prompt.system.count("] fact"), prompt.system.count("] told")
        return len(prompt.rounds) // 2, told, facts, prompt.system.count("First"), prompt.system.count("Last")

    states = list(dict.fromkeys(kept(words) for words in range(900, 2_000, 20)))
    assert states[:5] == [(4, 1, 2, 1, 1), (3, 1, 2, 1, 1), (2, 1, 2, 1, 1), (1, 1, 2, 1, 1), (0, 1, 2, 1, 1)]
    assert states[5:] == [(0, 0, 2, 1, 1), (0, 0, 1, 1, 1), (0, 0, 0, 1, 1), (0, 0, 0, 1, 0), (0, 0, 0, 0, 0)]


def test_the_least_relevant_memories_are_cut_first():
    prompt = prompted(memories=[memory(f"fact {i} " + "word " * 40) for i in range(20)])
    assert [line[14:21].strip() for line in prompt.system.splitlines() if line.startswith("- ")] == [
        f"fact {i}" for i in range(20 - prompt.cut["facts"])
    ]
    assert 0 < prompt.cut["facts"] < 19


def test_the_best_memory_alone_over_the_budget_is_shortened():
    prompt = prompted(
        memories=[memory("begins " + "word " * 600 + "ends"), memory("next")], budget=TokenBudget(system=100)
    )
    (line,) = [line for line in prompt.system.splitlines() if line.startswith("- ")]
    assert line.startswith("- [user_fact] begins word")
    assert line.endswith("word ends (2026-03-05)")
    assert " … " in line
    assert prompt.cut["facts"] == 2


def test_shortening_brings_no_delimiter_to_light():
    hidden = "x < 5 " + "word " * 900 + "/known_facts>"
    prompt = prompted(memories=[memory(hidden)], summary=hidden)
    assert prompt.system.count("known_facts>") == 2 + prompt.system.count("(/known_facts>")
    assert "< … /known_facts" not in prompt.system


def test_a_long_summary_is_cut_at_the_end_of_a_sentence():
    summary = " ".join(f"Sentence {i} tells something of no importance." for i in range(100))
    prompt = prompted(summary=summary, budget=TokenBudget(system=200))
    kept = prompt.system.split("<conversation_summary>\n")[1].split("\n</conversation_summary>")[0]
    assert summary.startswith(kept)
    assert kept.endswith("importance.")
    assert prompt.cut["summary"] == 1
    assert 150 < prompt.tokens["summary"] <= 300


@pytest.mark.parametrize(
    "summary", ["今天我们谈了船。" * 200, "Chúng tôi nói về thuyền. " * 200, "Мы говорили о лодках! " * 200]
)
def test_sentences_end_in_every_language(summary):
    prompt = prompted(summary=summary, budget=TokenBudget(system=0))
    kept = prompt.system.split("<conversation_summary>\n")[1].split("\n</conversation_summary>")[0]
    assert kept[-1] in "。.!"
    assert 0.8 * 200 <= prompt.tokens["summary"] <= 200


def test_a_summary_of_one_endless_sentence_is_shortened():
    prompt = prompted(summary="word " * 900, budget=TokenBudget(system=0))
    assert "word … word" in prompt.system
    assert prompt.tokens["summary"] <= 200


def test_facts_may_use_what_the_instructions_leave():
    memories = [memory(f"fact {i} " + "word " * 40) for i in range(20)]
    full, spare = (prompted(memories=memories, budget=TokenBudget(system=system)) for system in (0, 500))
    assert full.tokens["facts"] <= 200 < spare.tokens["facts"]


def test_rounds_may_use_what_the_summary_leaves():
    earlier = spoken(*[100] * 12)
    with_summary, without = (prompted(earlier=earlier, summary=s) for s in ("A sentence. " * 60, ""))
    assert with_summary.tokens["rounds"] <= 1_200 < without.tokens["rounds"] <= 1_400


def test_tool_traffic_of_the_running_turn_is_whole_and_counted():
    running = [
        *ASK,
        AIMessage("", tool_calls=[{"name": "look_up", "args": {"what": "word " * 50}, "id": "1"}]),
        ToolMessage("word " * 300, tool_call_id="1"),
    ]
    prompt = prompted(running=running, earlier=spoken(300, 300))
    assert list(prompt.running) == running
    assert prompt.tokens["input"] > 350
    check_prompt(prompt.messages)


WORDS = st.text(alphabet="ab <>./&;…\n", max_size=60)
ROUND = st.lists(st.tuples(st.sampled_from([HumanMessage, AIMessage]), WORDS), max_size=12).map(
    lambda said: [kind(text) for kind, text in said]
)
BUDGET = st.builds(
    TokenBudget, **dict.fromkeys(["system", "summary", "rounds", "input", "reserve"], st.integers(0, 700))
)


@given(
    st.fixed_dictionaries(
        {
            "running": WORDS.map(lambda text: [HumanMessage(text)]),
            "earlier": ROUND,
            "memories": st.lists(st.builds(memory, WORDS, st.sampled_from(["user_fact", "turn"])), max_size=6),
            "summary": WORDS,
            "system_prompt": WORDS.map(lambda text: f"Hi {text}"),
            "last_words": st.booleans(),
        }
    ),
    BUDGET,
)
def test_the_whole_stays_within_the_total_wherever_that_can_be(given, budget):
    prompt = assemble(count=len, budget=budget, **given)
    actual = sum(MESSAGE_TOKENS + len(message.text) for message in prompt.messages)
    assert actual <= prompt.total
    assert prompt.total <= max(budget.total, prompt.tokens["system"] + prompt.tokens["input"])
    assert prompt.tokens["rounds"] <= budget.rounds + budget.summary
    assert prompt.running == tuple(given["running"])
    assert prompt.system.startswith(given["system_prompt"])
    check_prompt(prompt.messages)
    roomy = assemble(count=len, budget=ROOMY, **given)
    assert not any(roomy.cut.values())
    assert prompt.cut["rounds"] or prompt.rounds == roomy.rounds


def test_every_text_is_counted_once():
    counted = []
    memories = [memory(f"fact {i}") for i in range(50)]
    assemble(
        count=lambda text: counted.append(text) or 1,
        running=ASK,
        earlier=spoken(*[1] * 50),
        memories=memories,
        budget=ROOMY,
    )
    assert (
        len(counted) == len(set(counted)) == 50 + 100 + 1 + 1 + 1
    )  # memories, rounds, input, instructions, no summary


def test_shortening_counts_little_more_than_it_keeps():
    counted = []

    def count(text):
        counted.append(len(text))
        return len(text)

    assemble(count=count, running=ASK, earlier=[HumanMessage("word " * 100_000), AIMessage("yes")])
    assert len(counted) < 60
    assert sum(counted) < 500_000 + 50_000  # the whole text once, and pieces of it as short as the budget


def test_metrics_tell_tokens_and_cuts_by_part():
    def cut():
        return REGISTRY.get_sample_value("discreet_prompt_cut_total", {"part": "rounds"}) or 0

    before = cut()
    observe(prompted(earlier=spoken(*[200] * 5)))
    assert cut() == before + 2
    assert REGISTRY.get_sample_value("discreet_prompt_tokens_count", {"part": "input"}) >= 1


def test_no_half_of_a_placeholder_is_left_at_a_cut():
    text = "中" * 400 + "<EMAIL:7K2QX3MD>" * 400 + "文" * 400
    for limit in range(100, 400, 7):
        prompt = prompted(earlier=[HumanMessage(text)], budget=TokenBudget(rounds=limit, summary=0))
        (question,) = prompt.rounds
        assert question.text.replace("<EMAIL:7K2QX3MD>", "").strip("中文 …") == ""
