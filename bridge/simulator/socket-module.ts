import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/** The packages from which the Bluetooth libraries take their native HCI socket. */
const SOCKET_PACKAGES = ['@abandonware/bluetooth-hci-socket', '@stoprocent/bluetooth-hci-socket'];
/** Where the replacement stands in Node's module cache; no file needs to be there. */
const REPLACEMENT = fileURLToPath(new URL('./virtual-socket.cjs', import.meta.url));

/**
 * Runs `load` while the native HCI socket is replaced by `Socket`, so that a Bluetooth library loaded by it runs its
 * real code over ours. Its modules are loaded afresh and forgotten again: every call gives a library of its own, and
 * nobody else ever sees it. Works where the native package is not installed, too.
 */
export function withSocket<T>(Socket: new () => unknown, load: () => T): T {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!SOCKET_PACKAGES.includes(specifier)) return next(specifier, context);
      return {
        url: new URL('./virtual-socket.cjs', import.meta.url).href,
        format: 'commonjs',
        shortCircuit: true,
      };
    },
  });
  const hidden = takeFromCache();
  require.cache[REPLACEMENT] = moduleOf(Object.assign(Socket, { loadDriver: () => Socket }));
  try {
    return load();
  } finally {
    takeFromCache();
    Object.assign(require.cache, hidden);
    hooks.deregister();
  }
}

/** Everything of the libraries that is loaded already, taken out of the cache. */
function takeFromCache(): Record<string, NodeJS.Module | undefined> {
  const names = Object.keys(require.cache).filter(
    name => /[\\/](noble|bluetooth-hci-socket)[\\/]/.test(name) || name === REPLACEMENT,
  );
  const taken = Object.fromEntries(names.map(name => [name, require.cache[name]]));
  for (const name of names) delete require.cache[name];
  return taken;
}

function moduleOf(exports: unknown): NodeJS.Module {
  const module = {
    id: REPLACEMENT,
    filename: REPLACEMENT,
    loaded: true,
    exports,
    children: [],
    paths: [],
    path: '',
    parent: null,
    isPreloading: false,
    require,
  };
  return module;
}
