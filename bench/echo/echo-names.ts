export const ECHO_QUEUE = "echo";
export const ECHO_CHANNEL = "echo:wake";

/** Key of a job's status hash. */
export const echoKey = (id: string): string => `echo:job:${id}`;
