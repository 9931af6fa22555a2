/** A failure whose message is one sentence that tells a person what to do; a command ends with it and exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandError";
  }
}
