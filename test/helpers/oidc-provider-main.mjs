/**
 * A complete OpenID Connect provider in a separate process, started with `{ port, jwks, clients }` as JSON. It believes
 * any name at login. Tells its parent when it listens.
 */
import { Provider } from 'oidc-provider';

const { port, jwks, clients, idTokenS } = JSON.parse(process.argv[2]);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks,
  clients: clients.map(client_id => ({
    client_id,
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    id_token_signed_response_alg: jwks.keys[0].alg,
  })),
  cookies: { keys: ['of this test alone'] },
  conformIdTokenClaims: false, // so that the ID token contains them too
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
  features: {
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, audience) => ({
        scope: 'conversations:read memories:read action_items:read',
        audience,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: jwks.keys[0].alg } },
      }),
    },
  },
  ttl: {
    IdToken: idTokenS,
    AccessToken: 600,
    AuthorizationCode: 60,
    Grant: 600,
    Interaction: 600,
    Session: 600,
  },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      preferred_username: id,
      email: `${id}@example.org`,
      email_verified: !id.startsWith('unverified'),
    }),
  }),
});

provider.listen(port, '127.0.0.1', () => process.send('listening'));
process.on('disconnect', () => process.exit(0));
