// Sends messages without leaving the page, and shows how the turn goes on. Without this script the page works by loading it again.
"use strict";

const play = document.getElementById("playground");
const { turn, page, lost } = play.dataset;
let events = null;

function say(words) {
  const notice = document.getElementById("notice");
  notice.textContent = words;
  notice.className = words ? "error" : "";
}

// Puts the parts of a page in the place of those that are shown. What is open stays open.
function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  if (!next.getElementById("playground")) return location.reload();
  const toggled = new Map([...document.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  for (const id of ["said", "notice", "seen"]) {
    const part = next.getElementById(id);
    for (const each of part.querySelectorAll("details[id]"))
      if (toggled.has(each.id)) each.open = toggled.get(each.id);
    document.getElementById(id).replaceWith(part);
  }
  toEnd();
}

function toEnd() {
  const said = document.getElementById("said");
  said.scrollTop = said.scrollHeight;
}

async function load(address, options) {
  try {
    const response = await fetch(address, options);
    show(await response.text());
    return response.ok;
  } catch {
    say(lost);
    return false;
  }
}

function follow() {
  if (events || !document.getElementById("said").hasAttribute("data-running")) return;
  events = new EventSource(turn);
  const end = async () => {
    events.close();
    events = null;
    if (await load(page)) follow();
  };
  events.addEventListener("answer", ({ data }) => {
    const answer = document.getElementById("answer");
    if (answer) answer.textContent = JSON.parse(data);
    toEnd();
  });
  events.addEventListener("step", () => load(page));
  events.addEventListener("over", end);
  events.addEventListener("error", end);
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!("turn" in form.dataset)) return;
  event.preventDefault();
  const sent = new URLSearchParams(new FormData(form));
  if ((await load(form.action, { method: "POST", body: sent })) && form.elements.text.type !== "hidden") form.reset();
  follow();
});

document.getElementById("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// Another tab may have said something meanwhile.
document.addEventListener("visibilitychange", async () => {
  if (document.visibilityState === "visible" && !events && (await load(page))) follow();
});

toEnd();
follow();
