/** A failure whose message is one sentence that tells a person what to do; a command ends with it and exit code 1. */
export class CommandError extends Error {
  /** What the server answered or a job ended with: what a program gets instead of the sentence. */
  readonly problem: object | undefined;

  constructor(message: string, options: ErrorOptions & { readonly problem?: object | undefined } = {}) {
    super(message, options);
    this.name = "CommandError";
    this.problem = options.problem;
  }

  /** The same failure, with what it is about in front of its sentence. */
  of(what: string): CommandError {
    return new CommandError(`${what}: ${this.message}`, { cause: this, problem: this.problem });
  }
}
