import type { Attributes } from "#core";

/** One message of a conversation. Order is arrival. */
export interface Message {
  /** Not empty. */
  readonly speaker: string;
  readonly text: string;
  /** RFC 3339 with an offset; absent: no gap is measured before this message or after it. */
  readonly time?: string | undefined;
  /** Name of the session it belongs to; absent: the current one, or a new one after a gap. */
  readonly session?: string | undefined;
  readonly metadata?: Attributes | undefined;
}

/** What an insert brings: the wire's body. */
export type InsertRequest =
  | { readonly tree: unknown; readonly under?: string | undefined }
  | { readonly xml: string; readonly under?: string | undefined }
  | { readonly conversation: string; readonly messages: readonly Message[] };
