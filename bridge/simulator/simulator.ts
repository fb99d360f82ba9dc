import type { Clock } from '../clock.ts';
import { type LoadNoble, loadNobleOverHci } from '../library.ts';
import { type Controller, type ControllerOptions, createController } from './controller.ts';
import { CODECS, type CodecId, createFrames } from './frames.ts';
import { createPendant, type Pendant } from './pendant.ts';
import { withSocket } from './socket-module.ts';
import { readWav } from './wav.ts';

export interface SimulatorOptions {
  /** The recording that the pendant plays: WAV, or what ffmpeg reads. */
  audio: string;
  /** Codec that it announces; default 21, Opus in frames of 20 ms. */
  codecId?: CodecId;
  /** Times real speed. */
  speed?: number;
  /** Play again and again, instead of silence after the end. */
  loop?: boolean;
  name?: string;
  controller?: ControllerOptions;
}

/** A pendant on the desk, without hardware: a virtual Bluetooth controller with one Omi-like device in its reach. */
export interface Simulator {
  /** For the radio: loads a Bluetooth library whose adapter is the virtual controller. */
  load: LoadNoble;
  controller: Controller;
  pendant: Pendant;
  stop(): void;
}

/** @throws Error when the recording cannot be read */
export async function createSimulator(options: SimulatorOptions, clock: Clock): Promise<Simulator> {
  const { audio, codecId = 21, speed = 1, loop = false, name = 'Omi' } = options;
  if (!(codecId in CODECS)) throw new Error(`the simulated pendant has no codec ${codecId}`);
  const frames = createFrames(await readWav(audio), codecId);
  const controller = createController(options.controller);
  const pendant = createPendant({ codecId, frames, loop, clock, speed, name });
  controller.add(pendant);
  return { load: simulatedNoble(controller), controller, pendant, stop: pendant.stop };
}

/** A Bluetooth library whose native socket is replaced by the controller's. `only`: this library and no other. */
export function simulatedNoble(controller: Controller, only?: string): LoadNoble {
  return log => withSocket(controller.Socket, () => loadNobleOverHci(log, only));
}
