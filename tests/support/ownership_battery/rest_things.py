"""What somebody has on a server that has the REST API alone."""

from testkit.keys import IDENTITY_KEY, USER_KEYS
from testkit.proposals import plant_proposal

from discreet.access.identity import Identities
from ownership_battery.things import Things, make_memories, new_word


async def make_rest_things(client, subject, *, dsn):
    """Make one of each kind. The server has `testkit.keys.IDENTITY_KEY`: nothing over HTTP lets a memory wait for a yes."""
    word = new_word()
    identity = Identities(IDENTITY_KEY).of(subject)
    made = await make_memories(client, word)
    proposal = plant_proposal(dsn, USER_KEYS.of_user(identity), text=f"The word is {word}.")
    return Things(word=word, identity=identity, thread_id=f"session-{word}", proposal_key=str(proposal), **made)
