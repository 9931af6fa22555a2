import { expect, test } from "@jest/globals";
import { Places } from "./places.js";

test("a tenant takes half of the places, others find the rest, and what is left can be taken again", () => {
  const places = new Places(4, "too_many_waits");
  const refused = expect.objectContaining({ code: "too_many_waits" });
  const leave = [places.take("a"), places.take("a")];
  expect(() => places.take("a")).toThrow(refused);
  leave.push(places.take("b"), places.take("c"));
  expect(() => places.take("d")).toThrow(refused);
  for (const one of leave) one();
  expect(() => [places.take("a"), places.take("a")]).not.toThrow();
});
