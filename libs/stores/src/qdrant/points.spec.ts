import { expect, test } from "@jest/globals";
import { v5 } from "uuid";
import { pointId } from "./points.js";

test("a point's id is the UUIDv5 of what names it: it never changes", () => {
  const namespace = "0b6c1c52-8f0e-5d5c-9a53-6d4b1f1d2c7e";
  for (let born = 0; born < 200; born += 1) {
    const [id, field] = [`nod_${born}`, ["", "naïve_名", "long".repeat(born * 3)][born % 3]!];
    const expected = v5(JSON.stringify(["default", "mem_1", id, born, field]), namespace);
    expect(pointId({ tenant: "default", memory: "mem_1" }, field, { id, born })).toBe(expected);
  }
});
