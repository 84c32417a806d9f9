import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { textOf, useConversation, type Conversation } from "./conversation.ts";
import { sentenceOf } from "./sentence.ts";

interface Props extends Conversation {
  onAnswered: () => void;
}

export function Chat({ onAnswered, ...conversation }: Props) {
  const { messages, isLoading, error, send, stop } = useConversation(conversation);
  const [draft, setDraft] = useState("");
  const wasLoading = useRef(false);
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (wasLoading.current && !isLoading) onAnswered();
    wasLoading.current = isLoading;
  }, [isLoading, onAnswered]);

  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
  }, [messages]);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (draft.trim() === "" || isLoading) return;
    setDraft("");
    void send(draft);
  }

  function onKey(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  }

  return (
    <section className="chat" aria-label="Conversation">
      <div className="turns" role="log">
        {messages.length === 0 && <p className="muted">Tell something about yourself, and ask for it in another conversation.</p>}
        {messages.map((message) => (
          <div key={message.id} className={`turn ${message.type}`}>
            <span className="who">{message.type === "human" ? "You" : "Assistant"}</span>
            <p>{textOf(message)}</p>
          </div>
        ))}
        {error != null && (
          <p className="error" role="alert">
            {sentenceOf(error)}
          </p>
        )}
        <div ref={end} />
      </div>
      <form className="say" onSubmit={submit}>
        <label className="hidden" htmlFor="say">
          Message
        </label>
        <textarea
          id="say"
          rows={2}
          placeholder="Message"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKey}
        />
        {isLoading ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </section>
  );
}
