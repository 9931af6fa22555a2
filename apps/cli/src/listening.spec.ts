import { expect, test } from "@jest/globals";
import { CommandError } from "./command-error.js";
import { listening } from "./listening.js";

const config = { host: "203.0.113.9", port: 7700, metricsPort: 9100 };
const failing = (members: object) => listening(Promise.reject(Object.assign(new Error("listen"), members)), config);

test.each([
  [
    { code: "EADDRINUSE", port: 7700 },
    "Port 7700 is taken by another process: end that one, or choose another port with --port N",
  ],
  [
    { code: "EADDRINUSE", port: 9100 },
    "Port 9100 is taken by another process: end that one, or choose another port with ESPALIER_METRICS_PORT=N.",
  ],
  [{ code: "EACCES", port: 80 }, "Port 80 is not for this user to listen on"],
  [{ code: "EADDRNOTAVAIL", port: 7700 }, "This machine has no address 203.0.113.9: set ESPALIER_HOST"],
])("%j is told in a sentence", async (members, sentence) => {
  await expect(failing(members)).rejects.toThrow(CommandError);
  await expect(failing(members)).rejects.toThrow(sentence);
});

test("other errors and results pass", async () => {
  await expect(failing({ code: "EMFILE" })).rejects.toMatchObject({ code: "EMFILE" });
  await expect(listening(Promise.resolve("up"), config)).resolves.toBe("up");
});
