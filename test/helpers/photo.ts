import { Transformer } from '@napi-rs/image';
import { connectListen } from './listen-client.ts';

/** Creates a PNG with a chequered pattern, or of a single brightness (0 to 255). */
export function pngOf(width = 320, height = 240, level?: number): Promise<Buffer> {
  return drawn(width, height, level).png();
}

export function drawn(width = 320, height = 240, level?: number): Transformer {
  const pixels = new Uint8Array(width * height * 4).fill(255);
  for (let at = 0; at < width * height; at++) {
    const light = (((at % width) >> 3) ^ (Math.floor(at / width) >> 3)) & 1 ? 230 : 20;
    pixels.fill(level ?? light, at * 4, at * 4 + 3);
  }
  return Transformer.fromRgbaPixels(pixels, width, height);
}

/** Sends a photo as a wearable does; resolves to its id. */
export async function takePhoto(url: string, token: string): Promise<string> {
  const client = await connectListen(url, token, { custom_stt: 'enabled', client_device_id: 'camera' });
  const data = (await pngOf(64, 48)).toString('base64');
  client.socket.send(JSON.stringify({ type: 'image_chunk', id: 'photo', index: 0, total: 1, data }));
  const { photo_id } = await client.until('photo_processing');
  client.socket.close();
  await client.closed;
  return photo_id;
}
