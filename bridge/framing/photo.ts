/** A JPEG of a camera. `quarterTurns`: clockwise rotations that make it upright. */
export interface CameraPhoto {
  jpeg: Uint8Array;
  quarterTurns: QuarterTurns;
}
export type QuarterTurns = 0 | 1 | 2 | 3;

/** Firmware sends VGA pictures of 10 to 60 kB, and at most about 1,000 pieces of 200 bytes. */
const MAX_PHOTO_BYTES = 256 * 1024;
const INDEX_BYTES = 2;
const END = 0xffff;
const JPEG_START = Buffer.from('ffd8', 'hex');
const JPEG_END = Buffer.from('ffd9', 'hex');
/** Orientation for firmware before 2.1.1, which does not report it: the camera is mounted upside down. */
const UNTOLD_TURNS = 2;

/**
 * Assembles photos from notifications: `[u16 index, little-endian][bytes]`, with a byte of orientation before the bytes of
 * piece 0, and `ff ff` after the last piece. A photo with a missing piece is dropped and counted as malformed.
 */
export function createPhotoAssembler(onMalformed: () => void): (packet: Uint8Array) => CameraPhoto | null {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let quarterTurns: QuarterTurns = UNTOLD_TURNS;

  function drop(): void {
    if (pieces.length > 0) onMalformed();
    pieces = [];
    bytes = 0;
  }

  function begin(payload: Uint8Array): void {
    drop();
    const told = turnsOf(payload);
    quarterTurns = told ?? UNTOLD_TURNS;
    add(told === null ? payload : payload.subarray(1));
  }

  function add(payload: Uint8Array): void {
    pieces.push(new Uint8Array(payload));
    bytes += payload.length;
    if (bytes > MAX_PHOTO_BYTES) drop();
  }

  function end(): CameraPhoto | null {
    if (pieces.length === 0) return null;
    const jpeg = wholeJpeg(Buffer.concat(pieces));
    if (jpeg) pieces = [];
    drop();
    return jpeg && { jpeg, quarterTurns };
  }

  return packet => {
    if (packet.length < INDEX_BYTES) {
      onMalformed();
      return null;
    }
    const index = (packet[0] ?? 0) | ((packet[1] ?? 0) << 8);
    const payload = packet.subarray(INDEX_BYTES);
    if (index === END && payload.length === 0) return end();
    if (index === 0) begin(payload);
    else if (pieces.length === index) add(payload);
    else drop();
    return null;
  };
}

/** First bytes of a JPEG. */
export function isFirstPiece(packet: Uint8Array): boolean {
  return packet.length > INDEX_BYTES && packet[0] === 0 && packet[1] === 0;
}

/** Returns the orientation; null: piece 0 begins with the picture. */
function turnsOf([first, second]: Uint8Array): QuarterTurns | null {
  if (first === JPEG_START[0] && second === JPEG_START[1]) return null;
  return first === 0 || first === 1 || first === 2 || first === 3 ? first : null;
}

/** Removes bytes after the end of the picture. Null: its beginning or end is missing. */
function wholeJpeg(bytes: Buffer): Uint8Array | null {
  const end = bytes.lastIndexOf(JPEG_END);
  if (end < 0 || !bytes.subarray(0, JPEG_START.length).equals(JPEG_START)) return null;
  return bytes.subarray(0, end + JPEG_END.length);
}

/** Values of the orientation in EXIF, by quarter turns. */
const EXIF_ORIENTATION = [1, 6, 3, 8] as const;

/** Adds the orientation to a JPEG, as cameras of wearables do not, and pixels are not changed here. */
export function orientedJpeg({ jpeg, quarterTurns }: CameraPhoto): Uint8Array {
  if (quarterTurns === 0) return jpeg;
  const exif = Buffer.from(
    // "Exif", a little-endian TIFF header, and one entry: 0x0112, a short, once, its value, and no further directory.
    `ffe10022457869660000` + `49492a0008000000` + `0100` + `1201030001000000` + `0000000000000000`,
    'hex',
  );
  exif.writeUInt16LE(EXIF_ORIENTATION[quarterTurns], exif.length - 8);
  const at = JPEG_START.length;
  return Buffer.concat([jpeg.subarray(0, at), exif, jpeg.subarray(at)]);
}
