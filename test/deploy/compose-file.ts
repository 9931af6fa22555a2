import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";

/** Root of the checkout. */
export const ROOT = resolve(import.meta.dirname, "../..");

/** The text of a file of the checkout. */
export const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** A service of docker-compose.yml, as far as the tests look at it. */
export interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly args?: Record<string, string> };
  readonly user?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[] | Readonly<Record<string, unknown>>;
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly deploy: {
    readonly resources: { readonly limits: { readonly cpus: string; readonly memory: string; readonly pids: number } };
  };
  readonly [name: string]: unknown;
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, { readonly file: string }>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

/** docker-compose.yml with its anchors and merges resolved; variables of the shell are left as they are written. */
export const composeFile = parse(textOf("docker-compose.yml"), { merge: true }) as ComposeFile;

/** Every service, by name. */
export const services: readonly (readonly [string, Service])[] = Object.entries(composeFile.services);

/** The services that run our image. */
export const ours = services.filter(([, { image }]) => image.startsWith("espalier:"));
