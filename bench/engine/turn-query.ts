import { print } from "#query";

/** `//Turn[node~="…"]` with the text as a string literal. */
export function turnQuery(text: string): string {
  return print({
    kind: "query",
    steps: [
      {
        ...{ kind: "step", axis: "descendant", type: "Turn", position: undefined },
        predicates: [{ kind: "local", field: "", text }],
      },
    ],
  });
}
