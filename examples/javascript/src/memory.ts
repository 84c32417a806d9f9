import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./discreet.d.ts";

export type Memory = components["schemas"]["Entry"];
export type MemoryClient = Client<paths>;

/** What people are shown: turns of conversations and summaries are entries too. */
const TYPES: Memory["type"][] = ["user_fact", "preference", "event", "important_moment"];

export function makeMemoryClient(url: string, token: string): MemoryClient {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
}

/** Return the newest memories, or with a text those nearest to it. */
export async function findMemories(client: MemoryClient, text = "", signal?: AbortSignal): Promise<Memory[]> {
  if (text.trim() === "") {
    const query = { type: TYPES, limit: 50 };
    const page = answered(await client.GET("/memory/query", { params: { query }, signal }));
    return page.entries.filter((memory) => memory.valid_to === null);
  }
  const body = { q: text, limit: 10, filters: { type: TYPES } };
  const hits = answered(await client.POST("/memory/search", { body, signal }));
  return hits.results.map((hit) => hit.entry);
}

/** Erase a memory, and the turns and summaries that tell it. */
export async function forget(client: MemoryClient, memory: Memory): Promise<void> {
  answered(await client.POST("/memory/erasure", { body: { scope: "memory", entry_id: memory.entry_id } }));
}

function answered<T>(answer: { data?: T; error?: components["schemas"]["ErrorAnswer"] }): T {
  if (answer.data === undefined) throw new Error(answer.error?.error.message ?? "The server gave no answer.");
  return answer.data;
}
