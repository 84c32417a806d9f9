import type { FormEvent } from "react";

export function SignIn({ onToken }: { onToken: (token: string) => void }) {
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    onToken(String(new FormData(event.currentTarget).get("token")).trim());
  }

  return (
    <form className="sign-in" onSubmit={submit}>
      <label htmlFor="token">Token</label>
      <p className="muted">
        <code>discreet token ann</code> prints one for a server that runs on this machine.
      </p>
      <input id="token" name="token" type="password" autoComplete="off" required />
      <button type="submit">Sign in</button>
    </form>
  );
}
