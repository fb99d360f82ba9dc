/** A JPEG of a camera. `quarterTurns`: clockwise, until it stands upright. */
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
/** Firmware before 2.1.1 does not tell: the camera is mounted upside down. */
const UNTOLD_TURNS = 2;

/**
 * Photos out of notifications: `[u16 index, little-endian][bytes]`, before the bytes of piece 0 one byte of orientation,
 * and `ff ff` behind the last piece. Whatever lacks a piece is dropped and counted as malformed.
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

/** With which a photo begins. */
export function isFirstPiece(packet: Uint8Array): boolean {
  return packet.length > INDEX_BYTES && packet[0] === 0 && packet[1] === 0;
}

/** Null: piece 0 begins with the picture itself. */
function turnsOf([first, second]: Uint8Array): QuarterTurns | null {
  if (first === JPEG_START[0] && second === JPEG_START[1]) return null;
  return first === 0 || first === 1 || first === 2 || first === 3 ? first : null;
}

/** Without what may follow its end. Null: it has no begin or no end, so a piece is missing. */
function wholeJpeg(bytes: Buffer): Uint8Array | null {
  const end = bytes.lastIndexOf(JPEG_END);
  if (end < 0 || !bytes.subarray(0, JPEG_START.length).equals(JPEG_START)) return null;
  return bytes.subarray(0, end + JPEG_END.length);
}

/** Values of the orientation in EXIF, by quarter turns. */
const EXIF_ORIENTATION = [1, 6, 3, 8] as const;

/** Writes into a JPEG how it is to be turned, since a camera of wearables does not, and pixels are not touched here. */
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
