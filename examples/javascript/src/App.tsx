import { useCallback, useMemo, useState } from "react";
import { Chat } from "./Chat.tsx";
import { Memories } from "./Memories.tsx";
import { makeMemoryClient } from "./memory.ts";
import { SignIn } from "./SignIn.tsx";

const TOKEN = "token";
const THREAD = "thread";

export function App({ url }: { url: string }) {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN));
  const [thread, setThread] = useState(() => new URLSearchParams(location.search).get(THREAD));

  // The thread is in the address, so that a page that is loaded again shows it.
  const openThread = useCallback((id: string | null) => {
    history.replaceState(null, "", id === null ? location.pathname : `?${new URLSearchParams({ [THREAD]: id })}`);
    setThread(id);
  }, []);

  function signIn(given: string) {
    sessionStorage.setItem(TOKEN, given);
    setToken(given);
  }

  function signOut() {
    sessionStorage.clear();
    openThread(null);
    setToken(null);
  }

  return (
    <>
      <header>
        <h1>Chat with memory</h1>
        {token !== null && (
          <div>
            <button type="button" className="quiet" disabled={thread === null} onClick={() => openThread(null)}>
              New conversation
            </button>
            <button type="button" className="quiet" onClick={signOut}>
              Sign out
            </button>
          </div>
        )}
      </header>
      <main>
        {token === null ? (
          <SignIn onToken={signIn} />
        ) : (
          <Home url={url} token={token} thread={thread} onThread={openThread} />
        )}
      </main>
    </>
  );
}

interface HomeProps {
  url: string;
  token: string;
  thread: string | null;
  onThread: (thread: string) => void;
}

function Home({ url, token, thread, onThread }: HomeProps) {
  const memories = useMemo(() => makeMemoryClient(url, token), [url, token]);
  const [answers, setAnswers] = useState(0);
  const onAnswered = useCallback(() => setAnswers((count) => count + 1), []);

  return (
    <div className="home">
      <Chat url={url} token={token} thread={thread} onThread={onThread} onAnswered={onAnswered} />
      <Memories client={memories} answers={answers} />
    </div>
  );
}
