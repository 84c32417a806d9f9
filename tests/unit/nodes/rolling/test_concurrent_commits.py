"""Any interleaving of eight committers: no round is lost or doubled, and the cursor says what the text covers."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ProviderError, StorageUnavailableError
from discreet.ports import RollingSummary

COMMITTERS = 8

turns = st.lists(
    st.tuples(
        st.integers(0, COMMITTERS - 1),  # who sees the end of the turn
        st.sampled_from(["one", "two"]),
        st.integers(1, 7),  # rounds that came since
        st.integers(0, 12),  # steps of the event loop until the next
    ),
    max_size=40,
)
faults = st.lists(st.tuples(st.sampled_from(["fine", "fails", "slow"]), st.integers(0, 9)), min_size=1, max_size=30)


class Scripted:
    """Fails and takes its time as a list of faults says, over and over."""

    def __init__(self, faults):
        self.faults, self._next = faults, 0

    async def step(self, error):
        kind, steps = self.faults[self._next % len(self.faults)]
        self._next += 1
        for _ in range(steps if kind == "slow" else 1):
            await asyncio.sleep(0)
        if kind == "fails":
            raise error


@pytest.fixture(scope="session")
def rigged(build):
    """Return what makes a storage and eight summarisers over it that all follow one list of faults."""

    def made(script):

        class Summaries(build.Summaries):
            """Notes every state, and now and then fails or takes its time."""

            def __init__(self):
                super().__init__()
                self.states = []

            async def get(self, user_id, thread_id):
                await script.step(StorageUnavailableError())
                return await super().get(user_id, thread_id)

            async def commit(self, user_id, thread_id, *, expected, new):
                await script.step(StorageUnavailableError())
                done = await super().commit(user_id, thread_id, expected=expected, new=new)
                if done:
                    self.states.append((thread_id, new))
                return done

        class Provider(build.Numbers):
            async def summarize(self, rounds, *, earlier="", max_tokens=200):
                await script.step(ProviderError("The model failed."))
                return await super().summarize(rounds, earlier=earlier, max_tokens=max_tokens)

        summaries = Summaries()
        return summaries, [
            build.Summariser(summaries, Provider(), lambda text: len(text) // 10, max_running=2)
            for _ in range(COMMITTERS)
        ]

    return made


@pytest.mark.slow
@given(turns=turns, faults=faults)
def test_no_round_is_lost_or_doubled(build, rigged, turns, faults):
    talk, covered = build.talk, build.covered
    script = Scripted(faults)

    async def run():
        summaries, committers = rigged(script)
        length = {"one": 0, "two": 0}
        for who, thread, grown, steps in turns:
            length[thread] += grown
            await committers[who].after_turn("ann", thread, talk(length[thread]))
            for _ in range(steps):
                await asyncio.sleep(0)
        for each in committers:
            await each.drain()
        before = {"one": 0, "two": 0}
        for thread, state in summaries.states:
            assert state.rounds in (before[thread] + 5, 5)  # each goes on from the one before, or begins anew
            before[thread] = state.rounds
            assert covered(state) == list(range(1, state.rounds + 1))
            assert state.last_message_id == f"a{state.rounds}"
        last = build.Summariser(summaries, build.Numbers(), len, budget=10_000)
        script.faults = [("fine", 0)]
        for thread, rounds in length.items():
            for _ in range(rounds // 20 + 1):
                await last.after_turn("ann", thread, talk(rounds))
                await last.drain()
            final = summaries.kept.get(("ann", thread), RollingSummary())
            assert covered(final) == list(range(1, rounds - rounds % 5 + 1))
            assert final.rounds == rounds - rounds % 5

    asyncio.run(run())
