import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, type Message } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { useStream as useEventStream } from "@langchain/react";
import { textOf, useConversation } from "../src/conversation.ts";
import { makePage, until } from "./page.ts";
import { server } from "./server.ts";

const { url, token } = server();
const headers = { Authorization: `Bearer ${token}` };
const SAID = ["I keep two African Grey parrots.", "Write to ann@example.com", "Which birds do I have?"];

function idsOf(messages: Message[]) {
  return messages.map((message) => message.id);
}

test("three turns of the chat are six messages, which a page that is loaded again shows redacted", async () => {
  let thread: string | null = null;
  let shown: ReturnType<typeof useConversation> | undefined;
  const lengths = new Set<number>();

  function open() {
    const root = makePage();
    function Page() {
      const onThread = (id: string) => {
        thread = id;
        root.render(<Page />);
      };
      shown = useConversation({ url, token, thread, onThread });
      lengths.add(shown.messages.map(textOf).join("").length);
      return null;
    }
    shown = undefined;
    root.render(<Page />);
    return root;
  }

  const page = open();
  await until(() => shown !== undefined, "the first rendering");
  for (const [turn, text] of SAID.entries()) {
    await shown!.send(text);
    assert.equal(shown!.error, undefined);
    assert.equal(shown!.messages.length, 2 * (turn + 1));
    assert.equal(textOf(shown!.messages.at(-2)!), text, "as it was said, to who said it");
  }
  assert.match(textOf(shown!.messages.at(-1)!), /African Grey parrots/);
  assert.ok(lengths.size > 10, "answers grow as they are written");
  const ids = idsOf(shown!.messages);
  page.unmount();

  const again = open();
  await until(() => shown?.messages.length === 6, "the conversation on another page");
  assert.deepEqual(idsOf(shown!.messages), ids);
  assert.match(textOf(shown!.messages[2]!), /^Write to <EMAIL:/);
  again.unmount();
});

test("a page that sends its whole history each time adds no message twice", async () => {
  let stream: ReturnType<typeof useStream<{ messages: Message[] }>> | undefined;
  let thread = "";
  const options = { apiUrl: url, assistantId: "agent", defaultHeaders: headers, onThreadId: (id: string) => (thread = id) };

  function Page() {
    stream = useStream<{ messages: Message[] }>(options);
    return null;
  }

  const page = makePage();
  page.render(<Page />);
  await until(() => stream !== undefined, "the first rendering");
  for (const [turn, content] of SAID.entries()) {
    const before = idsOf(stream!.messages);
    await stream!.submit({ messages: [...stream!.messages, { type: "human", content }] });
    assert.equal(stream!.error, undefined);
    assert.equal(stream!.messages.length, 2 * (turn + 1));
    assert.deepEqual(idsOf(stream!.messages).slice(0, before.length), before, "ids stay");
  }
  const client = new Client({ apiUrl: url, apiKey: null, defaultHeaders: headers });
  const kept = (await client.threads.getState<{ messages: Message[] }>(thread)).values.messages;
  assert.deepEqual(kept.map((message) => message.type), ["human", "ai", "human", "ai", "human", "ai"]);
  assert.deepEqual(idsOf(kept), idsOf(stream!.messages));
  page.unmount();
});

test("the hook of @langchain/react holds a conversation too", async () => {
  let stream: ReturnType<typeof useEventStream> | undefined;
  const options = { apiUrl: url, assistantId: "agent", defaultHeaders: headers };

  function Page() {
    stream = useEventStream(options);
    return null;
  }

  const page = makePage();
  page.render(<Page />);
  await until(() => stream !== undefined, "the first rendering");
  for (const [turn, content] of SAID.entries()) {
    await stream!.submit({ messages: [{ type: "human", content }] });
    await until(() => stream!.messages.length === 2 * (turn + 1) && !stream!.isLoading, "the answer");
    assert.equal(stream!.error, undefined);
  }
  assert.match(stream!.messages.at(-1)!.text, /African Grey parrots/);
  page.unmount();
});
