/** A recogniser's process that never says that it is ready. */
process.on('message', () => undefined);
