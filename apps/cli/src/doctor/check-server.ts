import { failed, find, ok, skipped, type Finding } from "./finding.js";

const ANSWER_MS = 5_000;

/** The running server: whether it answers, what it says of its dependencies, whether it takes the key. */
export async function checkServer(connection: {
  readonly url: string | undefined;
  readonly key: string | undefined;
}): Promise<readonly Finding[]> {
  const { url, key } = connection;
  if (url === undefined) {
    return [{ check: "api", ...failed("none runs on this data folder: start it with bin/espalier up, or give --url") }];
  }
  const get = (path: string): Promise<Response> =>
    fetch(new URL(path, url), {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ANSWER_MS),
    }).catch((error: unknown) => {
      throw new Error(`nothing answers at ${url}: start it with bin/espalier up`, { cause: error });
    });
  return [
    await find("api", async () => {
      const response = await get("/health/ready");
      const text = await response.text();
      return response.ok ? ok(`${url} is ready`) : failed(`${url} is not ready: ${text}`);
    }),
    await find("key", async () => {
      if (key === undefined) return skipped("no key is known here: give --key");
      const response = await get("/v1/memories?limit=1");
      return response.ok
        ? ok("the API takes it")
        : failed(`the API refuses it (${response.status}): give another one with --key`);
    }),
  ];
}
