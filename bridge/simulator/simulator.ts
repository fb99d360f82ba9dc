import type { Clock } from '../clock.ts';
import { type LoadNoble, loadNobleOverHci } from '../radios/noble/library.ts';
import { type Controller, type ControllerOptions, createController } from './controller.ts';
import { CODECS, type CodecId, createFrames } from './frames.ts';
import { createPendant, type Pendant } from './pendant.ts';
import { withSocket } from './socket-module.ts';
import { readWav } from './wav.ts';

/** Vibration, light and microphone gain. */
const FEATURES = (1 << 5) | (1 << 7) | (1 << 8);

export interface SimulatorOptions {
  /** Recording that the pendant plays: WAV, or any format that ffmpeg reads. */
  audio: string;
  /** Codec of the pendant; default 21: Opus in frames of 20 ms. */
  codecId?: CodecId;
  /** Playback speed; 1: real time. */
  speed?: number;
  /** Repeats the recording; otherwise silence follows its end. */
  loop?: boolean;
  name?: string;
  controller?: ControllerOptions;
}

/** Simulated Bluetooth controller with one pendant in range. */
export interface Simulator {
  /** Loads a Bluetooth library that uses the simulated controller. */
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
  const pendant = createPendant({ codecId, frames, loop, clock, speed, name, features: FEATURES });
  controller.add(pendant);
  return { load: simulatedNoble(controller), controller, pendant, stop: pendant.stop };
}

/** Returns a loader for a Bluetooth library that uses the controller's socket. `only`: name of the library. */
export function simulatedNoble(controller: Controller, only?: string): LoadNoble {
  return log => withSocket(controller.Socket, () => loadNobleOverHci(log, only));
}
