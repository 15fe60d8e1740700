// The messages of the wall's one connection, as bytes and as objects.

const utf8 = new TextDecoder();

/**
 * Take a picture apart: u32 big-endian length, JSON header, JPEG.
 * @param {ArrayBuffer} buffer
 * @returns {{header: object, jpeg: Blob}}
 */
export function pictureFrom(buffer) {
  const length = new DataView(buffer).getUint32(0);
  const header = JSON.parse(utf8.decode(new Uint8Array(buffer, 4, length)));
  return { header, jpeg: new Blob([new Uint8Array(buffer, 4 + length)], { type: "image/jpeg" }) };
}

/** @param {Record<string, {width: number, height: number, fps: number}>} tiles all that is wanted */
export const watchMessage = (tiles) => ({ type: "watch", tiles });

/** Say that a picture is on the screen, so that the next may come. */
export const ackMessage = (stream, seq) => ({ type: "ack", stream, seq });

/**
 * Ask where the tiles lie.
 * @param {{request: number, width: number, height: number, aspects: [string, number][],
 *   spotlight: string | null, page: number}} wish
 */
export const layoutMessage = (wish) => ({ type: "layout", ...wish });

export const historyMessage = (stream) => ({ type: "history", stream });

export const replayMessage = (stream) => ({ type: "replay", stream });
