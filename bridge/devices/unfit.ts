/** The device cannot be used, and a retry would not help soon. */
export class Unfit extends Error {}
