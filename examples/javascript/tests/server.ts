/** Return where the server is, and a token for it: `DISCREET_URL=… DISCREET_TOKEN=… npm test`. */
export function server(): { url: string; token: string } {
  const { DISCREET_URL: url, DISCREET_TOKEN: token } = process.env;
  if (!url || !token) throw new Error("Set DISCREET_URL, and DISCREET_TOKEN as `discreet token NAME` prints it.");
  return { url, token };
}
