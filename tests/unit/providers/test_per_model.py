from __future__ import annotations

from discreet.providers.per_model import MAX_MODELS, PerModel
from discreet.testing import ScriptedChatModel


def test_it_is_made_once_for_each_model():
    made: list[object] = []
    per_model = PerModel(lambda model: made.append(model) or len(made))
    first, second = ScriptedChatModel(responses=[]), ScriptedChatModel(responses=[])
    assert [per_model(first), per_model(second), per_model(first)] == [1, 2, 1]
    assert made == [first, second]


def test_models_that_are_made_anew_each_time_fill_no_memory():
    made: list[int] = []
    per_model = PerModel(lambda model: made.append(id(model)))
    for _ in range(3 * MAX_MODELS):
        per_model(ScriptedChatModel(responses=[]))
    assert len(made) == 3 * MAX_MODELS
    assert len(per_model._made) <= MAX_MODELS
