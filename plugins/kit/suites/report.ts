/** Checks of plugins, and their results. Types only: sent from the process that tries the plugin to the one that reports. */

/** A check of a suite: it throws where the subject does not do what the title says. */
export interface SuiteCheck<Subject> {
  title: string;
  /** True: the checks after it cannot succeed where it fails, so they are not run then. */
  isBasis?: true;
  run(subject: Subject): Promise<void>;
}

export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  /** `module`, `options`, `life`, or a capability. */
  group: string;
  title: string;
  verdict: Verdict;
  /** Finding, and the way out; empty if there is nothing to add. */
  detail: string;
  /** How many checks were not run, in a finding that is `skipped`. */
  skipped?: number;
}

/** Plugin to check. */
export interface CheckRequest {
  /** A path (absolute), the name of a package, or the name of a built-in plugin. */
  plugin: string;
  /** Packages and relative paths are resolved from here. */
  dir: string;
  /** An empty directory that only this user can read. */
  scratch: string;
  /** A YAML file with the plugin's options. */
  options: string | null;
  /** A YAML file with an address for a channel or calendar: the checks send to it, and to no other private host. */
  address: string | null;
  /** ISO 639-1. */
  language: string;
  /** Replaces the included recording: absolute paths and the words spoken. */
  speech: { file: string; text: string }[];
}

/** Sent in this order: `begin` and then `finding` for each check, any number of times, and finally `end`. */
export type CheckMessage =
  | { type: 'begin'; group: string; title: string }
  | { type: 'finding'; finding: Finding }
  | { type: 'end' };
