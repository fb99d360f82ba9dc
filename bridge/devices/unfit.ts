/** The device is not usable, and trying again soon would not help. */
export class Unfit extends Error {}
