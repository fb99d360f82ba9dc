/** The device will not do, and trying again soon is no use. */
export class Unfit extends Error {}
