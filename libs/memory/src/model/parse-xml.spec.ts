import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import type { TreeNode } from "../memory.js";
import { errorOf } from "../testing/error-of.js";
import { parseXml } from "./parse-xml.js";

const node = (type: string, attributes: TreeNode["attributes"] = {}, children: readonly TreeNode[] = []): TreeNode => ({
  type,
  attributes,
  metadata: {},
  children,
});

test("elements are nodes; XML attributes, text-only children and own text are attributes, all strings", () => {
  const xml = `<?xml version="1.0"?>
    <Itinerary name="ACL trip" days="4">
      <!-- two days -->
      <Day number="1"><note>Arrival &amp; dinner</note><POI name="Airport"/></Day>
      <Day number="2">Conference <![CDATA[<day>]]></Day>
    </Itinerary>`;
  expect(parseXml(xml)).toEqual([
    node("Itinerary", { name: "ACL trip", days: "4" }, [
      node("Day", { number: "1", note: "Arrival & dinner" }, [node("POI", { name: "Airport" })]),
      node("Day", { number: "2", text: "Conference <day>" }),
    ]),
  ]);
});

test("a repeated text-only child is a list in its order", () => {
  expect(parseXml("<POI><tag>food</tag><tag>quiet</tag><tag>cheap</tag></POI>")).toEqual([
    node("POI", { tag: ["food", "quiet", "cheap"] }),
  ]);
});

test("an element without content, and one with attributes, are nodes", () => {
  expect(parseXml('<A><B/><C></C><D>\n</D><E x="1">t</E></A>')).toEqual([
    node("A", {}, [node("B"), node("C"), node("D"), node("E", { x: "1", text: "t" })]),
  ]);
});

test("a root with text only is a node", () => {
  expect(parseXml("<Note>remember</Note>")).toEqual([node("Note", { text: "remember" })]);
});

test("runs of own text around children are joined by a space", () => {
  expect(parseXml("<P>Hello <b>big</b> world</P>")).toEqual([node("P", { b: "big", text: "Hello world" })]);
});

test("character references and the five entities are read", () => {
  expect(parseXml("<A>&lt;&gt;&amp;&quot;&apos;&#233;&#x4e2d;</A>")).toEqual([node("A", { text: "<>&\"'é中" })]);
});

test.each([
  ["an unclosed element", "<A>\n<B></A>", 2],
  ["two roots", "<A/><B/>", 1],
  ["text outside", "x<A/>", 1],
  ["nothing", "", 1],
  ["only white space", " \n ", 2],
  ["an unknown entity", "<A>\n\n&nbsp;</A>", 3],
  ["a DTD", "<!DOCTYPE A><A/>", 1],
  ["an external entity", '<!DOCTYPE A [<!ENTITY x SYSTEM "file:///etc/passwd">]><A>&x;</A>', 1],
  ["an attribute twice", '<A x="1" x="2"/>', 1],
  ["a control character", "<A>\u0001</A>", 1],
])("%s is invalid_xml with its line and column", (_what, xml, line) => {
  const { code, details } = errorOf(() => parseXml(xml));
  expect(code).toBe("invalid_xml");
  expect(details["line"]).toBe(line);
  expect(details["column"]).toBeGreaterThanOrEqual(1);
});

test("a bomb of entities is refused at once, whatever it would grow to", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `<!ENTITY a${index + 1} "&a${index};&a${index};&a${index};">`);
  const bomb = `<!DOCTYPE A [<!ENTITY a0 "ha">${lines.join("")}]><A>&a20;</A>`;
  expect(errorOf(() => parseXml(bomb)).code).toBe("invalid_xml");
});

test.each([
  ["a name with a colon", '<A xml:lang="en"/>', "invalid_name"],
  ["a reserved type", "<A>\n<Version/></A>", "reserved_name"],
  ["a reserved attribute", "<A>\n<node>x</node></A>", "reserved_name"],
  ["a NUL", "<A>\n\0</A>", "invalid_text"],
  ["a lone surrogate", "<A>\ud800x</A>", "invalid_text"],
  ["a deep tree", "<A>".repeat(65), "tree_too_deep"],
  ["a large attribute", `<A><b>${"x".repeat(70_000)}</b></A>`, "attribute_too_large"],
  [
    "too many attributes",
    `<A>${Array.from({ length: 65 }, (_, i) => `<a${i}>x</a${i}>`).join("")}</A>`,
    "too_many_attributes",
  ],
])("%s is refused with a line", (_what, xml, code) => {
  const error = errorOf(() => parseXml(xml));
  expect(error.code).toBe(code);
  expect(error.details["line"]).toBe(xml.startsWith("<A>\n") ? 2 : 1);
});

test("attributes are counted as they come: nothing after the one too many is read", () => {
  const many = Array.from({ length: 65 }, (_, index) => `a${index}=""`).join(" ");
  expect(errorOf(() => parseXml(`<A ${many} <`)).code).toBe("too_many_attributes");
});

test("values of one name are counted as they come: nothing after the one too many is read", () => {
  const many = "<t>x</t>".repeat(LIMITS.attributeBytes + 1);
  expect(errorOf(() => parseXml(`<A>${many}<`))).toMatchObject({
    code: "attribute_too_large",
    details: { path: "xml.t", line: 1 },
  });
});
