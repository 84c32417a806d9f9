import { useEffect, useState } from "react";
import { findMemories, forget, type Memory, type MemoryClient } from "./memory.ts";
import { sentenceOf } from "./sentence.ts";

const TYPING_MILLISECONDS = 250;

interface Props {
  client: MemoryClient;
  /** Counts the answers of the assistant, after which there may be more memories. */
  answers: number;
}

export function Memories({ client, answers }: Props) {
  const [text, setText] = useState("");
  const [memories, setMemories] = useState<Memory[]>([]);
  const [error, setError] = useState<string>();
  const [forgotten, setForgotten] = useState(0);

  useEffect(() => {
    const left = new AbortController();
    async function load() {
      try {
        setMemories(await findMemories(client, text, left.signal));
        setError(undefined);
      } catch (failed) {
        if (!left.signal.aborted) setError(sentenceOf(failed));
      }
    }
    const timer = setTimeout(load, text === "" ? 0 : TYPING_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [client, text, answers, forgotten]);

  async function remove(memory: Memory) {
    try {
      await forget(client, memory);
    } catch (failed) {
      setError(sentenceOf(failed));
    }
    setForgotten((count) => count + 1);
  }

  return (
    <section className="memories" aria-labelledby="memories">
      <h2 id="memories">What is remembered of you</h2>
      <label className="hidden" htmlFor="find">
        Search memories
      </label>
      <input
        id="find"
        type="search"
        placeholder="Search by meaning"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {memories.length === 0 && error === undefined && <p className="muted">Nothing{text === "" ? " yet" : " like that"}.</p>}
      <ul>
        {memories.map((memory) => (
          <li key={memory.entry_id}>
            <p>{memory.short_answer}</p>
            <span className="muted">
              {memory.type.replaceAll("_", " ")}, {new Date(memory.timestamp).toLocaleDateString()}
            </span>
            <button type="button" className="quiet" onClick={() => void remove(memory)}>
              Forget<span className="hidden"> {memory.short_answer}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
