import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/** Packages from which the Bluetooth libraries load their native HCI socket. */
const SOCKET_PACKAGES = ['@abandonware/bluetooth-hci-socket', '@stoprocent/bluetooth-hci-socket'];
/** Key of the replacement in Node's module cache; the file does not exist. */
const REPLACEMENT = fileURLToPath(new URL('./virtual-socket.cjs', import.meta.url));

/**
 * Runs `load` while the native HCI socket is replaced by `Socket`, so that a Bluetooth library loaded in it uses that
 * class. Its modules are removed from the cache before and after: every call loads a separate instance, which no other
 * code can get. The native package need not be installed.
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

/** Removes all modules of the libraries from the cache. @returns the removed ones */
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
