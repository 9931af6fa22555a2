import { SaxesParser } from "saxes";
import { type Attributes, EspalierError } from "#core";
import type { TreeNode } from "../memory.js";
import { checkDepth, countNode } from "./check-tree.js";
import { checkAttributes, checkCount, checkItems, entryAt } from "./check-values.js";
import { checkName, type Location } from "./names.js";

/** The attribute that holds an element's own text. */
const TEXT_ATTRIBUTE = "text";

/** An element that is open, or closed and not yet known to be a node or an attribute of its parent. */
interface Draft {
  readonly name: string;
  readonly at: Location;
  /** By name, names in the order in which they came; several values of one become a list. */
  readonly values: Map<string, string[]>;
  readonly children: TreeNode[];
  /** Runs of own text between child elements, trimmed. */
  readonly texts: string[];
  run: string;
  /** Whether the element carries XML attributes or child elements, so that it cannot be an attribute itself. */
  structured: boolean;
}

/**
 * XML as a tree: an element is a node of that type, its XML attributes are attributes, a child element that has only text
 * is an attribute of its parent (one name several times: a list of strings, in order), and an element's own text is its
 * attribute `text`. All values are strings; surrounding white space of texts is dropped; an element without any content is
 * a node. Comments and processing instructions carry no data. DTDs, and with them all entities but the five of XML, are
 * refused. O(size).
 *
 * @returns the one root.
 * @throws EspalierError `invalid_xml` with line and column (1-based), and what `checkTree` throws, located likewise.
 */
export function parseXml(xml: string): readonly TreeNode[] {
  checkStorable(xml);
  const parser = new SaxesParser();
  const open: Draft[] = [];
  const tally = { nodes: 0 };
  let root: TreeNode | undefined;
  // saxes counts columns from 0 and is just behind what it reports.
  const here = (): Location => ({ path: "xml", line: parser.line, column: Math.max(1, parser.columnIndex) });
  let start: Location = here();

  parser.on("error", (error) => {
    throw malformed(error.message.replace(/^\d+:\d+: /u, ""), here());
  });
  parser.on("doctype", () => {
    throw malformed("a DTD is not accepted", here());
  });
  let attributes = 0;
  parser.on("opentagstart", () => {
    start = here();
    attributes = 0;
  });
  parser.on("attribute", () => {
    attributes += 1;
    checkCount(attributes, start);
  });
  parser.on("opentag", (tag) => {
    const parent = open.at(-1);
    if (parent !== undefined) {
      parent.structured = true;
      endRun(parent);
    }
    const values = new Map(Object.entries(tag.attributes).map(([name, value]) => [name, [value]]));
    open.push({ name: tag.name, at: start, values, children: [], texts: [], run: "", structured: values.size > 0 });
    checkDepth(open.length, start);
  });
  const text = (piece: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.run += piece;
  };
  parser.on("text", text);
  parser.on("cdata", text);
  parser.on("closetag", () => {
    const element = open.pop();
    if (element === undefined) return;
    endRun(element);
    const parent = open.at(-1);
    const [own] = element.texts;
    if (parent !== undefined && own !== undefined && !element.structured) {
      checkName(element.name, "attribute", element.at);
      addValue(parent, element.name, own);
      return;
    }
    const node = toNode(element);
    countNode(tally, element.at);
    if (parent === undefined) root = node;
    else parent.children.push(node);
  });
  parser.write(xml).close();
  if (root === undefined) throw malformed("there is no element", here());
  return [root];
}

function endRun(element: Draft): void {
  const run = element.run.trim();
  element.run = "";
  if (run !== "") element.texts.push(run);
}

function toNode(element: Draft): TreeNode {
  checkName(element.name, "type", element.at);
  if (element.texts.length > 0) addValue(element, TEXT_ATTRIBUTE, element.texts.join(" "));
  return { type: element.name, attributes: attributesOf(element), metadata: {}, children: element.children };
}

/** One more value. Counted as they come: what can never be stored is not gathered to its end. */
function addValue({ values, at }: Draft, name: string, value: string): void {
  const list = values.get(name);
  if (list === undefined) {
    values.set(name, [value]);
    checkCount(values.size, at);
  } else {
    list.push(value);
    checkItems(list.length, entryAt(at, name));
  }
}

function attributesOf({ values, at }: Draft): Attributes {
  const entries = Array.from(values, ([name, list]) => [name, list.length === 1 ? list[0] : list] as const);
  return checkAttributes(Object.fromEntries(entries), "attribute", at);
}

/** NUL and lone surrogates are found before parsing: the parser takes some lone surrogates for a pair. */
function checkStorable(xml: string): void {
  const at = xml.search(/\0|\p{Surrogate}/u);
  if (at < 0) return;
  const before = xml.slice(0, at);
  const line = before.split("\n").length;
  const column = at - before.lastIndexOf("\n");
  const what = xml.charAt(at) === "\0" ? "a NUL character" : "a lone surrogate";
  throw new EspalierError("invalid_text", `xml, line ${line}, column ${column}: ${what} cannot be stored.`, {
    details: { path: "xml", line, column },
  });
}

function malformed(problem: string, at: Location): EspalierError {
  return new EspalierError("invalid_xml", `xml, line ${at.line ?? 1}, column ${at.column ?? 1}: ${problem}`, {
    details: { ...at },
  });
}
