import type { ClaimStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';

export function claimStore({ write }: Access): ClaimStore {
  return {
    take: (userId, id, at) =>
      write('claims.take', async db => {
        const claim = { user_id: userId, id, created_at: at };
        const taken = await db('claims').insert(claim, ['id']).onConflict(['user_id', 'id']).ignore();
        return taken.length > 0;
      }),
  };
}
