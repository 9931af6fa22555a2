/** The members that tests look at, as the wire shapes have them where they occur. */
export interface AnswerBody {
  readonly id: string;
  readonly state: string;
  readonly job: string;
  readonly key: string;
  readonly memoryPrefix: string;
  readonly createdAt: string;
  readonly finishedAt: string;
  readonly result: unknown;
  readonly templates: unknown;
  readonly items: readonly {
    readonly id: string;
    readonly memory: string;
    readonly state: string;
    readonly path: string;
  }[];
  readonly nextCursor?: string;
  readonly code: string;
  readonly detail: string;
  readonly column: number;
  readonly requestId: string;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly [member: string]: unknown;
}

/** What a route answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; an empty object if it is none. */
  readonly body: AnswerBody;
}

export interface Call {
  readonly body?: unknown;
  /** Instead of `body`: bytes or text as they are. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another key than the client's; `null`: none. */
  readonly key?: string | null;
  readonly signal?: AbortSignal;
}

/** A client of the API as a test needs it. */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  async call(method: string, path: string, call: Call = {}): Promise<Answer> {
    const response = await this.open(method, path, call);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }

  /** The response before its body is read. */
  open(method: string, path: string, call: Call = {}): Promise<Response> {
    const key = call.key === undefined ? this.key : call.key;
    const body = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    return fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...call.headers,
      },
      ...(body !== undefined && { body }),
      ...(call.signal !== undefined && { signal: call.signal }),
    });
  }

  /** A fresh memory's id. */
  async memory(body: Readonly<Record<string, unknown>> = {}, key?: string): Promise<string> {
    const answer = await this.call("POST", "/v1/memories", {
      body: { name: "test", ...body },
      ...(key !== undefined && { key }),
    });
    if (answer.status !== 201) throw new Error(`no memory: ${answer.text}`);
    return answer.body.id;
  }

  /** An insert that is waited for; its job. */
  async insert(memory: string, body: unknown, call: Call = {}): Promise<Answer> {
    return this.call("POST", `/v1/memories/${memory}/insert`, {
      ...call,
      body,
      headers: { prefer: "wait=60", ...call.headers },
    });
  }

  query(memory: string, body: unknown, call: Call = {}): Promise<Answer> {
    return this.call("POST", `/v1/memories/${memory}/query`, { ...call, body });
  }
}

function parsed(text: string): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return {} as AnswerBody;
  }
}
