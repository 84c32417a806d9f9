import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client, type Message } from "@langchain/langgraph-sdk";
import { textOf } from "../src/conversation.ts";
import { findMemories, forget, makeMemoryClient } from "../src/memory.ts";
import { sentenceOf } from "../src/sentence.ts";
import { server } from "./server.ts";

const { url, token } = server();
const client = new Client({ apiUrl: url, apiKey: null, defaultHeaders: { Authorization: `Bearer ${token}` } });
const memories = makeMemoryClient(url, token);

after(async () => {
  for (const memory of await findMemories(memories)) await forget(memories, memory);
});

async function say(thread: string, content: string): Promise<{ chunks: string[]; messages: Message[] }> {
  const chunks: string[] = [];
  let messages: Message[] = [];
  const input = { messages: [{ role: "user", content }] };
  for await (const part of client.runs.stream(thread, "agent", { input, streamMode: ["messages-tuple", "values"] })) {
    if (part.event === "messages" && String(part.data[0].type) === "AIMessageChunk") chunks.push(textOf(part.data[0]));
    if (part.event === "values") messages = (part.data as { messages: Message[] }).messages;
  }
  return { chunks: chunks.filter((chunk) => chunk !== ""), messages };
}

test("an answer streams, and a fact is recalled in another thread", async () => {
  const { thread_id: first } = await client.threads.create();
  const told = await say(first, "I keep two African Grey parrots.");
  assert.deepEqual(told.messages.map((message) => message.type), ["human", "ai"]);
  assert.ok(told.chunks.length > 1, "piece by piece");
  assert.equal(told.chunks.join(""), textOf(told.messages.at(-1)!));

  const { thread_id: second } = await client.threads.create();
  const asked = await say(second, "Which birds do I have?");
  assert.match(textOf(asked.messages.at(-1)!), /African Grey parrots/);
});

test("a memory is listed, found by its meaning and forgotten", async () => {
  const { data: stored } = await memories.POST("/memory/store", {
    body: { short_answer: "Plays the cello; write to ann@example.com", type: "user_fact" },
  });
  assert.equal(stored?.short_answer, "Plays the cello; write to <EMAIL>");
  assert.ok((await findMemories(memories)).some((memory) => memory.entry_id === stored.entry_id));
  const [found] = await findMemories(memories, "which instrument do I play?");
  assert.equal(found?.entry_id, stored.entry_id);
  await forget(memories, found);
  assert.ok(!(await findMemories(memories)).some((memory) => memory.entry_id === stored.entry_id));
});

test("whoever has no good token is told so by both clients", async () => {
  const headers = { Authorization: "Bearer none" };
  const stranger = new Client({ apiUrl: url, apiKey: null, defaultHeaders: headers });
  const said = /token/;
  await assert.rejects(stranger.threads.create(), (error) => said.test(sentenceOf(error)) && !/[{}]/.test(sentenceOf(error)));
  await assert.rejects(findMemories(makeMemoryClient(url, "none")), (error) => said.test(sentenceOf(error)));
});
