import type { Model } from './model.mjs';

export interface Machine {
  cores: number;
  memoryBytes: number;
}

export function memoryOf(model: Model): number;
export function coresFor(model: Model): number;
export function thisMachine(): Machine;
export function proposalFor(
  catalogue: { proposals?: string[]; models: Record<string, Model> },
  machine: Machine,
): string | null;
export function tellProposal(name: string, machine: Machine, calledAs: string): string;
