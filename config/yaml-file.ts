import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Layer } from './layers.ts';
import { ConfigError, isRecord } from './problems.ts';

interface YamlFile {
  values: Record<string, unknown>;
  /** Line, from 1, on which this key or list entry stands; null when it is not in the file. */
  lineOf(path: readonly string[]): number | null;
}

/** Reads a file as a layer, whose problems are told by `label` and line. @throws {ConfigError} as below */
export function readFileLayer(file: string, label: string): Layer {
  const { values, lineOf } = readYamlFile(file, label);
  const where = (path: readonly string[]) => {
    if (path.length === 0) return label;
    const line = lineOf(path);
    return line === null ? null : `${label}:${line}`;
  };
  return { values, where };
}

/** Reads a YAML mapping. @throws {ConfigError} with `label` and line, when it cannot be read or is no mapping */
function readYamlFile(file: string, label: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(readText(file, label), { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map(error => `${label}:${lines.linePos(error.pos[0]).line}: ${error.message}`),
    );
  }
  const values: unknown = document.toJS() ?? {};
  if (!isRecord(values)) throw new ConfigError([`${label}: must hold key: value lines at the top`]);

  const lineOf = (path: readonly string[]) => {
    const offset = offsetOf(document.contents, path);
    return offset === null ? null : lines.linePos(offset).line;
  };
  return { values, lineOf };
}

function readText(file: string, label: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing) throw new ConfigError([`${label}: there is no such file`]);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${label}: cannot be read (${reason})`]);
  }
}

function offsetOf(node: unknown, path: readonly string[]): number | null {
  let current = node;
  let offset: number | null = null;
  for (const name of path) {
    if (isMap(current)) {
      const pair = current.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      if (!pair || !isScalar(pair.key)) return null;
      offset = pair.key.range?.[0] ?? null;
      current = pair.value;
    } else if (isSeq(current)) {
      const item: unknown = current.items[Number(name)];
      if (!isScalar(item) && !isMap(item)) return null;
      offset = item.range?.[0] ?? null;
      current = item;
    } else return null;
  }
  return offset;
}
