import { expect, test } from "@jest/globals";
import { readFile } from "node:fs/promises";
import wabt from "wabt";
import { DOTS_WASM } from "./dots.js";

test("the code is what its text says", async () => {
  const text = await readFile(new URL("dots.wat", import.meta.url), "utf8");
  const module = (await wabt()).parseWat("dots.wat", text);
  module.resolveNames();
  module.validate();
  expect(DOTS_WASM).toBe(Buffer.from(module.toBinary({}).buffer).toString("base64"));
});
