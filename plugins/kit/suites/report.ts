/** Result of one check of a plugin. Types only: sent from the process that tries the plugin to the one that reports. */

export type Verdict = 'ok' | 'warning' | 'failed';

export interface Finding {
  /** `module`, `options`, `life`, or a capability. */
  group: string;
  title: string;
  verdict: Verdict;
  /** Finding, and the way out; empty if there is nothing to add. */
  detail: string;
}

/** Plugin to check. */
export interface CheckRequest {
  /** A path (absolute), the name of a package, or the name of a built-in plugin. */
  plugin: string;
  /** Packages and relative paths count from here. */
  dir: string;
  /** Empty and private. */
  scratch: string;
  /** A YAML file with the plugin's options. */
  options: string | null;
  /** A YAML file with an address of a channel: what is tried goes there, and nowhere else in this network. */
  address: string | null;
  /** ISO 639-1. */
  language: string;
  /** Instead of the recording that comes along: paths (absolute) and what is said in them. */
  speech: { file: string; text: string }[];
}

/** Over the channel, in this order: `begin` and then `finding` for each check, any number of times, at last `end`. */
export type CheckMessage =
  | { type: 'begin'; group: string; title: string }
  | { type: 'finding'; finding: Finding }
  | { type: 'end' };
