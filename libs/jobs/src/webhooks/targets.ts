import { lookup as resolve, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { EspalierError, LIMITS } from "#core";

/** Names that never are somebody's on the internet, whatever they resolve to. */
const LOCAL_NAMES = /(^|\.)(localhost|local|internal|localdomain|home\.arpa|lan)\.?$/i;

/** How long a host may take to resolve while a webhook is made; one that does not by then is looked at when it is used. */
const RESOLVE_MS = 2_000;

/** The IPv6 addresses of the internet. What lies elsewhere is special, or not assigned: old forms of IPv4 among it. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Public by its number, but answered by the host of a virtual machine alone (the agent of Azure). */
const HOSTS_OF_MACHINES: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** Why a connection was not made to a host. */
export const NOT_PUBLIC = "The host leads to an address that is not public.";

export interface TargetRules {
  /** Networks that may be reached although they are not public, as `10.0.0.0/8`. */
  readonly networks: readonly string[];
  /** Whether plain http is allowed. */
  readonly http: boolean;
}

/**
 * Where webhooks may go: to public addresses, and to networks that whoever runs the deployment allows. Everything else
 * (private, loopback, link-local and its metadata services, carrier-grade NAT, multicast, IPv6 forms of those) is refused, when a webhook is
 * made and again whenever a connection is: a name can mean another address by then.
 */
export class Targets {
  readonly #rules: TargetRules;
  readonly #networks: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** @throws Error for a network that is none */
  constructor(rules: TargetRules) {
    this.#rules = rules;
    this.#networks = rules.networks.map((network) => ipaddr.parseCIDR(network));
  }

  /**
   * The URL as it will be used. What cannot be resolved now is not refused: its addresses are looked at when it is used.
   * @throws EspalierError `webhook_url_refused`
   */
  async check(text: string): Promise<string> {
    const url = this.#checkForm(text);
    for (const address of await addressesOf(url)) {
      if (!this.allows(address)) throw refused("leads to an address that is not public");
    }
    return url.href;
  }

  /** Whether an address, in any notation of it, may be connected to. */
  allows(address: string): boolean {
    // An IPv6 form of an IPv4 address is that address.
    const parsed = ipaddr.isValid(address) ? ipaddr.process(address.split("%", 1)[0] ?? "") : undefined;
    if (parsed === undefined) return false;
    return (
      isPublic(parsed) ||
      this.#networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
    );
  }

  /** What a connection asks for the addresses of its host: all must be allowed, or there is none. */
  readonly lookup: LookupFunction = (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        done(error, []);
        return;
      }
      const foreign = addresses.find(({ address }) => !this.allows(address));
      if (foreign !== undefined) {
        done(new Error(NOT_PUBLIC), []);
        return;
      }
      const [first] = addresses;
      if (options.all === true || first === undefined) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };

  /** @throws EspalierError `webhook_url_refused` */
  #checkForm(text: string): URL {
    if (text.length > LIMITS.webhookUrlLength) throw refused(`is longer than ${LIMITS.webhookUrlLength} characters`);
    if (!URL.canParse(text)) throw refused("is no URL");
    const url = new URL(text);
    if (url.protocol !== "https:" && !(this.#rules.http && url.protocol === "http:")) {
      throw refused(this.#rules.http ? "is neither http nor https" : "is not https");
    }
    if (url.username !== "" || url.password !== "") throw refused("has a user name or a password in it");
    const literal = literalOf(url);
    if (literal === undefined ? this.#isLocal(url.hostname) : !this.allows(literal)) {
      throw refused("leads to an address that is not public");
    }
    url.hash = "";
    return url;
  }

  /** Where networks of one's own are allowed, names of one's own are looked up like all others. */
  #isLocal(host: string): boolean {
    return this.#networks.length === 0 && LOCAL_NAMES.test(host);
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || HOSTS_OF_MACHINES.has(address.toString())) return false;
  return address instanceof ipaddr.IPv4 || address.match(PUBLIC_IPV6);
}

/** The address that a URL names itself. Decimal, octal and hexadecimal forms of IPv4 have become dotted ones by parsing. */
export function literalOf({ hostname }: URL): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/** The addresses of a host as far as they are known in time. */
async function addressesOf(url: URL): Promise<readonly string[]> {
  if (literalOf(url) !== undefined) return [];
  const { promise, resolve: answer } = Promise.withResolvers<readonly LookupAddress[]>();
  const late = setTimeout(answer, RESOLVE_MS, []);
  resolve(url.hostname, { all: true }, (error, addresses) => {
    answer(error === null ? addresses : []);
  });
  const addresses = await promise;
  clearTimeout(late);
  return addresses.map(({ address }) => address);
}

function refused(message: string): EspalierError {
  return new EspalierError("webhook_url_refused", `The URL ${message}.`, {
    details: { errors: [{ path: "url", message }] },
  });
}
