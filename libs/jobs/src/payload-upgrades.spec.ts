import { expect, test } from "@jest/globals";
import { payloadVersion, upgradePayload, type PayloadUpgrades } from "./payload-upgrades.js";

const upgrades: PayloadUpgrades = {
  insert: [(payload) => ({ second: payload }), (payload) => ({ third: payload })],
};

test("the version of a name's payloads is the number of its steps, plus one", () => {
  expect(payloadVersion(upgrades, "insert")).toBe(3);
  expect(payloadVersion(upgrades, "query")).toBe(1);
});

test("an older payload goes through the steps after its version, a current one through none", () => {
  expect(upgradePayload(upgrades, "insert", "x", 1)).toEqual({ third: { second: "x" } });
  expect(upgradePayload(upgrades, "insert", "x", 2)).toEqual({ third: "x" });
  expect(upgradePayload(upgrades, "insert", "x", 3)).toBe("x");
});

test("a name that no queue has has no steps", () => {
  for (const name of ["make-coffee", "toString", "__proto__"]) expect(payloadVersion(upgrades, name)).toBe(1);
});
