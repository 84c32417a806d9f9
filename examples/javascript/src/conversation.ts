import type { Message } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { useMemo } from "react";

export interface Conversation {
  url: string;
  token: string;
  /** Null: the first message makes it. */
  thread: string | null;
  /** Hears the id of a thread that is made. */
  onThread: (thread: string) => void;
}

/** Hold a conversation. */
export function useConversation({ url, token, thread, onThread }: Conversation) {
  const headers = useMemo(() => ({ Authorization: `Bearer ${token}` }), [token]);
  const stream = useStream<{ messages: Message[] }>({
    apiUrl: url,
    defaultHeaders: headers,
    assistantId: "agent",
    threadId: thread,
    onThreadId: onThread,
    reconnectOnMount: true, // an answer goes on while the page is loaded again
  });

  function send(text: string): Promise<void> {
    const message: Message = { id: crypto.randomUUID(), type: "human", content: text };
    return stream.submit(
      { messages: [message] },
      { optimisticValues: (shown) => ({ messages: [...(shown.messages ?? []), message] }) },
    );
  }

  return {
    messages: stream.messages.filter((message) => isSaid(message) && textOf(message) !== ""),
    isLoading: stream.isLoading,
    error: stream.error,
    send,
    stop: () => stream.stop(),
  };
}

/** Calls of tools and their results are part of a stream, and of no conversation. */
function isSaid(message: Message): boolean {
  return message.type === "human" || message.type === "ai";
}

export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
