import { Window } from "happy-dom";
import { createRoot, type Root } from "react-dom/client";

const window = new Window({ url: "http://localhost:5173/" });
Object.assign(globalThis, { window, document: window.document });

/** Return where React renders a page under Node. */
export function makePage(): Root {
  return createRoot(document.body.appendChild(document.createElement("div")));
}

/** Wait until something is so. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Waited in vain for ${what}.`);
}
