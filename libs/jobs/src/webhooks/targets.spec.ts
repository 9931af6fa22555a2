import { expect, test } from "@jest/globals";
import type { LookupAddress } from "node:dns";
import { EspalierError } from "#core";
import { Targets } from "./targets.js";

const strict = new Targets({ networks: [], http: false });

const refusal = async (targets: Targets, url: string): Promise<unknown> =>
  targets.check(url).then(
    () => "allowed",
    (error: unknown) => error instanceof EspalierError && error.code,
  );

test.each([
  "https://127.0.0.1/hook",
  "https://127.1/hook",
  "https://2130706433/hook",
  "https://0177.0.0.1/hook",
  "https://0x7f000001/hook",
  "https://0/hook",
  "https://10.1.2.3/hook",
  "https://172.16.0.1/hook",
  "https://192.168.1.1/hook",
  "https://100.64.0.1/hook",
  "https://169.254.169.254/latest/meta-data/",
  "https://168.63.129.16/machine",
  "https://198.18.0.1/hook",
  "https://224.0.0.1/hook",
  "https://255.255.255.255/hook",
  "https://[::]/hook",
  "https://[::1]/hook",
  "https://[fe80::1]/hook",
  "https://[fd00:ec2::254]/hook",
  "https://[ff02::1]/hook",
  "https://[::ffff:127.0.0.1]/hook",
  "https://[::ffff:7f00:1]/hook",
  "https://[::7f00:1]/hook",
  "https://[::10.0.0.1]/hook",
  "https://[4000::1]/hook",
  "https://[64:ff9b::7f00:1]/hook",
  "https://[64:ff9b:1::7f00:1]/hook",
  "https://[2002:7f00:1::]/hook",
  "https://localhost/hook",
  "https://LOCALHOST./hook",
  "https://a.localhost/hook",
  "https://metadata.google.internal/hook",
  "https://printer.local/hook",
  "http://example.com/hook",
  "ftp://example.com/hook",
  "file:///etc/passwd",
  "https://user:password@93.184.215.14/hook",
  "no url",
  `https://93.184.215.14/${"x".repeat(2_048)}`,
])("%s is refused", async (url) => {
  expect(await refusal(strict, url)).toBe("webhook_url_refused");
});

test("public addresses are allowed, in the form that will be used", async () => {
  expect(await strict.check("https://93.184.215.14:8443/hook?a=1#part")).toBe("https://93.184.215.14:8443/hook?a=1");
  expect(await strict.check("https://[2606:2800:21f::1]/hook")).toBe("https://[2606:2800:21f::1]/hook");
});

test("a network that is allowed can be reached, and plain http where that is allowed too", async () => {
  const open = new Targets({ networks: ["127.0.0.0/8", "fd00::/8"], http: true });
  expect(await open.check("http://127.0.0.1:80/hook")).toBe("http://127.0.0.1/hook");
  expect(open.allows("::ffff:127.0.0.1")).toBe(true);
  expect(open.allows("fd12::1")).toBe(true);
  expect(open.allows("10.0.0.1")).toBe(false);
  expect(await refusal(open, "http://10.0.0.1/hook")).toBe("webhook_url_refused");
  expect(() => new Targets({ networks: ["everything"], http: false })).toThrow();
});

const looksUp = (targets: Targets, host: string): Promise<string | readonly LookupAddress[]> =>
  new Promise((resolve) => {
    targets.lookup(host, { all: true }, (error, addresses) => {
      resolve(error === null ? addresses : error.message);
    });
  });

test("a connection finds no address of a name that leads where it must not", async () => {
  expect(await looksUp(strict, "localhost")).toMatch(/not public/);
  const open = new Targets({ networks: ["127.0.0.0/8", "::1/128"], http: true });
  expect(await looksUp(open, "localhost")).toContainEqual(expect.objectContaining({ address: "127.0.0.1" }));
});
