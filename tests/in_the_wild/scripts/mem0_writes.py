"""Have mem0 write memories into pgvector, and print what its get_all() then returns. Runs where mem0 is installed."""

import json
import sys
from pathlib import Path

from mem0 import Memory

USERS = ("alice", "bob:1@x")


def main(dsn: str, folder: str, base_url: str, dims: int) -> None:
    model = {"provider": "openai", "config": {"model": "scripted", "openai_base_url": base_url}}
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "pgvector",
                "config": {"connection_string": dsn, "collection_name": "mem0", "embedding_model_dims": dims},
            },
            "llm": model,
            "embedder": {"provider": "openai", "config": {**model["config"], "embedding_dims": dims}},
            "history_db_path": str(Path(folder) / "history.db"),
        }
    )
    for user in USERS:
        kept = memory.add("Keeps bees 🐝", user_id=user, infer=False, metadata={"category": "hobbies", "importance": 8})
        said = [{"role": "user", "content": "I sing."}, {"role": "assistant", "content": "Which songs?"}]
        memory.add(said, user_id=user, agent_id="helper", run_id="run-1", infer=False)
        memory.add("Has a ticket for the fair", user_id=user, infer=False, expiration_date="2999-12-30")
        memory.update(kept["results"][0]["id"], text="Kept bees until May")
        memory.add("I moved to Hue.", user_id=user)  # with its model, which the test has written down
    results = [memory.get_all(filters={"user_id": user}, top_k=1_000) for user in USERS]
    print(json.dumps({"results": [item for answer in results for item in answer["results"]]}))


main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
