import { isatty } from "node:tty";
import { createColors } from "picocolors";

/** Colours for a person at a terminal: none in files, pipes and CI logs, nor where NO_COLOR is set. */
export const colors = createColors(isatty(1) && (process.env["NO_COLOR"] ?? "") === "");
