/** A place in a query's text, for people: 1-based, columns in characters (code points). */
export interface SourceLocation {
  readonly line: number;
  readonly column: number;
  /** The line (a window of it when it is long) and, below, `^` under the place. */
  readonly caret: string;
}

/** Characters shown on either side of the place: a caret stays readable in a terminal. */
const WINDOW = 60;

/**
 * Where an offset (UTF-16 units, clamped to the text) lies. Lines end at `\n`, `\r\n` or `\r`. O(offset); called for
 * errors and warnings only.
 */
export function locate(text: string, offset: number): SourceLocation {
  const end = Math.min(Math.max(offset, 0), text.length);
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < end; at++) {
    const unit = text[at];
    if (unit === "\n" || (unit === "\r" && text[at + 1] !== "\n")) {
      line++;
      lineStart = at + 1;
    }
  }
  const before = Array.from(text.slice(lineStart, end));
  return { line, column: before.length + 1, caret: caretAt(text, end, before) };
}

function caretAt(text: string, offset: number, before: readonly string[]): string {
  // A window of UTF-16 units is enough to fill WINDOW characters; the rest of a megabyte is not looked at.
  const rest = Array.from(text.slice(offset, offset + 2 * WINDOW).split(/[\r\n]/, 1)[0] ?? "");
  const shownBefore = before.slice(-WINDOW);
  const shownAfter = rest.slice(0, WINDOW);
  const head = before.length > shownBefore.length ? "…" : "";
  const tail = rest.length > shownAfter.length ? "…" : "";
  const padding = shownBefore.map((character) => (character === "\t" ? "\t" : " ")).join("");
  return `${head}${shownBefore.join("")}${shownAfter.join("")}${tail}\n${head === "" ? "" : " "}${padding}^`;
}
